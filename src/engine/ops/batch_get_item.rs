//! BatchGetItem (docs/dynamodb.md 14.1). All items are of one view, which is more than the service promises.

use std::sync::Arc;

use super::get_item::parse_projection;
use crate::codec::row::Row;
use crate::engine::base::capacity::read_units;
use crate::engine::base::item_key;
use crate::engine::base::keys::EntryAddress;
use crate::engine::catalog::TableEntry;
use crate::engine::read::projected::{self, KeyRoles, RequestedProjection};
use crate::engine::runtime::{BatchRows, Engine, View};
use crate::expr::ProjectionPaths;
use crate::model::api::{BatchGetItemPage, BatchGetItemRequest, ConsumedCapacity, TableKeys};
use crate::model::limits::BATCH_GET_BYTES_MAX;
use crate::model::{AttributeValue, Error, Item, Key};

/// The part of a batch that is about one table, checked.
struct Part<'r> {
    request: &'r TableKeys,
    table: Arc<TableEntry>,
    /// One for each of the request's.
    keys: Vec<Key>,
    projection: Option<ProjectionPaths>,
}

impl Engine {
    /// Reads items; `rows` gets each item found with the place of its table in the request.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Key`, `Query` for a path into a key, all before the first row; those of the store.
    pub fn batch_get_item(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        let mut projections = Vec::with_capacity(request.request_items.len());
        for table in &request.request_items {
            table.keys.iter().flat_map(|key| key.0.values()).try_for_each(AttributeValue::check_nesting)?;
            let asked = RequestedProjection::new(table.projection_expression.as_ref(), table.attributes_to_get.as_ref())?;
            projections.push(parse_projection(asked, &table.placeholders)?);
        }
        if let Some(fault) = &request.fault {
            return Err(Error::clone(fault));
        }
        let view = self.view()?;
        let parts = parts(&view, request, projections)?;
        let mut reader = Reader { view: &view, left: Some(BATCH_GET_BYTES_MAX), is_empty: true, throttled: None };
        let mut page = BatchGetItemPage { unprocessed_keys: Vec::new(), consumed_capacity: Vec::new() };
        for (place, part) in parts.iter().enumerate() {
            let (unprocessed, consumed) = reader.part(part, &mut |row| rows(place, row))?;
            page.unprocessed_keys.push(unprocessed);
            page.consumed_capacity.push(consumed);
        }
        // A batch of which nothing could be done has failed.
        match reader.throttled.filter(|_| reader.is_empty) {
            Some(error) => Err(error),
            None => Ok(page),
        }
    }
}

/// Tables first, then keys.
fn parts<'r>(
    view: &View<'_>,
    request: &'r BatchGetItemRequest,
    projections: Vec<Option<ProjectionPaths>>,
) -> Result<Vec<Part<'r>>, Error> {
    let mut parts = Vec::with_capacity(projections.len());
    for (request, projection) in request.request_items.iter().zip(projections) {
        let table = view.active_table(&request.table_name)?;
        parts.push(Part { request, table, keys: Vec::with_capacity(request.keys.len()), projection });
    }
    for part in &mut parts {
        let schema = &part.table.schema.key;
        for key in &part.request.keys {
            part.keys.push(item_key::key_of_parameter(schema, key)?);
        }
        if let Some(paths) = &part.projection {
            projected::check_no_path_into_keys(paths, KeyRoles::of_table(&part.table.schema))?;
        }
    }
    Ok(parts)
}

struct Reader<'v> {
    view: &'v View<'v>,
    /// Bytes of items that the answer may still have; `None` once there is no room for another.
    left: Option<usize>,
    /// Was nothing read yet?
    is_empty: bool,
    /// The first refusal.
    throttled: Option<Error>,
}

impl Reader<'_> {
    /// Reads one table's items; the keys of those that do not fit, and what the others consumed.
    fn part(&mut self, part: &Part<'_>, rows: &mut dyn FnMut(Row<'_>) -> bool) -> Result<(Vec<Item>, ConsumedCapacity), Error> {
        let mut unprocessed = Vec::new();
        let mut consumed = ConsumedCapacity::default();
        for (sent, key) in part.request.keys.iter().zip(&part.keys) {
            let address = EntryAddress::of_item(part.table.source, key);
            if let Err(error) = self.view.admit_item(&part.table, &address) {
                let Error::Throttled(_) = error else { return Err(error) };
                self.throttled = self.throttled.take().or(Some(error));
                unprocessed.push(sent.clone());
                continue;
            }
            self.is_empty = false;
            let record = match self.left {
                Some(_) => self.view.entry(&address)?,
                None => None,
            };
            let bytes = record.map_or(0, |record| record.item_bytes() as usize);
            self.left = self.left.and_then(|left| left.checked_sub(bytes));
            if self.left.is_none() {
                unprocessed.push(sent.clone());
                continue;
            }
            let units = read_units(bytes, part.request.consistent_read);
            self.view.charge_item(&part.table, &address, units)?;
            consumed.table += units;
            let has_room = match (record, &part.projection) {
                (None, _) => true,
                (Some(record), None) => rows(Row::Record(record)),
                (Some(record), Some(paths)) => rows(Row::Item(&paths.apply(&record.to_item()?))),
            };
            self.left = self.left.filter(|_| has_room);
        }
        Ok((unprocessed, consumed))
    }
}
