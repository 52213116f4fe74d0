//! What making an index would come to: the table's items held against its definition. It consumes nothing.

use std::ops::ControlFlow;

use crate::codec::record::Record;
use crate::engine::base::capacity::write_units;
use crate::engine::base::keys::Space;
use crate::engine::base::table_definition::build_global_index;
use crate::engine::catalog;
use crate::engine::index::IndexView;
use crate::engine::index_life::absence::violation;
use crate::engine::runtime::Engine;
use crate::model::api::absence::{Absence, AbsenceReason};
use crate::model::api::update_table::IndexForecast;
use crate::model::api::{IndexDefinition, UpdateTableRequest};
use crate::model::error::StoreError;
use crate::model::limits::ENTRY_OVERHEAD_BYTES;
use crate::model::{Error, Item, Projection};
use crate::store::{Direction, try_walk};

/// Bytes of items, with their overhead, that are looked at: a second or two.
const LOOKED_AT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Violations that are told one by one.
const EXAMPLES_MAX: usize = 10;

impl Engine {
    /// What making this index of the request would come to now.
    ///
    /// # Errors
    /// `Schema`, `ResourceNotFound`; those of the store.
    pub fn forecast_index(&self, request: &UpdateTableRequest, definition: &IndexDefinition) -> Result<IndexForecast, Error> {
        let view = self.view()?;
        let table = catalog::known(view.table(&request.table_name)?, &request.table_name)?;
        let index = build_global_index(definition, request.attribute_definitions.as_deref().unwrap_or_default())?;
        let mut forecast = IndexForecast {
            index: index.clone(),
            items: view.counters(table.source)?.entries,
            looked_at: 0,
            put_units: 0.0,
            entries: 0,
            entry_bytes: 0,
            write_units: 0.0,
            violations: 0,
            examples: Vec::new(),
        };
        let target = IndexView { table: &table.schema.key, index: &index, source: table.source };
        let mut bytes = 0;
        try_walk(view.read(), &Space::Entry.of(table.source), Direction::Forward, |_, value| {
            let record = Record::parse(value)?;
            bytes += u64::from(record.item_bytes()) + ENTRY_OVERHEAD_BYTES;
            look_at(&record, &target, &mut forecast)?;
            Ok(if bytes < LOOKED_AT_BYTES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(forecast)
    }
}

/// Adds an item. Only what decides and counts is decoded.
fn look_at(record: &Record<'_>, target: &IndexView<'_>, forecast: &mut IndexForecast) -> Result<(), StoreError> {
    let item_bytes = record.item_bytes() as usize;
    forecast.looked_at += 1;
    forecast.put_units += write_units(item_bytes);
    let is_key = |name: &str| target.table.contains(name) || target.index.attributes().any(|attribute| attribute.name == name);
    let is_whole = target.index.projection == Projection::All;
    let item: Item = record.attributes(&|name| if is_whole { is_key(name) } else { target.index.projects(target.table, name) })?;
    let Some(key) = item.key(target.table) else { return Ok(()) };
    if let Some(entry) = target.entry_with_key(&item, &key) {
        let bytes = if is_whole { item_bytes } else { entry.bytes };
        forecast.entries += 1;
        forecast.entry_bytes += bytes as u64;
        forecast.write_units += write_units(bytes);
    } else if let Some(violation) = violation(target.index, &item) {
        forecast.violations += 1;
        if forecast.examples.len() < EXAMPLES_MAX {
            forecast.examples.push(Absence { key, reason: AbsenceReason::Refused(violation) });
        }
    }
    Ok(())
}
