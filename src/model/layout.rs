//! What can be told of tables beside their data: metrics, partitions, heat. Capacity is counted by DynamoDB's formulas; partitions
//! and their heat are a model of the service.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::api::IndexProgress;
use super::error::Throttled;
pub use super::item::PlaceRange;
use super::schema::ProvisionedThroughput;
use super::{AttributeValue, IndexName, TableName};

/// Sum, count, least and greatest of what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistic {
    pub count: u64,
    pub sum: f64,
    /// Of no meaning while `count` is 0.
    pub min: f64,
    /// Of no meaning while `count` is 0.
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

    /// Adds what was counted elsewhere.
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

    /// 0 when nothing was counted.
    #[must_use]
    pub fn average(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum / self.count as f64
        }
    }
}

/// What queries, or scans, of a table or index read: what was evaluated and not returned was paid for and wasted.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reads {
    /// Pages; the parts of a PartiQL statement that reads several ranges each.
    pub requests: u64,
    /// `ScannedCount`: items or entries before the filter.
    pub evaluated: u64,
    /// `Count`: those that the filter kept.
    pub returned: u64,
    /// Read units, with those of items fetched from the table for a local index; a part of [`Usage::read`], there and at the table.
    pub units: f64,
}

impl Reads {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.evaluated += other.evaluated;
        self.returned += other.returned;
        self.units += other.units;
    }
}

/// What a table or index was asked for, in capacity units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// `ConsumedReadCapacityUnits`.
    pub read: Statistic,
    /// `ConsumedWriteCapacityUnits`.
    pub write: Statistic,
    /// `ReadThrottleEvents`.
    pub read_throttles: u64,
    /// `WriteThrottleEvents`.
    pub write_throttles: u64,
    /// `OnlineIndexConsumedWriteCapacity`: what the backfill of an index took, each step a sample. Not part of `write`.
    pub online_write: Statistic,
    /// `OnlineIndexThrottleEvents`: how often it had to wait. Not part of `write_throttles`.
    pub online_throttles: u64,
    /// `OnlineIndexPercentageProgress`: the last that was known.
    pub online_percent: Option<u64>,
    /// Pages of Query.
    pub queries: Reads,
    /// Pages of Scan.
    pub scans: Reads,
}

impl Usage {
    /// Adds that of another while, process or source.
    pub fn merge(&mut self, other: &Self) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.read_throttles += other.read_throttles;
        self.write_throttles += other.write_throttles;
        self.online_write.merge(&other.online_write);
        self.online_throttles += other.online_throttles;
        self.online_percent = self.online_percent.max(other.online_percent);
        self.queries.merge(&other.queries);
        self.scans.merge(&other.scans);
    }

    /// Units and throttles, without those of a backfill.
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
    ($($name:ident)+) => {
        /// The data operations that are counted by themselves.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum MeteredOperation {
            $($name),+
        }

        impl MeteredOperation {
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            /// The API's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }
        }
    };
}

metered! {
    GetItem PutItem UpdateItem DeleteItem
    Query Scan
    BatchGetItem BatchWriteItem
    TransactGetItems TransactWriteItems
    ExecuteStatement BatchExecuteStatement ExecuteTransaction
}

/// What became of one operation on one table.
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
    /// Adds those of another while or process.
    pub fn merge(&mut self, other: &Self) {
        self.latency_ms.merge(&other.latency_ms);
        self.returned_items.merge(&other.returned_items);
        self.throttled += other.throttled;
        self.system_errors += other.system_errors;
    }
}

/// By the place of the operation in [`MeteredOperation::ALL`].
pub type Operations = [OperationCounts; MeteredOperation::ALL.len()];

/// The counts of operations in the store: those that there are, by the operations' names.
fn by_name<S: Serializer>(counts: &Operations, to: S) -> Result<S::Ok, S::Error> {
    let named = MeteredOperation::ALL
        .into_iter()
        .map(MeteredOperation::name)
        .zip(counts);
    named
        .filter(|(_, counts)| **counts != OperationCounts::default())
        .collect::<BTreeMap<_, _>>()
        .serialize(to)
}

fn of_names<'de, D: Deserializer<'de>>(from: D) -> Result<Operations, D::Error> {
    let named = BTreeMap::<String, OperationCounts>::deserialize(from)?;
    Ok(MeteredOperation::ALL
        .map(|operation| named.get(operation.name()).copied().unwrap_or_default()))
}

/// What is counted of a table as a whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableCounts {
    /// By the place of the operation in [`MeteredOperation::ALL`]; in the store by its name.
    #[serde(serialize_with = "by_name", deserialize_with = "of_names")]
    pub operations: Operations,
    /// `ConditionalCheckFailedRequests`.
    pub conditional_check_failed: u64,
    /// `TransactionConflict`.
    pub transaction_conflicts: u64,
    /// `TimeToLiveDeletedItemCount`.
    pub time_to_live_deleted: u64,
}

impl TableCounts {
    /// Adds those of another while or process.
    pub fn merge(&mut self, other: &Self) {
        self.operations
            .iter_mut()
            .zip(&other.operations)
            .for_each(|(counts, other)| counts.merge(other));
        self.conditional_check_failed += other.conditional_check_failed;
        self.transaction_conflicts += other.transaction_conflicts;
        self.time_to_live_deleted += other.time_to_live_deleted;
    }
}

/// Counts since the counting began, and those of each of the last minutes in which there were any, oldest first. A minute is
/// its number since the epoch.
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
    pub usage: Series<Usage>,
    /// Of each window, in the order of [`Window::ALL`].
    pub windows: [Usage; 3],
    pub is_local: bool,
    pub billing: Billing,
    pub entries: u64,
    /// With the overhead of each entry.
    pub billed_bytes: u64,
    /// Of an index whose backfill goes on, `OnlineIndex…`.
    pub backfill: Option<IndexProgress>,
}

impl SourceMetrics {
    /// What was asked for in a window.
    #[must_use]
    pub fn within(&self, window: Window) -> &Usage {
        &self.windows[window as usize]
    }

    /// Does the table's own dimension count it: the base and the local indexes?
    #[must_use]
    pub fn is_of_table(&self) -> bool {
        self.index.is_none() || self.is_local
    }

    /// `table`, `gsi` or `lsi`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match (&self.index, self.is_local) {
            (None, _) => "table",
            (Some(_), true) => "lsi",
            (Some(_), false) => "gsi",
        }
    }

    /// Units a second, where they are given in advance.
    #[must_use]
    pub fn provisioned(&self) -> Option<ProvisionedThroughput> {
        match self.billing {
            Billing::Provisioned(units) => Some(units),
            Billing::OnDemand | Billing::WithTable => None,
        }
    }
}

/// How the units of a table or index are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// Each unit that is used.
    OnDemand,
    /// Units a second, used or not.
    Provisioned(ProvisionedThroughput),
    /// Those of a local index are of its table's provisioned ones.
    WithTable,
}

/// The metrics of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetrics {
    pub table: TableName,
    /// The base first, then the indexes in the schema's order.
    pub sources: Vec<SourceMetrics>,
    pub counts: Series<TableCounts>,
    /// When the counting began, milliseconds since the epoch: with the table, or with the process that first counted of it.
    pub since_ms: u64,
}

/// The metrics of everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    pub now_ms: u64,
    pub tables: Vec<TableMetrics>,
    /// `UserErrors`: refused requests, but not throttled ones and failed conditions.
    pub user_errors: u64,
    /// Of the store's log behind the last checkpoint, and seconds since this process made its last one.
    pub log_bytes: u64,
    pub checkpoint_age: Option<f64>,
}

/// How far back load is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    /// Six tens of seconds, the one now included.
    Minute,
    /// 60 minutes, the one now included.
    Hour,
    /// 24 hours, the one now included.
    Day,
}

impl Window {
    /// The shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// As in `heat.hour.tsv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// Seconds that its rates are told by.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.steps().0 as f64 * self.steps().1 as f64 / 1e3
    }

    /// Where it is now: it ends now, and begins with one of its steps.
    #[must_use]
    pub fn span(self, now_ms: u64) -> TimeSpan {
        let (count, step_ms) = self.steps();
        let from_ms = (now_ms / step_ms + 1).saturating_sub(count) * step_ms;
        TimeSpan {
            window: self,
            from_ms,
            to_ms: now_ms,
        }
    }

    /// How many steps, and the milliseconds of one.
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
    pub window: Window,
    pub from_ms: u64,
    pub to_ms: u64,
}

/// Capacity units, both kinds, and requests that were throttled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    pub read: f64,
    pub write: f64,
    pub read_throttles: u64,
    pub write_throttles: u64,
}

impl Load {
    /// `ConsumedThroughputUnits` of Contributor Insights: a write weighs three times a read (docs/dynamodb.md 23.2).
    #[must_use]
    pub fn weight(&self) -> f64 {
        3.0 * self.write + self.read
    }

    /// Throttled requests of both kinds.
    #[must_use]
    pub fn throttles(&self) -> u64 {
        self.read_throttles + self.write_throttles
    }

    /// Was nothing asked for?
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.read += other.read;
        self.write += other.write;
        self.read_throttles += other.read_throttles;
        self.write_throttles += other.write_throttles;
    }
}

/// The second in which most was asked for: limits are by the second, and a mean hides what met them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Busiest {
    /// Since the epoch; 0 when nothing was asked for.
    pub second: u64,
    pub load: Load,
}

impl Busiest {
    /// The heavier of two; what two processes did in the same second is added.
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

/// What was asked for over a while.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WindowLoad {
    pub load: Load,
    pub busiest: Busiest,
}

impl WindowLoad {
    /// Adds that of another while, or of another process.
    pub fn merge(&mut self, other: &Self) {
        self.load.add(&other.load);
        self.busiest.merge(&other.busiest);
    }
}

/// One of the most asked for partition key values, or single items, of a table or index.
#[derive(Debug, Clone, PartialEq)]
pub struct HotKey<K = Vec<AttributeValue>> {
    pub digest: [u8; 16],
    /// `None` when nothing has that key now.
    pub key: Option<K>,
    /// The partition it lies in; the first when its collection spans several.
    pub partition: u32,
    /// Of the window that was asked about.
    pub load: Load,
    /// In that window; not told of single items.
    pub busiest: Busiest,
    /// Of the last day, as [`Window::Day`]; of single items since they are counted.
    pub total: Load,
}

/// Why a partition is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionOrigin {
    /// It was made with its table or index, for the throughput that was asked for.
    Creation,
    /// More throughput was asked for.
    Throughput,
    /// The one before was full.
    Size,
    /// The one before was asked for more than a partition gives.
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

/// What a partition gives (docs/dynamodb.md 22.1, docs/requirements.md P-07).
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
    /// 10 GB, 3,000 and 1,000 units a second.
    fn default() -> Self {
        Self {
            bytes_max: 10 * 1024 * 1024 * 1024,
            read_units_max: 3_000.0,
            write_units_max: 1_000.0,
        }
    }
}

/// A bound of a partition in readable keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundKey {
    pub partition: Vec<AttributeValue>,
    /// The sort key inside the collection; empty for its beginning.
    pub sort: Vec<AttributeValue>,
    /// The bound is just behind the collection.
    pub is_after: bool,
}

/// A partition of a table or global index. Ranges, heat and splits are a model; counts and bytes are facts of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionReport {
    pub id: u32,
    pub range: PlaceRange,
    pub since_ms: u64,
    pub origin: PartitionOrigin,
    /// Of the window that was asked about.
    pub load: Load,
    /// In that window.
    pub busiest: Busiest,
    /// Of its limits over the window, 1 for all.
    pub share: f64,
    /// Of its limits in the busiest second of the window, 1 for all.
    pub busiest_share: f64,
}

/// What lies in a partition, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionContent {
    /// Item collections, or parts of one.
    pub collections: u64,
    pub items: u64,
    /// With overhead; of a base table with its local index entries.
    pub billed_bytes: u64,
}

/// What the next split of a partition would be, were it to be split now.
#[derive(Debug, Clone, PartialEq)]
pub enum SplitCandidate {
    /// There is nothing in it that could be on two sides.
    Single,
    /// One collection, kept together by a local index.
    HeldByLocalIndex,
    /// Its load follows sort keys that grow or fall: a part of it would be as hot again.
    Sequence,
    /// It was split for its load as often as is of use.
    Enough,
    /// Below its limits.
    NotNeeded,
    /// The limit that calls for it.
    Because(PartitionOrigin),
}

/// One of the largest item collections of a table or global index.
#[derive(Debug, Clone, PartialEq)]
pub struct BigCollection {
    /// `None` when it is gone since it was counted.
    pub key: Option<Vec<AttributeValue>>,
    /// The partition it lies in; the first when it spans several.
    pub partition: u32,
    pub items: u64,
    /// With the overhead of each item, and with local index entries.
    pub billed_bytes: u64,
}

/// Requests that were throttled by the same limit of the same partition within a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrottleWarning {
    /// The first of them.
    pub throttled: Throttled,
    pub requests: u64,
    /// Of the first, milliseconds since the epoch.
    pub time_ms: u64,
}

/// An item collection of a table with local indexes that came near its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionWarning {
    pub table: TableName,
    pub partition: AttributeValue,
    /// With overhead and local index entries.
    pub billed_bytes: u64,
    pub bytes_max: u64,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
}
