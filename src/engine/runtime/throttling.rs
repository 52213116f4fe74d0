//! Where throttling is simulated: requests are held against the units that tables, indexes and their partitions have.

use super::shared::Shared;
use crate::engine::base::keys::SourceId;
use crate::engine::catalog::TableEntry;
use crate::engine::throttle::{Refusal, UnitKind, UnitRequest};
use crate::model::Error;
use crate::model::error::StoreError;
use crate::store::Read;

/// How long a backfill lets units gather that found none, beside what is owed: live writes get theirs meanwhile, and it does not come
/// for each unit by itself.
const BACKFILL_PAUSE_MS: f64 = 100.0;

impl Shared {
    /// Refuses a request at a place of a table or index that has nothing left.
    ///
    /// # Errors
    /// `Throttled`; those of the store.
    pub(crate) fn admit(
        &self,
        read: &dyn Read,
        table: &TableEntry,
        (source, place, kind): (SourceId, &[u8], UnitKind),
    ) -> Result<(), Error> {
        let Some(throttle) = &self.throttle else { return Ok(()) };
        let source = table.base_of_local_index(source).unwrap_or(source);
        let meter = self.meter.source(read, table, source)?;
        let asked = UnitRequest { table, source, map: &meter.map(), place, kind };
        let now_ms = self.now_ms();
        let Err(refusal) = throttle.admit(&asked, &self.options.partition_limits, now_ms) else { return Ok(()) };
        meter.count_throttle(place, now_ms, kind == UnitKind::Write);
        let throttled = asked.throttled(read, refusal)?;
        self.throttle_warnings.warn(&throttled, now_ms);
        Err(Error::Throttled(Box::new(throttled)))
    }

    /// Takes what a request consumed, of each partition on its way from one place to another as much.
    pub(crate) fn take_units(&self, table: &TableEntry, (source, places, kind): (SourceId, (&[u8], &[u8]), UnitKind), units: f64) {
        let Some(throttle) = &self.throttle else { return };
        let source = table.base_of_local_index(source).unwrap_or(source);
        // Whoever takes was admitted, which made the meter.
        let Some(meter) = self.meter.known_source(source) else { return };
        let map = meter.map();
        let partitions = map.between(places);
        for (number, partition) in partitions.iter().enumerate() {
            let place = if number == 0 { places.0 } else { &partition.from };
            let asked = UnitRequest { table, source, map: &map, place, kind };
            let part = units / partitions.len() as f64;
            throttle.take(&asked, &self.options.partition_limits, part, self.now_ms());
        }
    }

    /// Takes the units of an entry that a backfill writes; when its index has none, the milliseconds after which to come again.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn take_for_backfill(
        &self,
        read: &dyn Read,
        table: &TableEntry,
        (source, place): (SourceId, &[u8]),
        units: f64,
    ) -> Result<Option<u64>, StoreError> {
        let Some(throttle) = &self.throttle else { return Ok(None) };
        let map = self.meter.source(read, table, source)?.map();
        let asked = UnitRequest { table, source, map: &map, place, kind: UnitKind::Write };
        let (limits, now_ms) = (&self.options.partition_limits, self.now_ms());
        Ok(match throttle.admit(&asked, limits, now_ms) {
            Ok(()) => {
                throttle.take(&asked, limits, units, now_ms);
                None
            }
            Err(refusal) => Some(pause_ms(refusal)),
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn pause_ms(refusal: Refusal) -> u64 {
    (refusal.owed_ms + BACKFILL_PAUSE_MS).ceil() as u64
}
