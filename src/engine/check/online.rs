//! Indexes that UpdateTable made or is making.
//!
//! ```text
//! backfill     it says how far it is exactly while it goes on; items that it has passed have their entry (items beyond may have)
//! violations   each item that a value keeps out of an index is on its list, if the backfill has passed it; no other item is
//! ```

use super::report::{DifferenceKind, Place, is_damage};
use super::walk::Check;
use crate::codec::digest::hex;
use crate::codec::record::Record;
use crate::engine::base::counters::SourceCounters;
use crate::engine::base::keys::{self, SourceId, Space, StoreKey};
use crate::engine::catalog::TableEntry;
use crate::engine::catalog::index_life::Phase;
use crate::engine::index_life::progress::Progress;
use crate::engine::index_life::violations;
use crate::model::error::StoreError;
use crate::model::{Error, IndexSchema, Item};

/// How far the index is that a table is making.
#[derive(Debug, Clone, Default)]
pub struct Building(Option<(SourceId, Progress)>);

impl Building {
    /// Must this index have what belongs to the item at a place?
    pub fn is_due(&self, index: SourceId, place: &[u8]) -> bool {
        match &self.0 {
            Some((building, progress)) if *building == index => progress.has_passed(place),
            _ => true,
        }
    }
}

impl Check<'_> {
    /// Reads how far the table's index under construction is.
    pub(super) fn building(&mut self, table: &TableEntry) -> Result<Building, StoreError> {
        let mut found = Building::default();
        for (index, source) in table.indexes() {
            let place = Place::table(&table.schema.name);
            let place = place.index(&index.name);
            let building = table.index_life.building.as_ref().filter(|building| building.index == index.name);
            let stored = self.reporter.readable(Progress::read(self.view.read(), source), place, "backfill")?;
            let is_in_backfill = building.is_some_and(|building| building.phase == Phase::Backfill);
            if stored.as_ref().is_some_and(|stored| stored.is_some() != is_in_backfill) {
                self.reporter.add(DifferenceKind::WrongBackfill, place, String::new());
            }
            if building.is_some() {
                found = Building(Some((source, stored.flatten().unwrap_or_default())));
            }
        }
        Ok(found)
    }

    /// The lists of violations of a table's indexes: what is on them.
    pub(super) fn violations(&mut self, table: &TableEntry) -> Result<(), Error> {
        for (name, made) in &table.index_life.made {
            let Some(index) = table.schema.index(name) else {
                self.reporter.add(DifferenceKind::WrongCatalog, Place::table(&table.schema.name), format!("index {name}"));
                continue;
            };
            let place = Place::table(&table.schema.name);
            let place = place.index(&index.name);
            let mut counted = SourceCounters::default();
            self.each(&Space::Violation.of(made.violations), |check, key, _| {
                counted.entries += 1;
                if !check.is_kept_out(table, index, keys::place_in_source(key))? {
                    check.reporter.add(DifferenceKind::OrphanViolation, place, hex(key));
                }
                Ok(())
            })?;
            let stored = self.reporter.readable(self.view.counters(made.violations), place, "violations")?;
            if stored.is_some_and(|stored| stored != counted) {
                self.reporter.add(DifferenceKind::WrongCounters, place, "violations".to_owned());
            }
        }
        Ok(())
    }

    /// Is there an item at a place that a value keeps out of the index? One that cannot be read was reported, and may be.
    fn is_kept_out(&self, table: &TableEntry, index: &IndexSchema, place: &[u8]) -> Result<bool, StoreError> {
        let Some(bytes) = self.view.read().get(&Space::Entry.at(table.source, place))? else { return Ok(false) };
        match Record::parse(bytes).and_then(|record| record.to_item()) {
            Ok(item) => Ok(violations::of_item(index, &item).is_some()),
            Err(error) if is_damage(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// An item that a value keeps out of an index is on its list.
    pub(super) fn listed_violation(
        &mut self,
        table: &TableEntry,
        building: &Building,
        key: &[u8],
        item: &Item,
    ) -> Result<(), StoreError> {
        let at = keys::place_in_source(key);
        for (name, made) in &table.index_life.made {
            let Some((index, source)) = table.indexes().find(|(index, _)| index.name.as_str() == name) else { continue };
            if !building.is_due(source, at) || violations::of_item(index, item).is_none() {
                continue;
            }
            if self.view.read().get(&StoreKey::Violation(made.violations, at).encode())?.is_none() {
                let place = Place::table(&table.schema.name);
                self.reporter.add(DifferenceKind::MissingViolation, place.index(&index.name), hex(key));
            }
        }
        Ok(())
    }
}
