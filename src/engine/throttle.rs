//! A simulator of throttling (docs/dynamodb.md 22.1): token buckets of units that fill with time. A
//! request is admitted while its buckets are not empty, and then consumes its cost, which may leave
//! a bucket below zero.
//!
//! ```text
//! table, global index   provisioned units a second, 300 seconds of them saved; on demand its scaled capacity, one second of it
//! partition             3,000 read and 1,000 write units a second, not more in any second of the clock
//! its share             without adaptive capacity, its even part of what is provisioned, 300 seconds of it saved
//! account               80,000 read and 80,000 write units a second, one second of it
//! ```
//! A local index consumes its table's units. A write of the table needs capacity in each global
//! index that it changes. The backfill of an index consumes that index's units, beside live writes.
//! All buckets begin full, except that an index being made has saved nothing; each process has its
//! own buckets.

use std::collections::HashMap;

use super::{
    partitions::{PartitionMap, content, map::first_digest},
    prelude::*,
};
use crate::codec::digest::hex;
use crate::model::{
    error::{ThrottleCause, ThrottleLocation, Throttled},
    limits::ACCOUNT_CAPACITY_UNITS_MAX,
    metrics::{HashRange, PartitionLimits},
};

/// The seconds of unused provisioned throughput that are saved.
pub const BURST_SECONDS: f64 = 300.0;
/// The initial capacity of an on-demand table or index, in read and write units a second.
const ON_DEMAND_UNITS: [f64; 2] = [12_000.0, 4_000.0];
/// The limit of one on-demand table, in read or write units a second (quota "Table-level
/// throughput").
const TABLE_UNITS_MAX: f64 = 40_000.0;
/// The capacity of an on-demand table as a multiple of its previous peak.
const PEAK_FACTOR: f64 = 2.0;
/// The greatest number of partition keys of a partition that are reported by name; of a partition
/// with more keys none are.
const KEYS_MAX: usize = 3;

/// The options of throttling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleOptions {
    /// True if a partition may consume up to its own limit as long as the table's units last;
    /// otherwise only its even share of them.
    pub is_adaptive: bool,
    /// The read units, and the write units, that all tables and indexes together may consume in a
    /// second.
    pub account_units_max: u64,
}

impl ThrottleOptions {
    /// Creates options with the account's default quota.
    #[must_use]
    pub const fn new(is_adaptive: bool) -> Self {
        Self {
            is_adaptive,
            account_units_max: ACCOUNT_CAPACITY_UNITS_MAX,
        }
    }
}

/// The kind of capacity units: read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnitKind {
    Read = 0,
    Write = 1,
}

/// The simulator with its buckets.
#[derive(Debug)]
pub struct Throttle {
    options: ThrottleOptions,
    // One lock for all: a request needs up to four buckets as of the same moment.
    buckets: Mutex<HashMap<BucketId, UnitBucket>>,
}

/// The owner of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum BucketOwner {
    Account,
    Source(SourceId),
    Partition(SourceId, u32),
    /// The even part of its source's units that a partition has without adaptive capacity.
    Share(SourceId, u32),
}

type BucketId = (BucketOwner, UnitKind);

#[derive(Debug, Clone, Copy)]
struct UnitBucket {
    units: f64,
    at_ms: u64,
    /// The most units consumed in one second, for on-demand capacity.
    peak: f64,
    /// The last second with consumed units, in seconds since the epoch, and the units consumed in
    /// it.
    second: u64,
    taken: f64,
}

/// The reason why a request is throttled.
#[derive(Debug, Clone, Copy)]
pub struct ThrottleRefusal {
    pub cause: ThrottleCause,
    /// The units that its bucket gets in a second.
    pub units_max: f64,
    /// The debt of its bucket, in milliseconds of refill.
    pub debt_ms: f64,
}

/// The refill rate of a bucket, and the cause to report when it is empty.
#[derive(Debug, Clone, Copy)]
struct RefillRate {
    per_second: f64,
    seconds: f64,
    /// The seconds of refill in the bucket at first.
    seconds_at_first: f64,
    cause: ThrottleCause,
    /// True if the rate grows with the peak.
    scales: bool,
    /// True if no second of the clock gives more, whatever was saved in the one before.
    is_ceiling: bool,
}

impl RefillRate {
    /// Returns a rate that saves unused units.
    fn with_burst(per_second: f64, cause: ThrottleCause) -> Self {
        Self {
            per_second,
            seconds: BURST_SECONDS,
            seconds_at_first: BURST_SECONDS,
            cause,
            scales: false,
            is_ceiling: false,
        }
    }

    /// Returns a rate that saves no more than one second.
    fn without_burst(per_second: f64, cause: ThrottleCause) -> Self {
        Self {
            per_second,
            seconds: 1.0,
            seconds_at_first: 1.0,
            cause,
            scales: false,
            is_ceiling: false,
        }
    }
}

impl UnitBucket {
    fn per_second(&self, rate: RefillRate) -> f64 {
        if rate.scales {
            rate.per_second
                .max((self.peak * PEAK_FACTOR).min(TABLE_UNITS_MAX))
        } else {
            rate.per_second
        }
    }

    fn fill(&mut self, rate: RefillRate, now_ms: u64) {
        let per_second = self.per_second(rate);
        let seconds = now_ms.saturating_sub(self.at_ms) as f64 / 1e3;
        self.units = (self.units + per_second * seconds).min(per_second * rate.seconds);
        self.at_ms = self.at_ms.max(now_ms);
    }

    /// Returns the milliseconds until the bucket has units again; `None` while it has.
    fn debt_ms(&self, rate: RefillRate, now_ms: u64) -> Option<f64> {
        if self.units <= 0.0 {
            return Some(-self.units / rate.per_second * 1e3);
        }
        let is_used_up =
            rate.is_ceiling && self.second == now_ms / 1000 && self.taken >= rate.per_second;
        is_used_up.then(|| (1000 - now_ms % 1000) as f64)
    }

    fn consume(&mut self, units: f64, now_ms: u64) {
        self.units -= units;
        if self.second != now_ms / 1000 {
            (self.second, self.taken) = (now_ms / 1000, 0.0);
        }
        self.taken += units;
        self.peak = self.peak.max(self.taken);
    }
}

impl Throttle {
    #[must_use]
    pub fn new(options: ThrottleOptions) -> Self {
        Self {
            options,
            buckets: Mutex::default(),
        }
    }

    /// Admits a request at a place of a table's base or global index if its buckets have units.
    ///
    /// # Errors
    /// Fails with the reason for which the request is throttled.
    pub fn admit(
        &self,
        request: &UnitRequest<'_>,
        limits: &PartitionLimits,
        now_ms: u64,
    ) -> Result<(), ThrottleRefusal> {
        let mut buckets = self.buckets.lock();
        for (id, rate) in self.buckets_of(request, limits) {
            let bucket = buckets
                .entry(id)
                .or_insert_with(|| full_bucket(rate, now_ms));
            bucket.fill(rate, now_ms);
            if let Some(debt_ms) = bucket.debt_ms(rate, now_ms) {
                return Err(ThrottleRefusal {
                    cause: rate.cause,
                    units_max: bucket.per_second(rate),
                    debt_ms,
                });
            }
        }
        Ok(())
    }

    /// Consumes the units of a request.
    pub fn consume(
        &self,
        request: &UnitRequest<'_>,
        limits: &PartitionLimits,
        units: f64,
        now_ms: u64,
    ) {
        let mut buckets = self.buckets.lock();
        for (id, rate) in self.buckets_of(request, limits) {
            let bucket = buckets
                .entry(id)
                .or_insert_with(|| full_bucket(rate, now_ms));
            bucket.fill(rate, now_ms);
            bucket.consume(units, now_ms);
        }
    }

    /// Returns the buckets of a request: the source's own, its partition's share of them, the
    /// partition's limit, and the account's.
    fn buckets_of(
        &self,
        request: &UnitRequest<'_>,
        limits: &PartitionLimits,
    ) -> impl Iterator<Item = (BucketId, RefillRate)> {
        let partition = &request.map.partitions()[request.map.position_of(request.place)];
        let own = request.rate();
        let ceiling = match request.kind {
            UnitKind::Read => limits.read_units_max,
            UnitKind::Write => limits.write_units_max,
        };
        let share = (!self.options.is_adaptive && !own.scales).then(|| {
            let share = own.per_second / request.map.partitions().len() as f64;
            (
                BucketOwner::Share(request.source, partition.id),
                RefillRate::with_burst(share.min(ceiling), ThrottleCause::Share),
            )
        });
        let ceiling = RefillRate {
            is_ceiling: true,
            ..RefillRate::without_burst(ceiling, ThrottleCause::KeyRange)
        };
        let account = RefillRate::without_burst(
            self.options.account_units_max as f64,
            ThrottleCause::AccountQuota,
        );
        let needed = [
            Some((BucketOwner::Source(request.source), own)),
            share,
            Some((
                BucketOwner::Partition(request.source, partition.id),
                ceiling,
            )),
            Some((BucketOwner::Account, account)),
        ];
        let kind = request.kind;
        needed
            .into_iter()
            .flatten()
            .map(move |(holder, rate)| ((holder, kind), rate))
    }
}

fn full_bucket(rate: RefillRate, now_ms: u64) -> UnitBucket {
    UnitBucket {
        units: rate.per_second * rate.seconds_at_first,
        at_ms: now_ms,
        peak: 0.0,
        second: 0,
        taken: 0.0,
    }
}

/// A request for units.
#[derive(Debug)]
pub struct UnitRequest<'a> {
    pub table: &'a TableEntry,
    /// The base table or a global index.
    pub source: SourceId,
    pub map: &'a PartitionMap,
    pub place: &'a [u8],
    pub kind: UnitKind,
}

impl UnitRequest<'_> {
    fn rate(&self) -> RefillRate {
        if let Some(units) = self.table.throughput_of(self.source) {
            let per_second = match self.kind {
                UnitKind::Read => units.read_capacity_units,
                UnitKind::Write => units.write_capacity_units,
            } as f64;
            let rate = RefillRate::with_burst(per_second, ThrottleCause::ProvisionedThroughput);
            let index = self.table.index_of(self.source);
            return match index.is_some_and(|index| self.table.index_life.is_building(&index.name)) {
                true => RefillRate {
                    seconds_at_first: 1.0,
                    ..rate
                },
                false => rate,
            };
        }
        let index = self.table.index_of(self.source).map(|index| index.settings);
        let set = index
            .unwrap_or(self.table.schema.settings.throughput)
            .on_demand;
        let set = match self.kind {
            UnitKind::Read => set.max_read_request_units,
            UnitKind::Write => set.max_write_request_units,
        };
        match set.filter(|units| *units > 0) {
            Some(units) => RefillRate::without_burst(units as f64, ThrottleCause::MaxOnDemand),
            None => {
                let rate = RefillRate::without_burst(
                    ON_DEMAND_UNITS[self.kind as usize],
                    ThrottleCause::AccountLimit,
                );
                RefillRate {
                    scales: true,
                    ..rate
                }
            }
        }
    }

    /// Returns the error of a refusal.
    ///
    /// # Errors
    /// Fails with errors of the store while it looks up the keys.
    pub fn throttled(
        &self,
        read: &dyn Read,
        refusal: ThrottleRefusal,
    ) -> Result<Throttled, StoreError> {
        let index = self
            .table
            .index_of(self.source)
            .map(|index| index.name.clone());
        let position = self.map.position_of(self.place);
        let range = self.map.range(position);
        let keys_in = |range: &HashRange, count| {
            content::first_keys(read, self.table, self.source, range, count)
        };
        let mut keys = match refusal.cause {
            ThrottleCause::KeyRange | ThrottleCause::Share => keys_in(&range, KEYS_MAX + 1)?,
            _ => Vec::new(),
        };
        if keys.len() > KEYS_MAX {
            keys.clear();
        }
        let asked = self
            .place
            .first_chunk()
            .map(|digest| keys_in(&HashRange::collection(*digest), 1));
        let digits =
            |place: Option<&[u8]>| hex(&place.map_or(u128::MAX, first_digest).to_be_bytes()[..4]);
        let location = ThrottleLocation {
            units_max: round_up(refusal.units_max),
            partition: self.map.partitions()[position].id,
            hashes: (digits(Some(&range.from)), digits(range.to.as_deref())),
            keys,
            key: asked.transpose()?.and_then(|keys| keys.into_iter().next()),
        };
        Ok(Throttled {
            table: self.table.schema.name.clone(),
            index,
            is_write: self.kind == UnitKind::Write,
            is_provisioned: self.table.schema.throughput.is_some(),
            cause: refusal.cause,
            location,
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn round_up(units: f64) -> u64 {
    units.ceil() as u64
}
