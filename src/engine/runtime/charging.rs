//! The accounting of consumed capacity: each item of a read or write is admitted by the throttle
//! and charged to the meters, by source and place.

use super::{shared::EngineShared, transaction::Transaction, view::ReadView};
use crate::engine::{
    base::write_units,
    index::{IndexView, Transition},
    meter::{Charge, PageReads},
    prelude::*,
    throttle::{ThrottleRefusal, UnitKind, UnitRequest},
};
use crate::model::metrics::Load;

impl Transaction<'_> {
    /// Records the read of an item that a write evaluates before it decides; `record` is its
    /// record, if there is one.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn admit_item(
        &mut self,
        table: &TableEntry,
        address: &EntryAddress,
        record: Option<&[u8]>,
    ) -> Result<(), Error> {
        if self.charges.is_off {
            return Ok(());
        }
        self.shared.admit(
            self.read(),
            table,
            address.source,
            &address.place(),
            UnitKind::Write,
            self.charges.is_bulk,
        )?;
        // The units of the existing item, which a failing condition costs. The write itself adds
        // the rest.
        let bytes = record
            .map(Record::parse)
            .transpose()
            .map_err(|error| locate(self.read(), &address.encode(), error))?
            .map_or(0, |record| record.item_bytes() as usize);
        let charge = self.charge(
            table,
            address,
            write_units(bytes) * self.charges.factor(),
            0.0,
        )?;
        self.charges.read_items.push(charge);
        Ok(())
    }

    /// Records the units of a write on its table.
    pub fn charge_table(
        &mut self,
        table: &TableEntry,
        address: &EntryAddress,
        units: f64,
    ) -> Result<(), StoreError> {
        if self.charges.is_off {
            return Ok(());
        }
        let place = address.place();
        // Units reserved when the item was read are not reserved again.
        let taken = self
            .charges
            .read_items
            .iter()
            .find(|looked| looked.place == place)
            .map_or(0.0, |looked| looked.units);
        let charge = self.charge(table, address, units * self.charges.factor(), taken)?;
        self.charges.list.push(charge);
        Ok(())
    }

    /// Records the units of a write on an index.
    pub fn charge_index(
        &mut self,
        table: &TableEntry,
        transition: &Transition<'_>,
    ) -> Result<(), StoreError> {
        if self.charges.is_off {
            return Ok(());
        }
        for (entry, units) in transition.writes() {
            let charge = self.charge(table, &entry.address, units, 0.0)?;
            self.charges.list.push(charge);
        }
        Ok(())
    }

    /// Records the bytes of a write on a vector index, which are no units.
    pub fn charge_vector(
        &mut self,
        table: &TableEntry,
        source: SourceId,
        bytes: f64,
    ) -> Result<(), StoreError> {
        if self.charges.is_off || bytes == 0.0 {
            return Ok(());
        }
        let meter = self.shared.meter.source(self.read(), table, source)?;
        self.charges.vector_bytes.push(Charge {
            meter,
            place: Vec::new(),
            units: bytes,
        });
        Ok(())
    }

    /// Refuses a write that would change a global index without write capacity.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn admit_index(
        &self,
        table: &TableEntry,
        view: &IndexView<'_>,
        transition: &Transition<'_>,
    ) -> Result<(), Error> {
        let is_sure = self.charges.is_off || self.charges.is_admitted;
        if is_sure || self.shared.throttle.is_none() || view.index.kind != IndexKind::Global {
            return Ok(());
        }
        let mut places = transition.writes().map(|(entry, _)| entry.address.place());
        places.try_for_each(|place| {
            self.shared.admit(
                self.read(),
                table,
                view.source,
                &place,
                UnitKind::Write,
                self.charges.is_bulk,
            )
        })
    }

    /// Reserves the units of a write at a place, except those reserved before.
    fn charge(
        &self,
        table: &TableEntry,
        address: &EntryAddress,
        units: f64,
        reserved: f64,
    ) -> Result<Charge, StoreError> {
        let meter = self
            .shared
            .meter
            .source(self.read(), table, address.source)?;
        let place = address.place();
        self.shared.consume(
            table,
            address.source,
            &place,
            &place,
            UnitKind::Write,
            (units - reserved).max(0.0),
        );
        Ok(Charge {
            meter,
            place,
            units,
        })
    }
}

impl ReadView<'_> {
    /// Counts the units of a read of one item.
    pub fn charge_item(
        &self,
        table: &TableEntry,
        address: &EntryAddress,
        units: f64,
    ) -> Result<(), StoreError> {
        let (source, place) = (address.source, address.place());
        let meter = self.meter().source(self.read(), table, source)?;
        meter.count_item(
            &place,
            self.now_ms(),
            &Load {
                read: units,
                ..Load::default()
            },
        );
        self.consume(table, source, &place, &place, units);
        Ok(())
    }

    /// Counts the units of a page of a source, for the range between two places.
    pub fn charge_page(
        &self,
        table: &TableEntry,
        source: SourceId,
        from: &[u8],
        to: &[u8],
        units: f64,
        reads: &PageReads,
    ) -> Result<(), StoreError> {
        let meter = self.meter().source(self.read(), table, source)?;
        let load = Load {
            read: units,
            ..Load::default()
        };
        self.consume(table, source, from, to, units);
        meter.count_page(from, to, self.now_ms(), &load, reads);
        Ok(())
    }
}

// Simulated throttling: requests are checked against the units of tables, indexes and their
// partitions.

/// The pause of a backfill that found no units, in milliseconds, in addition to the time that
/// refills the units owed. Live writes get units meanwhile, and the backfill does not come back for
/// single units.
const BACKFILL_PAUSE_MS: f64 = 100.0;

impl EngineShared {
    /// Refuses a request at a place of a table or index without capacity. Refusals of a bulk load
    /// are counted apart.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub(crate) fn admit(
        &self,
        read: &dyn Read,
        table: &TableEntry,
        source: SourceId,
        place: &[u8],
        kind: UnitKind,
        is_bulk: bool,
    ) -> Result<(), Error> {
        let Some(throttle) = &self.throttle else {
            return Ok(());
        };
        let source = table.base_of_local_index(source).unwrap_or(source);
        let meter = self.meter.source(read, table, source)?;
        let request = UnitRequest {
            table,
            source,
            map: &meter.map(),
            place,
            kind,
        };
        let now_ms = self.now_ms();
        let Err(refusal) = throttle.admit(&request, &self.options.partition_limits, now_ms) else {
            return Ok(());
        };
        let is_write = kind == UnitKind::Write;
        let throttles = (u64::from(!is_write), u64::from(is_write));
        let load = Load {
            read_throttles: throttles.0,
            write_throttles: throttles.1,
            ..Load::default()
        };
        if is_bulk {
            meter.count_bulk(now_ms, 0.0, load.throttles());
        } else {
            meter.count_item(place, now_ms, &load);
        }
        let throttled = request.throttled(read, refusal)?;
        self.throttle_warnings.warn(&throttled, now_ms);
        Err(Error::Throttled(Box::new(throttled)))
    }

    /// Consumes the units of a request, divided evenly among the partitions between two places.
    pub(crate) fn consume(
        &self,
        table: &TableEntry,
        source: SourceId,
        from: &[u8],
        to: &[u8],
        kind: UnitKind,
        units: f64,
    ) {
        let Some(throttle) = &self.throttle else {
            return;
        };
        let source = table.base_of_local_index(source).unwrap_or(source);
        // The admission of the request made the meter.
        let Some(meter) = self.meter.known_source(source) else {
            return;
        };
        let map = meter.map();
        let partitions = map.between(from, to);
        for (number, partition) in partitions.iter().enumerate() {
            let place = if number == 0 { from } else { &partition.from };
            let request = UnitRequest {
                table,
                source,
                map: &map,
                place,
                kind,
            };
            let part = units / partitions.len() as f64;
            throttle.consume(
                &request,
                &self.options.partition_limits,
                part,
                self.now_ms(),
            );
        }
    }

    /// Reserves the units of a backfilled entry; returns the delay in milliseconds if the index has
    /// none left.
    pub(crate) fn reserve_backfill(
        &self,
        read: &dyn Read,
        table: &TableEntry,
        source: SourceId,
        place: &[u8],
        units: f64,
    ) -> Result<Option<u64>, StoreError> {
        let Some(throttle) = &self.throttle else {
            return Ok(None);
        };
        let map = self.meter.source(read, table, source)?.map();
        let request = UnitRequest {
            table,
            source,
            map: &map,
            place,
            kind: UnitKind::Write,
        };
        let (limits, now_ms) = (&self.options.partition_limits, self.now_ms());
        Ok(match throttle.admit(&request, limits, now_ms) {
            Ok(()) => {
                throttle.consume(&request, limits, units, now_ms);
                None
            }
            Err(refusal) => Some(pause_ms(refusal)),
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn pause_ms(refusal: ThrottleRefusal) -> u64 {
    (refusal.debt_ms + BACKFILL_PAUSE_MS).ceil() as u64
}
