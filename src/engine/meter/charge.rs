//! Capacity by source and place: what each item of a read or write consumed, where.

use std::sync::Arc;

use super::SourceMeter;
use crate::engine::capacity::write_units;
use crate::engine::catalog::TableEntry;
use crate::engine::index::{IndexView, Transition};
use crate::engine::keys::{EntryAddress, SourceId};
use crate::engine::transaction::Transaction;
use crate::engine::view::View;
use crate::engine::write::Stored;
use crate::model::Error;
use crate::model::error::StoreError;
use crate::model::layout::Load;

/// Units that a write consumed at a place.
#[derive(Debug)]
pub struct Charge {
    meter: Arc<SourceMeter>,
    place: Vec<u8>,
    units: f64,
}

/// What one job of the writer thread consumes; counted when it is committed.
#[derive(Debug, Default)]
pub struct Charges {
    /// Nothing is counted: the engine's own work, imports and restores consume none.
    is_off: bool,
    /// In a transaction a table's units count twice.
    table_factor: Option<f64>,
    list: Vec<Charge>,
    /// Items that were looked at, with the units that a failed condition on them costs.
    looked_at: Vec<Charge>,
}

impl Charges {
    /// From here on nothing is counted.
    pub fn turn_off(&mut self) {
        self.is_off = true;
    }

    /// Units of a table count this many times.
    pub fn set_table_factor(&mut self, factor: f64) {
        self.table_factor = Some(factor);
    }

    /// Counts what was consumed. A failed condition costs as much as a write of the items as they were (SEMANTICS 10.1).
    pub fn count(&self, now_ms: u64, error: Option<&Error>) {
        let has_failed = matches!(error, Some(Error::ConditionalCheckFailed { .. } | Error::TransactionCanceled(_)));
        for charge in if has_failed { &self.looked_at } else { &self.list } {
            charge.meter.count(&charge.place, now_ms, &Load { write: charge.units, ..Load::default() });
        }
    }

    fn factor(&self) -> f64 {
        self.table_factor.unwrap_or(1.0)
    }
}

impl Transaction<'_> {
    /// Notes an item that a write looks at before it decides.
    ///
    /// # Errors
    /// Those of the store.
    pub fn look_at(&mut self, table: &TableEntry, stored: &Stored) -> Result<(), StoreError> {
        if self.charges.is_off {
            return Ok(());
        }
        let bytes = stored.record()?.map_or(0, |record| record.item_bytes() as usize);
        let units = write_units(bytes) * self.charges.factor();
        let charge = self.charge(table, &stored.address, units)?;
        self.charges.looked_at.push(charge);
        Ok(())
    }

    /// Notes a write's units of its table.
    ///
    /// # Errors
    /// Those of the store.
    pub fn charge_table(&mut self, table: &TableEntry, address: &EntryAddress, units: f64) -> Result<(), StoreError> {
        if self.charges.is_off {
            return Ok(());
        }
        let charge = self.charge(table, address, units * self.charges.factor())?;
        self.charges.list.push(charge);
        Ok(())
    }

    /// Notes a write's units of an index. A move to another index key is a delete and a put, each in its own place.
    ///
    /// # Errors
    /// Those of the store.
    pub fn charge_index(
        &mut self,
        table: &TableEntry,
        view: &IndexView<'_>,
        transition: &Transition<'_>,
    ) -> Result<(), StoreError> {
        if self.charges.is_off {
            return Ok(());
        }
        match transition {
            Transition::Untouched => {}
            Transition::Added(entry) | Transition::Removed(entry) | Transition::Rewritten { new: entry, .. } => {
                let charge = self.charge(table, &entry.address, transition.units().unwrap_or_default())?;
                self.charges.list.push(charge);
            }
            Transition::Moved { old, new } => {
                for entry in [old, new] {
                    debug_assert_eq!(entry.address.source, view.source);
                    let charge = self.charge(table, &entry.address, write_units(entry.bytes))?;
                    self.charges.list.push(charge);
                }
            }
        }
        Ok(())
    }

    fn charge(&self, table: &TableEntry, address: &EntryAddress, units: f64) -> Result<Charge, StoreError> {
        let meter = self.shared.meter.source(self.batch.as_read(), table, address.source)?;
        Ok(Charge { meter, place: place_of(address), units })
    }
}

impl View<'_> {
    /// Counts the units of a read of one item.
    ///
    /// # Errors
    /// Those of the store.
    pub fn charge_item(&self, table: &TableEntry, address: &EntryAddress, units: f64) -> Result<(), StoreError> {
        let meter = self.meter().source(self.read(), table, address.source)?;
        meter.count(&place_of(address), self.now_ms(), &Load { read: units, ..Load::default() });
        Ok(())
    }

    /// Counts the units of a page of a source, on its way between two places.
    ///
    /// # Errors
    /// Those of the store.
    pub fn charge_page(&self, table: &TableEntry, source: SourceId, places: (&[u8], &[u8]), units: f64) -> Result<(), StoreError> {
        let meter = self.meter().source(self.read(), table, source)?;
        let load = Load { read: units, ..Load::default() };
        let (from, to) = places;
        match digest_of(from) == digest_of(to) {
            true => meter.count(from, self.now_ms(), &load),
            false => meter.count_scan(places, self.now_ms(), &load),
        }
        Ok(())
    }
}

fn digest_of(place: &[u8]) -> Option<&[u8; 16]> {
    place.first_chunk()
}

/// Digest and order.
fn place_of(address: &EntryAddress) -> Vec<u8> {
    [&address.digest[..], &address.order].concat()
}
