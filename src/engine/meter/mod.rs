//! The meters: counters in memory of the capacity that operations consumed, by source and key, and
//! of the outcome and latency of operations. `ops::metrics` reports them; they simulate CloudWatch
//! and Contributor Insights.
//!
//! Two hooks feed them. Below the operations, where the bytes of each item are known, [`Charges`]
//! record capacity by source and place; above them, in `database::local::operations`, `Timer`
//! counts outcome and latency by table and operation, and the request by its access pattern
//! ([`access`]).
//!
//! The cost: a request writes nothing. A read copies its place, takes a shared lock on the map of
//! sources and a lock of its own source, twice, and adds to some 20 numbers there; a place is
//! looked up among 8 counters by its digest. Single items cost as much again, and a digest of their
//! place, but only while contributor insights are enabled. A write keeps its charges in its job and
//! counts them after the commit, a durable write. The machine's clock is read four times.
//!
//! Counts are flushed to the store every ten seconds (see [`stored`] and `background::meter_flush`),
//! so that they are durable and are reported with the counts of other processes on the same data
//! directory. Counts since the last flush are lost when the process is killed.

pub mod access;
pub mod pyramid;
pub mod stored;
pub mod sums;
pub mod top_keys;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use parking_lot::{MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    account,
    partitions::{
        self, PartitionMap,
        hot::{PlaceSample, Samples},
    },
    prelude::*,
};
use crate::codec::digest::digest;
use crate::model::metrics::{Load, ReadCounts};

use access::{AccessForms, AccessRecord};
use pyramid::{OpenSlotRecords, Pyramid};
use stored::HeatRecord;
use sums::{History, SumSlots};
use top_keys::{ItemCounter, LastMinute, PeakGauge, TopKeys};

pub use sums::OperationOutcome;

/// The meters of all sources and tables.
#[derive(Debug, Default)]
pub struct EngineMeter {
    // Ordered maps, as for the partitions below: the keys are small numbers, looked up for each
    // item, and a tree finds one sooner than a hash.
    sources: RwLock<BTreeMap<SourceId, Arc<SourceMeter>>>,
    tables: RwLock<HashMap<TableName, Arc<Mutex<SumSlots>>>>,
    user_errors: Mutex<u64>,
    /// The access patterns.
    pub forms: AccessForms,
    /// Locked while counts are flushed to the store: a reader sees them in exactly one of the two
    /// places.
    flush_lock: RwLock<()>,
}

/// The counts taken for a flush.
#[derive(Debug, Default)]
pub struct MeterFlush {
    pub sources: Vec<SourceFlush>,
    pub user_errors: u64,
}

/// The counts of a table's base or index.
#[derive(Debug)]
pub struct SourceFlush {
    pub table: TableName,
    /// `None` for the counts of a table by its name.
    pub source: Option<SourceId>,
    pub sums: History,
    pub heat: Pyramid<HeatRecord>,
    pub access: Pyramid<AccessRecord>,
}

/// The longest time a reader waits for a flush.
const FLUSH_WAIT: Duration = Duration::from_secs(2);

impl EngineMeter {
    /// Returns the meter of a table's base or index, and creates it on first use.
    ///
    /// # Errors
    /// Fails with errors of the store when its partitions are read.
    pub fn source(
        &self,
        read: &dyn Read,
        table: &TableEntry,
        source: SourceId,
    ) -> Result<Arc<SourceMeter>, StoreError> {
        if let Some(meter) = self.sources.read().get(&source) {
            return Ok(Arc::clone(meter));
        }
        // Entries of a local index are in the partitions of the base items.
        let meter = match table.base_of_local_index(source) {
            Some(base) => SourceMeter::with_base(self.source(read, table, base)?),
            None => SourceMeter::new(&table.schema.name, partitions::load(read, table, source)?),
        };
        // Outside the lock, because it reads the store. If two threads create it, the first stays,
        // and nothing was counted in the other.
        meter.count_items(account::has_item_insights(read, table, source)?);
        Ok(Arc::clone(
            self.sources
                .write()
                .entry(source)
                .or_insert_with(|| Arc::new(meter)),
        ))
    }

    /// Returns the meter of a source with counts.
    #[must_use]
    pub fn known_source(&self, source: SourceId) -> Option<Arc<SourceMeter>> {
        self.sources.read().get(&source).map(Arc::clone)
    }

    /// Returns the counts of a table by its name.
    #[must_use]
    pub fn table(&self, name: &TableName) -> Arc<Mutex<SumSlots>> {
        if let Some(meter) = self.tables.read().get(name) {
            return Arc::clone(meter);
        }
        Arc::clone(self.tables.write().entry(name.clone()).or_default())
    }

    /// Counts a refused request.
    pub fn count_user_error(&self) {
        *self.user_errors.lock() += 1;
    }

    #[must_use]
    pub fn user_errors(&self) -> u64 {
        *self.user_errors.lock()
    }

    /// Locks out flushes while the guard exists, so that a reader sees each count once. Returns
    /// `None` after `FLUSH_WAIT`, when the flush itself waits for the reader.
    #[must_use]
    pub fn read_lock(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.flush_lock.try_read_for(FLUSH_WAIT)
    }

    /// Locks out readers during a flush.
    pub fn write_lock(&self) -> RwLockWriteGuard<'_, ()> {
        self.flush_lock.write()
    }

    /// Takes the counts to flush: those of intervals that are over, and at the end those of the
    /// present one.
    #[must_use]
    pub fn take_flush(&self, now_ms: u64, is_end: bool) -> MeterFlush {
        // With the other counts of its table, since each flush adds to the table's total.
        let mut patterns = self.forms.take(now_ms, is_end);
        let sources = self
            .sources
            .read()
            .iter()
            .map(|(source, meter)| SourceFlush {
                access: patterns
                    .remove(source)
                    .map(|(_, of)| of)
                    .unwrap_or_default(),
                ..meter.take_flush(*source, now_ms, is_end)
            })
            .collect::<Vec<_>>();
        let tables = self.tables.read();
        let of_table = tables.iter().map(|(table, meter)| SourceFlush {
            sums: meter.lock().take(now_ms, is_end),
            ..SourceFlush::new(table, None)
        });
        let of_patterns = patterns.into_iter();
        let of_patterns = of_patterns.map(|(source, (table, access))| SourceFlush {
            access,
            ..SourceFlush::new(&table, Some(source))
        });
        let sources = sources
            .into_iter()
            .chain(of_table)
            .chain(of_patterns)
            .filter(|taken| !taken.is_empty())
            .collect();
        MeterFlush {
            sources,
            user_errors: std::mem::take(&mut *self.user_errors.lock()),
        }
    }

    /// Gives back counts that could not be stored.
    pub fn restore(&self, flush: &MeterFlush) {
        *self.user_errors.lock() += flush.user_errors;
        for of in &flush.sources {
            match of.source {
                None => self.table(&of.table).lock().restore(&of.sums),
                Some(source) => {
                    self.forms.restore(source, &of.access);
                    if let Some(meter) = self.known_source(source) {
                        meter.restore(of);
                    }
                }
            }
        }
    }

    /// True if any source had a request in the last minute.
    #[must_use]
    pub fn is_active(&self, now_ms: u64) -> bool {
        self.sources
            .read()
            .values()
            .any(|source| source.is_active(now_ms))
    }

    /// Forgets the counted load of a table and its indexes.
    pub fn forget(&self, table: &TableName) {
        self.forms.forget(table);
        for source in self.sources.read().values() {
            if source.table == *table {
                source.forget();
            }
        }
        if let Some(meter) = self.tables.read().get(table) {
            *meter.lock() = SumSlots::default();
        }
    }

    /// Removes sources that belong to no table any more.
    pub fn retain(&self, is_live: impl Fn(SourceId) -> bool) {
        self.sources.write().retain(|source, _| is_live(*source));
        self.forms.retain(is_live);
    }
}

/// The load of a table's base or index.
#[derive(Debug)]
pub struct SourceMeter {
    table: TableName,
    /// The meter with the partitions of its entries, if they are not its own.
    base: Option<Arc<SourceMeter>>,
    counts: Mutex<SourceCounts>,
}

#[derive(Debug)]
struct SourceCounts {
    sums: SumSlots,
    /// The time of the last request, in milliseconds since the epoch.
    last_request_ms: u64,
    keys: TopKeys,
    /// Single items by their place; only while contributor insights are enabled.
    items: Option<TopKeys<Box<[u8]>>>,
    map: Arc<PartitionMap>,
    /// The load by the number of the partition.
    loads: BTreeMap<u32, PartitionMeter>,
    /// The closed slots; the open one is in `warm` and `keys`.
    slots: OpenSlotRecords<HeatRecord>,
}

/// The load of one partition.
#[derive(Debug, Default)]
struct PartitionMeter {
    last_minute: LastMinute,
    slot: PeakGauge,
    samples: Samples,
}

/// The reads of a page.
#[derive(Debug, Clone, Copy)]
pub enum PageReads {
    Query(ReadCounts),
    Scan(ReadCounts),
    /// Items fetched for the page of an index.
    Fetch,
}

impl SourceFlush {
    /// Makes a flush without counts.
    fn new(table: &TableName, source: Option<SourceId>) -> Self {
        Self {
            table: table.clone(),
            source,
            sums: History::default(),
            heat: Pyramid::default(),
            access: Pyramid::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.heat.0.is_empty() && self.access.0.is_empty() && self.sums == History::default()
    }
}

impl SourceMeter {
    fn new(table: &TableName, map: Arc<PartitionMap>) -> Self {
        let counts = SourceCounts {
            sums: SumSlots::default(),
            last_request_ms: 0,
            keys: TopKeys::default(),
            items: None,
            map,
            loads: BTreeMap::new(),
            slots: OpenSlotRecords::default(),
        };
        Self {
            table: table.clone(),
            base: None,
            counts: Mutex::new(counts),
        }
    }

    fn with_base(base: Arc<Self>) -> Self {
        let of_its_own = Self::new(&base.table, base.map());
        Self {
            base: Some(base),
            ..of_its_own
        }
    }

    /// Switches the count of single items on or off; off removes the counts.
    pub fn count_items(&self, is_on: bool) {
        let mut counts = self.counts.lock();
        counts.items = if is_on {
            counts.items.take().or_else(|| Some(TopKeys::default()))
        } else {
            None
        };
    }

    /// Counts the load of a request on the item at a place.
    pub fn count_item(&self, place: &[u8], now_ms: u64, load: &Load) {
        let mut counts = self.counts.lock();
        counts.count_item(place, now_ms, load);
        counts.count_usage(now_ms, load);
        self.count_heat(counts, place, place, now_ms, load);
    }

    /// Counts the load of a page between two places.
    pub fn count_page(&self, from: &[u8], to: &[u8], now_ms: u64, load: &Load, reads: &PageReads) {
        let mut counts = self.counts.lock();
        counts.count_usage(now_ms, load);
        if counts.count_reads(now_ms, reads) == 1 {
            counts.count_item(from, now_ms, load);
        }
        self.count_heat(counts, from, to, now_ms, load);
    }

    /// Counts a step of the index's backfill: its units, whether it was throttled, and the progress
    /// of the backfill in percent.
    pub fn count_backfill(&self, now_ms: u64, units: f64, is_throttled: bool, percent: u64) {
        let mut counts = self.counts.lock();
        let usage = &mut counts.sums.now(now_ms).usage;
        if units > 0.0 {
            usage.online_write.add(units);
        }
        usage.online_throttles += u64::from(is_throttled);
        usage.online_percent = Some(percent);
    }

    /// Counts units and throttle events of a bulk load: no traffic, and no heat.
    pub fn count_bulk(&self, now_ms: u64, units: f64, throttles: u64) {
        let mut counts = self.counts.lock();
        let usage = &mut counts.sums.now(now_ms).usage;
        if units > 0.0 {
            usage.bulk_write.add(units);
        }
        usage.bulk_throttles += throttles;
    }

    /// Counts the bytes of a search of a vector index, or of a write to it.
    pub fn count_vector(&self, now_ms: u64, bytes: f64, is_write: bool) {
        let mut counts = self.counts.lock();
        let usage = &mut counts.sums.now(now_ms).usage;
        match is_write {
            true => usage.vector_write_bytes.add(bytes),
            false => usage.vector_search_bytes.add(bytes),
        }
    }

    /// Forgets the counted load, without the samples that decide on splits.
    fn forget(&self) {
        let mut counts = self.counts.lock();
        counts.sums = SumSlots::default();
        counts.keys = TopKeys::default();
        counts.slots = OpenSlotRecords::default();
        counts.items = counts.items.as_ref().map(|_| TopKeys::default());
        counts
            .loads
            .values_mut()
            .for_each(|warm| warm.slot = PeakGauge::default());
    }

    /// Counts the load of partitions. Releases the meter's own lock before it takes that of the
    /// base.
    fn count_heat(
        &self,
        mut counts: MutexGuard<'_, SourceCounts>,
        from: &[u8],
        to: &[u8],
        now_ms: u64,
        load: &Load,
    ) {
        match &self.base {
            None => counts.count_heat(from, to, now_ms, load),
            Some(base) => {
                drop(counts);
                base.counts.lock().count_heat(from, to, now_ms, load);
            }
        }
    }

    /// Returns the partitions of its entries.
    #[must_use]
    pub fn map(&self) -> Arc<PartitionMap> {
        self.base
            .as_ref()
            .map_or_else(|| Arc::clone(&self.counts.lock().map), |base| base.map())
    }

    /// Sets the partitions after a split.
    pub fn set_map(&self, map: Arc<PartitionMap>) {
        self.counts.lock().map = map;
    }

    fn take_flush(&self, source: SourceId, now_ms: u64, is_end: bool) -> SourceFlush {
        let mut counts = self.counts.lock();
        if is_end || counts.slots.is_over(now_ms) {
            counts.close(now_ms);
        }
        let (sums, heat) = (counts.sums.take(now_ms, is_end), counts.slots.take());
        SourceFlush {
            sums,
            heat,
            ..SourceFlush::new(&self.table, Some(source))
        }
    }

    fn restore(&self, flush: &SourceFlush) {
        let mut counts = self.counts.lock();
        counts.sums.restore(&flush.sums);
        counts.slots.restore(&flush.heat);
    }

    /// Returns the sums that are not stored yet.
    #[must_use]
    pub fn sums(&self) -> History {
        self.counts.lock().sums.history()
    }

    /// Returns the load of partitions and keys that is not stored yet.
    #[must_use]
    pub fn heat_records(&self) -> Pyramid<HeatRecord> {
        let counts = self.counts.lock();
        counts.slots.all(&counts.open_slot())
    }

    /// True if the source had a request in the last minute.
    #[must_use]
    pub fn is_active(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.counts.lock().last_request_ms) < 60_000
    }

    /// Returns the load of a partition over the last minute, by its number.
    #[must_use]
    pub fn last_minute(&self, id: u32, now_ms: u64) -> Load {
        let counts = self.counts.lock();
        let warm = counts.loads.get(&id);
        warm.map(|warm| warm.last_minute.sum(now_ms))
            .unwrap_or_default()
    }

    /// Returns samples of the recent load of a partition, by its number.
    #[must_use]
    pub fn samples(&self, id: u32, now_ms: u64) -> Vec<PlaceSample> {
        let counts = self.counts.lock();
        let warm = counts.loads.get(&id);
        warm.map(|warm| warm.samples.recent(now_ms))
            .unwrap_or_default()
    }

    /// Returns the counted single items with their places, the hottest by their total load first;
    /// `None` while they are not counted.
    #[must_use]
    pub fn top_items(&self, count: usize) -> Option<Vec<ItemCounter>> {
        self.counts
            .lock()
            .items
            .as_ref()
            .map(|items| items.hottest(count))
    }
}

impl SourceCounts {
    fn count_usage(&mut self, now_ms: u64, load: &Load) {
        self.last_request_ms = self.last_request_ms.max(now_ms);
        let usage = &mut self.sums.now(now_ms).usage;
        if load.read > 0.0 {
            usage.read.add(load.read);
        }
        if load.write > 0.0 {
            usage.write.add(load.write);
        }
        usage.read_throttles += load.read_throttles;
        usage.write_throttles += load.write_throttles;
    }

    /// Counts reads and returns the number of evaluated items.
    fn count_reads(&mut self, now_ms: u64, reads: &PageReads) -> u64 {
        let usage = &mut self.sums.now(now_ms).usage;
        let (sum, reads) = match reads {
            PageReads::Query(reads) => (&mut usage.queries, reads),
            PageReads::Scan(reads) => (&mut usage.scans, reads),
            PageReads::Fetch => return 0,
        };
        sum.merge(reads);
        reads.evaluated
    }

    /// Counts a load on a single item. A place without order is a whole collection and is not
    /// counted.
    fn count_item(&mut self, place: &[u8], now_ms: u64, load: &Load) {
        if let Some(items) = self
            .items
            .as_mut()
            .filter(|_| place.len() > size_of::<Digest>())
        {
            items.count_named(&digest(place), || place.into(), now_ms, load);
        }
    }

    /// Counts a load on partitions and keys. A page loads each partition in its range alike; a scan
    /// loads no key in particular.
    fn count_heat(&mut self, from: &[u8], to: &[u8], now_ms: u64, load: &Load) {
        self.roll_slot(now_ms);
        let partitions = self.map.between(from, to);
        let parts = partitions.len() as f64;
        let share = load.divided(parts);
        for (number, partition) in partitions.iter().enumerate() {
            let first = if number == 0 { from } else { &partition.from };
            let last = partitions.get(number + 1).map_or(to, |next| &next.from);
            let warm = self.loads.entry(partition.id).or_default();
            warm.samples.count(first, last, now_ms, &share);
            warm.last_minute.add(now_ms, &share);
            warm.slot.add(now_ms, &share);
        }
        if let Some(digest) =
            collection_of(from).filter(|digest| Some(*digest) == collection_of(to))
        {
            self.keys.count(digest, now_ms, load);
        }
    }

    /// Returns the record of the open slot.
    fn open_slot(&self) -> HeatRecord {
        HeatRecord {
            partitions: self
                .loads
                .iter()
                .filter_map(|(id, warm)| Some((*id, warm.slot.read()?)))
                .collect(),
            keys: self
                .keys
                .all()
                .filter_map(|key| Some((key.digest, key.slot.read()?)))
                .collect(),
        }
    }

    /// Closes the slot if its time is over.
    fn roll_slot(&mut self, now_ms: u64) {
        if self.slots.is_over(now_ms) {
            self.close(now_ms);
        }
    }

    fn close(&mut self, now_ms: u64) {
        self.slots.open = self.open_slot();
        self.slots.close(now_ms);
        self.loads
            .values_mut()
            .for_each(|warm| warm.slot = PeakGauge::default());
        self.keys
            .all_mut()
            .for_each(|key| key.slot = PeakGauge::default());
    }
}

/// Returns the digest of the collection of a place.
fn collection_of(place: &[u8]) -> Option<&Digest> {
    place.first_chunk()
}

// The charges of a write, kept until it is committed.

/// The units that a write consumed at a place.
#[derive(Debug)]
pub struct Charge {
    pub meter: Arc<SourceMeter>,
    pub place: Vec<u8>,
    pub units: f64,
}

/// The capacity that one job of the writer thread consumes. It is counted when the job is
/// committed.
#[derive(Debug, Default)]
pub struct Charges {
    /// True if nothing is counted: the engine's own work, imports and restores consume nothing.
    pub is_off: bool,
    /// True for a bulk load, which is counted apart.
    pub is_bulk: bool,
    /// True if the capacity of the global indexes was checked for the whole job before.
    pub is_admitted: bool,
    /// The factor of a table's units: 2 in a transaction.
    pub table_factor: Option<f64>,
    pub list: Vec<Charge>,
    /// The bytes written to vector indexes, as units of the charges.
    pub vector_bytes: Vec<Charge>,
    /// Items read before the decision, with the units that a failed condition on them costs.
    pub read_items: Vec<Charge>,
}

impl Charges {
    /// Counts the consumed units. A failed condition costs as much as a write of the existing items
    /// (docs/dynamodb.md 10.1).
    pub fn count(&self, now_ms: u64, error: Option<&Error>) {
        let has_failed = matches!(
            error,
            Some(Error::ConditionalCheckFailed { .. } | Error::TransactionCanceled(_))
        );
        let is_counted = error.is_none() && !self.is_bulk;
        let written = self.vector_bytes.iter().filter(|_| is_counted);
        written.for_each(|charge| charge.meter.count_vector(now_ms, charge.units, true));
        for charge in if has_failed {
            &self.read_items
        } else {
            &self.list
        } {
            if self.is_bulk {
                charge.meter.count_bulk(now_ms, charge.units, 0);
                continue;
            }
            charge
                .meter
                .count_item(&charge.place, now_ms, &Load::of_units(0.0, charge.units));
        }
    }

    /// Returns the factor of a table's units.
    #[must_use]
    pub fn factor(&self) -> f64 {
        self.table_factor.unwrap_or(1.0)
    }
}
