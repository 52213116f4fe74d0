//! Capacity by source and place: what each item of a read or write consumed, where.

use std::sync::Arc;

use super::SourceMeter;
use crate::engine::capacity::write_units;
use crate::engine::catalog::TableEntry;
use crate::engine::index::{IndexEntry, IndexView, Transition};
use crate::engine::keys::{EntryAddress, SourceId};
use crate::engine::throttle::Kind;
use crate::engine::transaction::Transaction;
use crate::engine::view::View;
use crate::engine::write::Stored;
use crate::model::error::StoreError;
use crate::model::layout::Load;
use crate::model::{Error, IndexKind};

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
    /// Room in the global indexes was found for all of it before.
    is_admitted: bool,
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

    /// Global indexes refuse nothing any more.
    pub fn set_admitted(&mut self) {
        self.is_admitted = true;
    }

    /// Units of a table count this many times.
    pub fn set_table_factor(&mut self, factor: f64) {
        self.table_factor = Some(factor);
    }

    /// Counts what was consumed. A failed condition costs as much as a write of the items as they were (docs/dynamodb.md 10.1).
    pub fn count(&self, now_ms: u64, error: Option<&Error>) {
        let has_failed = matches!(error, Some(Error::ConditionalCheckFailed { .. } | Error::TransactionCanceled(_)));
        for charge in if has_failed { &self.looked_at } else { &self.list } {
            charge.meter.count_item(&charge.place, now_ms, &Load { write: charge.units, ..Load::default() });
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
    /// `Throttled`; those of the store.
    pub fn look_at(&mut self, table: &TableEntry, stored: &Stored) -> Result<(), Error> {
        if self.charges.is_off {
            return Ok(());
        }
        let address = &stored.address;
        self.shared.admit(self.batch.as_read(), table, (address.source, &place_of(address), Kind::Write))?;
        let bytes = stored.record()?.map_or(0, |record| record.item_bytes() as usize);
        let units = write_units(bytes) * self.charges.factor();
        let charge = self.charge(table, &stored.address, units)?;
        self.shared.take_units(table, (address.source, &charge.place, Kind::Write), units);
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
        // What was taken when the item was looked at is not taken again.
        let taken = self.charges.looked_at.iter().find(|looked| looked.place == charge.place).map_or(0.0, |looked| looked.units);
        self.shared.take_units(table, (address.source, &charge.place, Kind::Write), (charge.units - taken).max(0.0));
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
                self.charge_entry(table, &entry.address, transition.units().unwrap_or_default())?;
            }
            Transition::Moved { old, new } => {
                for entry in [old, new] {
                    debug_assert_eq!(entry.address.source, view.source);
                    self.charge_entry(table, &entry.address, write_units(entry.bytes))?;
                }
            }
        }
        Ok(())
    }

    fn charge_entry(&mut self, table: &TableEntry, address: &EntryAddress, units: f64) -> Result<(), StoreError> {
        let charge = self.charge(table, address, units)?;
        self.shared.take_units(table, (address.source, &charge.place, Kind::Write), units);
        self.charges.list.push(charge);
        Ok(())
    }

    /// Refuses a write that would change a global index which has nothing left.
    ///
    /// # Errors
    /// `Throttled`; those of the store.
    pub fn admit_index(&self, table: &TableEntry, view: &IndexView<'_>, transition: &Transition<'_>) -> Result<(), Error> {
        let is_sure = self.charges.is_off || self.charges.is_admitted;
        if is_sure || self.shared.throttle.is_none() || view.index.kind == IndexKind::Local {
            return Ok(());
        }
        let admit = |entry: &IndexEntry<'_>| {
            self.shared.admit(self.batch.as_read(), table, (view.source, &place_of(&entry.address), Kind::Write))
        };
        match transition {
            Transition::Untouched => Ok(()),
            Transition::Added(entry) | Transition::Removed(entry) | Transition::Rewritten { new: entry, .. } => admit(entry),
            Transition::Moved { old, new } => admit(old).and_then(|()| admit(new)),
        }
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
        self.charge_place(table, address.source, &place_of(address), units)
    }

    /// As [`Self::charge_item`], by the place of the item or entry in its source.
    ///
    /// # Errors
    /// Those of the store.
    pub fn charge_place(&self, table: &TableEntry, source: SourceId, place: &[u8], units: f64) -> Result<(), StoreError> {
        let meter = self.meter().source(self.read(), table, source)?;
        meter.count_item(place, self.now_ms(), &Load { read: units, ..Load::default() });
        self.take_units(table, source, place, units);
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
        self.take_units(table, source, from, units);
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
#[must_use]
pub fn place_of(address: &EntryAddress) -> Vec<u8> {
    [&address.digest[..], &address.order].concat()
}
