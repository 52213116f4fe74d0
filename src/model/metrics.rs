//! The types of measurements of tables, beside their data: the metrics that CloudWatch has,
//! partitions, heat. Capacity is counted by DynamoDB's formulas; partitions and their heat are a
//! model of the service. `engine::meter` and `engine::partitions` measure; `codec::metrics` writes
//! the measurements as text.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::api::IndexProgress;
use super::api::items::item_operations;
use super::api::statements::statement_operations;
use super::error::Throttled;
pub use super::item::HashRange;
use super::schema::ProvisionedThroughput;
use super::{AttributeValue, IndexKind, IndexName, TableName};

/// Adds members of another value: numbers are added, and what has parts is merged.
macro_rules! add_members {
    ($to:ident, $other:ident: $($number:ident),*; $($part:ident),*) => {
        $($to.$number += $other.$number;)*
        $($to.$part.merge(&$other.$part);)*
    };
}

/// Sum, count, minimum and maximum of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistic {
    pub count: u64,
    pub sum: f64,
    /// Undefined while `count` is 0.
    pub min: f64,
    /// Undefined while `count` is 0.
    pub max: f64,
}

impl Statistic {
    /// Counts one value.
    pub fn add(&mut self, value: f64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = if self.count == 0 {
            value
        } else {
            self.max.max(value)
        };
        self.count += 1;
        self.sum += value;
    }

    /// Adds the values of another sample.
    pub fn merge(&mut self, other: &Self) {
        *self = match (self.count, other.count) {
            (_, 0) => *self,
            (0, _) => *other,
            _ => Self {
                count: self.count + other.count,
                sum: self.sum + other.sum,
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        };
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the mean, or 0 for an empty sample.
    #[must_use]
    pub fn average(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum / self.count as f64
        }
    }
}

/// The reads of queries, or of scans, on a table or index. An item that was evaluated and not
/// returned was paid for and wasted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadCounts {
    /// Pages; each range of a PartiQL statement that reads several ranges counts as one.
    pub requests: u64,
    /// `ScannedCount`: items or entries before the filter.
    pub evaluated: u64,
    /// `Count`: the items or entries that the filter kept.
    pub returned: u64,
    /// Read units, with those of items fetched from the table for a local index. They are a part of
    /// [`CapacityUsage::read`] of the index, and of the table.
    pub units: f64,
}

impl ReadCounts {
    /// Adds other reads.
    pub fn merge(&mut self, other: &Self) {
        add_members!(self, other: requests, evaluated, returned, units;);
    }
}

/// The load on a table or index, in capacity units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacityUsage {
    /// `ConsumedReadCapacityUnits`.
    pub read: Statistic,
    /// `ConsumedWriteCapacityUnits`.
    pub write: Statistic,
    /// `ReadThrottleEvents`.
    pub read_throttles: u64,
    /// `WriteThrottleEvents`.
    pub write_throttles: u64,
    /// `OnlineIndexConsumedWriteCapacity`: the units of an index backfill, one sample for each
    /// step. Not part of `write`.
    pub online_write: Statistic,
    /// `OnlineIndexThrottleEvents`: the waits of a backfill. Not part of `write_throttles`.
    pub online_throttles: u64,
    /// The units of bulk loads: `ddbfs load` and `pull`, `batch/`. Not part of `write`.
    pub bulk_write: Statistic,
    /// The throttle events of bulk loads. Not part of `write_throttles`.
    pub bulk_throttles: u64,
    /// `OnlineIndexPercentageProgress`: the last known value.
    pub online_percent: Option<u64>,
    /// Pages of Query.
    pub queries: ReadCounts,
    /// Pages of Scan.
    pub scans: ReadCounts,
    /// `VectorSearchRequestBytes` of a vector index, one sample for each search.
    #[serde(skip_serializing_if = "Statistic::is_empty")]
    pub vector_search_bytes: Statistic,
    /// `VectorWriteRequestBytes` of a vector index, one sample for each write.
    #[serde(skip_serializing_if = "Statistic::is_empty")]
    pub vector_write_bytes: Statistic,
}

impl CapacityUsage {
    /// Adds the usage of another period, process or source.
    pub fn merge(&mut self, other: &Self) {
        add_members!(
            self, other: read_throttles, write_throttles, online_throttles, bulk_throttles;
            read, write, online_write, bulk_write, queries, scans, vector_search_bytes, vector_write_bytes
        );
        self.online_percent = self.online_percent.max(other.online_percent);
    }

    /// Returns units and throttles, without those of backfills and bulk loads.
    #[must_use]
    pub fn load(&self) -> Load {
        let (read_throttles, write_throttles) = (self.read_throttles, self.write_throttles);
        Load {
            read: self.read.sum,
            write: self.write.sum,
            read_throttles,
            write_throttles,
        }
    }
}

macro_rules! metered {
    // Each row of operations on items and statements is metered, and the reads without a row.
    ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        metered! { $($name)* Query Scan BatchGetItem }
    };
    ($($name:ident)*) => {
        /// A data operation that is counted by itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum MeteredOperation {
            $($name),*
        }

        impl MeteredOperation {
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// Returns the API's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Returns the operation that the API names so, if it is metered.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }
        }
    };
}
item_operations! { [[statement_operations] [metered]] }

/// The outcomes of one operation on one table.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationCounts {
    /// `SuccessfulRequestLatency`, milliseconds.
    pub latency_ms: Statistic,
    /// `ReturnedItemCount`, of Query and Scan.
    pub returned_items: Statistic,
    /// `ThrottledRequests`.
    pub throttled: u64,
    /// `SystemErrors`.
    pub system_errors: u64,
}

impl OperationCounts {
    /// Adds the counts of another period or process.
    pub fn merge(&mut self, other: &Self) {
        add_members!(self, other: throttled, system_errors; latency_ms, returned_items);
    }
}

/// Counts by the operation's index in [`MeteredOperation::ALL`].
pub type CountsByOperation = [OperationCounts; MeteredOperation::ALL.len()];

/// Serializes the counts that are not zero, by the operations' names.
fn by_name<S: Serializer>(counts: &CountsByOperation, to: S) -> Result<S::Ok, S::Error> {
    let named = MeteredOperation::ALL
        .into_iter()
        .map(MeteredOperation::name)
        .zip(counts);
    named
        .filter(|(_, counts)| **counts != OperationCounts::default())
        .collect::<BTreeMap<_, _>>()
        .serialize(to)
}

fn of_names<'de, D: Deserializer<'de>>(from: D) -> Result<CountsByOperation, D::Error> {
    let named = BTreeMap::<String, OperationCounts>::deserialize(from)?;
    Ok(MeteredOperation::ALL
        .map(|operation| named.get(operation.name()).copied().unwrap_or_default()))
}

/// The counts of a table as a whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableCounts {
    /// By the operation's index in [`MeteredOperation::ALL`]; in the store by its name.
    #[serde(serialize_with = "by_name", deserialize_with = "of_names")]
    pub operations: CountsByOperation,
    /// `ConditionalCheckFailedRequests`.
    pub conditional_check_failed: u64,
    /// `TransactionConflict`.
    pub transaction_conflicts: u64,
    /// `TimeToLiveDeletedItemCount`.
    pub time_to_live_deleted: u64,
}

/// The requests to a table, without those that were refused as wrong, and of them those that were
/// throttled as `ThrottledRequests` has it: a batch only if none of its items was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    pub requests: u64,
    pub throttled: u64,
}

impl TableCounts {
    /// Returns the requests of all operations.
    #[must_use]
    pub fn requests(&self) -> RequestCounts {
        let throttled = self.operations.iter().map(|of| of.throttled).sum();
        let others = self.operations.iter();
        let others = others.map(|of| of.latency_ms.count + of.system_errors);
        RequestCounts {
            requests: throttled + others.sum::<u64>() + self.conditional_check_failed,
            throttled,
        }
    }

    /// Adds the counts of another period or process.
    pub fn merge(&mut self, other: &Self) {
        self.operations
            .iter_mut()
            .zip(&other.operations)
            .for_each(|(counts, other)| counts.merge(other));
        add_members!(self, other: conditional_check_failed, transaction_conflicts, time_to_live_deleted;);
    }
}

/// Counts since the counting began, and those of each of the last minutes with any, oldest first. A
/// minute is its number since the epoch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series<T> {
    pub total: T,
    pub minutes: Vec<(u64, T)>,
}

/// The metrics of a table's base or of one of its indexes.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceMetrics {
    /// `None` for the base table.
    pub index: Option<IndexName>,
    pub usage: Series<CapacityUsage>,
    /// One for each period, in the order of [`Period::ALL`].
    pub windows: [CapacityUsage; 3],
    /// `None` for the base table.
    pub kind: Option<IndexKind>,
    pub billing: Billing,
    pub entries: u64,
    /// Bytes with the overhead of each entry.
    pub billed_bytes: u64,
    /// The progress of a running backfill, `OnlineIndex…`.
    pub backfill: Option<IndexProgress>,
}

impl SourceMetrics {
    /// Returns the load of a window.
    #[must_use]
    pub fn within(&self, window: Period) -> &CapacityUsage {
        &self.windows[window as usize]
    }

    /// True if the table's own metrics include this source: the base and the local indexes.
    #[must_use]
    pub fn is_of_table(&self) -> bool {
        self.index.is_none() || self.is_local()
    }

    /// True for a local index.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.kind == Some(IndexKind::Local)
    }

    /// Returns `table`, `gsi`, `lsi` or `vector`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind.map_or("table", IndexKind::name)
    }

    /// Returns the provisioned units a second, if there are any.
    #[must_use]
    pub fn provisioned(&self) -> Option<ProvisionedThroughput> {
        match self.billing {
            Billing::Provisioned(units) => Some(units),
            Billing::OnDemand | Billing::WithTable => None,
        }
    }
}

/// The billing of a table's or index's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// Each used unit is billed.
    OnDemand,
    /// Units a second are billed, used or not.
    Provisioned(ProvisionedThroughput),
    /// A local index consumes its table's units.
    WithTable,
}

/// The metrics of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetrics {
    pub table: TableName,
    /// The base first, then the indexes in the schema's order.
    pub sources: Vec<SourceMetrics>,
    pub counts: Series<TableCounts>,
    /// One for each period, in the order of [`Period::ALL`].
    pub requests: [RequestCounts; 3],
    /// The time at which the counting began, milliseconds since the epoch: with the table, or with
    /// the first process that counted it.
    pub since_ms: u64,
}

/// The metrics of all tables and of the store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    pub now_ms: u64,
    pub tables: Vec<TableMetrics>,
    /// `UserErrors`: refused requests, without throttled ones and failed conditions.
    pub user_errors: u64,
    /// Bytes of the store's log after the last checkpoint, and seconds since this process made its
    /// last one.
    pub log_bytes: u64,
    pub checkpoint_age: Option<f64>,
}

/// A period of recent load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// Six steps of ten seconds, the current one included.
    Minute,
    /// 60 minutes, the current one included.
    Hour,
    /// 24 hours, the current one included.
    Day,
}

impl Period {
    /// The shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Returns the name as in `heat.hour.tsv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// Returns the seconds by which a window's load is divided for a rate.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.steps().0 as f64 * self.steps().1 as f64 / 1e3
    }

    /// Returns the window that ends now and begins with one of its steps.
    #[must_use]
    pub fn span(self, now_ms: u64) -> TimeSpan {
        let (count, step_ms) = self.steps();
        let from_ms = (now_ms / step_ms + 1).saturating_sub(count) * step_ms;
        TimeSpan {
            period: self,
            from_ms,
            to_ms: now_ms,
        }
    }

    /// Returns the number of steps, and the milliseconds of one.
    fn steps(self) -> (u64, u64) {
        match self {
            Self::Minute => (6, 10_000),
            Self::Hour => (60, 60_000),
            Self::Day => (24, 3_600_000),
        }
    }
}

/// A window in time, milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    pub period: Period,
    pub from_ms: u64,
    pub to_ms: u64,
}

/// Consumed capacity units of both kinds, and throttle events: one for each item of a batch that was
/// throttled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    pub read: f64,
    pub write: f64,
    pub read_throttles: u64,
    pub write_throttles: u64,
}

impl Load {
    /// Makes a load of units.
    #[must_use]
    pub fn of_units(read: f64, write: f64) -> Self {
        Self {
            read,
            write,
            ..Self::default()
        }
    }

    /// Returns the load with its units divided.
    #[must_use]
    pub fn divided(&self, by: f64) -> Self {
        Self {
            read: self.read / by,
            write: self.write / by,
            ..*self
        }
    }

    /// Returns `ConsumedThroughputUnits` of Contributor Insights: a write weighs three times a read
    /// (docs/dynamodb.md 23.2).
    #[must_use]
    pub fn weight(&self) -> f64 {
        3.0 * self.write + self.read
    }

    /// Returns the throttle events of both kinds.
    #[must_use]
    pub fn throttles(&self) -> u64 {
        self.read_throttles + self.write_throttles
    }

    /// True if there was no load.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another load.
    pub fn add(&mut self, other: &Self) {
        add_members!(self, other: read, write, read_throttles, write_throttles;);
    }
}

/// The second with the highest load: limits are by the second, and a mean hides a peak that met
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PeakSecond {
    /// Seconds since the epoch; 0 if there was no load.
    pub second: u64,
    pub load: Load,
}

impl PeakSecond {
    /// Keeps the heavier of the two; the loads of two processes in the same second are added.
    pub fn merge(&mut self, other: &Self) {
        if self.second == other.second {
            self.load.add(&other.load);
        } else if (other.load.weight(), other.load.throttles())
            > (self.load.weight(), self.load.throttles())
        {
            *self = *other;
        }
    }
}

/// The load of a period.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PeriodLoad {
    pub load: Load,
    pub peak: PeakSecond,
}

impl PeriodLoad {
    /// Adds the load of another period, or of another process.
    pub fn merge(&mut self, other: &Self) {
        self.load.add(&other.load);
        self.peak.merge(&other.peak);
    }
}

/// One of the most requested partition key values, or single items, of a table or index.
#[derive(Debug, Clone, PartialEq)]
pub struct HotKey<K = Vec<AttributeValue>> {
    pub digest: [u8; 16],
    /// `None` if nothing has that key now.
    pub key: Option<K>,
    /// The partition in which it lies; of several with parts of its collection the one that is hot
    /// now.
    pub partition: u32,
    /// The load of the requested window.
    pub load: Load,
    /// The busiest second of that window; not known for single items.
    pub peak: PeakSecond,
    /// The load of the last day, as [`Period::Day`]; for single items, since they are counted.
    pub total: Load,
}

/// The reason for which a partition was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionOrigin {
    /// The partition was made with its table or index, for the requested throughput.
    Creation,
    /// More throughput was requested.
    Throughput,
    /// The parent was full.
    Size,
    /// The parent's load was above the limit of a partition.
    Heat,
}

impl PartitionOrigin {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Throughput => "throughput",
            Self::Size => "size",
            Self::Heat => "heat",
        }
    }
}

/// The limits of a partition (docs/dynamodb.md 22.1, docs/requirements.md P-07).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartitionLimits {
    /// Bytes with overhead.
    pub bytes_max: u64,
    /// Read units a second.
    pub read_units_max: f64,
    /// Write units a second.
    pub write_units_max: f64,
}

impl Default for PartitionLimits {
    /// Returns 10 GB, 3,000 and 1,000 units a second.
    fn default() -> Self {
        Self {
            bytes_max: 10 * 1024 * 1024 * 1024,
            read_units_max: 3_000.0,
            write_units_max: 1_000.0,
        }
    }
}

/// A bound of a partition as readable keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundKey {
    pub partition: Vec<AttributeValue>,
    /// The sort key within the collection; empty for its beginning.
    pub sort: Vec<AttributeValue>,
    /// True if the bound is just after the collection.
    pub is_after: bool,
}

/// A partition of a table or global index. Ranges, heat and splits are a model; counts and bytes are facts of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionReport {
    pub id: u32,
    pub range: HashRange,
    pub since_ms: u64,
    pub origin: PartitionOrigin,
    /// The load of the requested window.
    pub load: Load,
    /// The busiest second of that window.
    pub peak: PeakSecond,
    /// The load over the window as a part of the limits, 1 for all.
    pub share: f64,
    /// The load in the busiest second as a part of the limits, 1 for all.
    pub peak_share: f64,
}

/// The counted content of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionContent {
    /// The number of item collections, or of parts of one.
    pub collections: u64,
    pub items: u64,
    /// Bytes with overhead; for a base table with its local index entries.
    pub billed_bytes: u64,
}

/// The next split of a partition, if it were to be split now.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitCandidate {
    /// The partition holds nothing that can be split.
    Single,
    /// The partition holds one collection, kept together by a local index.
    HeldByLocalIndex,
    /// The load follows ascending or descending sort keys: a part of the partition would be as hot.
    Sequence,
    /// The partition was split for its load as often as is useful.
    LimitReached,
    /// The partition is below its limits.
    NotNeeded,
    /// The limit that requires the split.
    Due(PartitionOrigin),
}

/// One of the largest item collections of a table or global index.
#[derive(Debug, Clone, PartialEq)]
pub struct LargeCollection {
    /// `None` if it was deleted since it was counted.
    pub key: Option<Vec<AttributeValue>>,
    /// The partition in which it lies; the first one if it spans several.
    pub partition: u32,
    pub items: u64,
    /// Bytes with the overhead of each item, and with local index entries.
    pub billed_bytes: u64,
}

/// The throttle events of the same limit of the same partition within a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrottleWarning {
    /// The first of them.
    pub throttled: Throttled,
    pub events: u64,
    /// The time of the first, milliseconds since the epoch.
    pub time_ms: u64,
}

/// An item collection of a table with local indexes that came near its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionWarning {
    pub table: TableName,
    pub partition: AttributeValue,
    /// Bytes with overhead and local index entries.
    pub billed_bytes: u64,
    pub bytes_max: u64,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
}

/// The normal form of a request: attribute names in place of placeholders, `?` in place of values.
/// Requests of one form are one access pattern, through whichever interface they came. A long text
/// is cut, with `…` at its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessForm {
    /// The API's name: a PartiQL statement has that of the operation that it stands for. Empty for
    /// the sum of the patterns beyond those that are kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The key of a read, update or delete: `pk = ? AND begins_with(sk, ?)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_condition: Option<String>,
    /// The filter of a Query or Scan, the condition of a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The changes of an UpdateItem, or the distinct actions of a batch or transaction on the
    /// table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<String>,
    /// The document paths that are read, or `COUNT`; `None`: all attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<String>,
}

impl AccessForm {
    /// True for the sum of the patterns beyond those that are kept.
    #[must_use]
    pub fn is_others(&self) -> bool {
        self.operation.is_empty()
    }
}

/// The requests of an access pattern in a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessCounts {
    /// Requests, or pages of Query and Scan: successful, throttled, and with failed conditions.
    pub requests: u64,
    /// Read units of the table and its indexes.
    pub read: f64,
    /// Write units of the table and its indexes.
    pub write: f64,
    /// Items or entries read, before a filter; 0 for writes.
    pub evaluated: u64,
    /// Items returned; 0 for writes without returned items.
    pub returned: u64,
    /// Requests that were refused by a simulated throttle.
    pub throttled: u64,
    /// Writes that were refused by their condition.
    pub failed_conditions: u64,
    pub latency: LatencyHistogram,
    /// Requests by the entity of their partition key: the letters before the first separator
    /// (`USER` of `USER#17`), `?` for a key without them, `…` for entities beyond those that are
    /// kept.
    pub entities: BTreeMap<String, u64>,
}

/// The entities of an access pattern that are kept.
const ENTITIES_MAX: usize = 8;
/// The entity that stands for those beyond the kept ones.
pub const OTHER_ENTITIES: &str = "…";

impl AccessCounts {
    /// Returns read and write units.
    #[must_use]
    pub fn units(&self) -> f64 {
        self.read + self.write
    }

    /// Compares by units, then by requests.
    #[must_use]
    pub fn rank(&self, other: &Self) -> std::cmp::Ordering {
        let by_units = self.units().total_cmp(&other.units());
        by_units.then(self.requests.cmp(&other.requests))
    }

    /// Counts requests of an entity.
    pub fn add_entity(&mut self, entity: &str, requests: u64) {
        let is_kept = self.entities.contains_key(entity) || self.entities.len() < ENTITIES_MAX;
        let name = if is_kept { entity } else { OTHER_ENTITIES };
        match self.entities.get_mut(name) {
            Some(count) => *count += requests,
            None => drop(self.entities.insert(name.to_owned(), requests)),
        }
    }

    /// Adds the counts of another period or process.
    pub fn merge(&mut self, other: &Self) {
        add_members!(self, other: requests, read, write, evaluated, returned, throttled, failed_conditions; latency);
        for (entity, requests) in &other.entities {
            self.add_entity(entity, *requests);
        }
    }

    /// True if a read of at least a hundred items returned less than a tenth of them.
    #[must_use]
    pub fn throws_away(&self) -> bool {
        self.evaluated >= 100 && self.returned.saturating_mul(10) < self.evaluated
    }
}

/// Counts of latencies in classes that grow by a fifth.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencyHistogram(BTreeMap<u8, u64>);

/// The classes in a doubling of the latency.
const LATENCY_CLASSES: f64 = 4.0;

impl LatencyHistogram {
    /// Counts a latency.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn add(&mut self, ms: f64) {
        let class = (1e3 * ms).max(1.0).log2() * LATENCY_CLASSES;
        *self.0.entry(class.clamp(0.0, 127.0) as u8).or_default() += 1;
    }

    /// Adds other latencies.
    pub fn merge(&mut self, other: &Self) {
        for (class, count) in &other.0 {
            *self.0.entry(*class).or_default() += count;
        }
    }

    /// Returns the upper bound, in milliseconds, of the class that the share of the latencies ends
    /// in (0.99 for p99); `None` without latencies.
    #[must_use]
    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        let wanted = share * self.0.values().sum::<u64>() as f64;
        let mut counted = 0;
        let class = self.0.iter().find(|(_, count)| {
            counted += **count;
            counted as f64 >= wanted
        });
        class.map(|(class, _)| (f64::from(*class + 1) / LATENCY_CLASSES).exp2() / 1e3)
    }
}

/// An access pattern of a table with its requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AccessPattern {
    pub form: AccessForm,
    /// One for each period, in the order of [`Period::ALL`].
    pub windows: [AccessCounts; 3],
}

impl AccessPattern {
    /// Returns the requests of a window.
    #[must_use]
    pub fn within(&self, window: Period) -> &AccessCounts {
        &self.windows[window as usize]
    }
}
