//! The trait [`Layout`]: facts that only a database with the data at hand can tell, which are
//! metrics, capacity, partitions and heat. `local::layout` implements it by measurement and model,
//! `remote::budget` by its own counts.

use super::entries::{EntryKey, SourceName};
use crate::model::Error;
use crate::model::TableName;
use crate::model::metrics::{
    AccessPattern, BoundKey, CollectionWarning, HotKey, LargeCollection, Metrics, PartitionContent,
    PartitionLimits, PartitionReport, Period, SplitCandidate, ThrottleWarning, TimeSpan,
};
use crate::model::prices::{MountSpending, PriceTable};

pub const PARTITIONS_UNAVAILABLE: Error = Error::Unavailable(
    "the service does not tell of its partitions; pull the table with `ddbfs pull` and look at the model of them in a local mount",
);

/// Metrics and the physical layout: the real one where the database knows it, otherwise a model of
/// DynamoDB's. A database that knows neither refuses.
pub trait Layout: Send + Sync {
    /// Returns the metrics of these tables, in this order, without tables that do not exist.
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error>;

    /// Returns the metrics of all tables.
    fn all_metrics(&self) -> Result<Metrics, Error>;

    /// Returns the cost spent at a remote service and its limit; `None` if the data is local.
    fn spent(&self) -> Option<MountSpending> {
        None
    }

    /// Returns the prices for cost estimates.
    fn prices(&self) -> &PriceTable;

    /// Counts a request that was refused before it reached the database.
    fn count_user_error(&self) {}

    /// Returns the limits of one partition.
    fn partition_limits(&self) -> PartitionLimits {
        PartitionLimits::default()
    }

    /// Returns the size limit of an item collection in a table with local indexes, in bytes.
    fn collection_bytes_max(&self) -> u64 {
        PartitionLimits::default().bytes_max
    }

    /// Returns the last warnings of item collections near their limit, oldest first.
    fn collection_warnings(&self) -> Vec<CollectionWarning> {
        Vec::new()
    }

    /// Returns the last warnings of throttled requests, oldest first.
    fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        Vec::new()
    }

    /// Returns a time window by the database's clock.
    fn time_span(&self, window: Period) -> TimeSpan;

    /// Returns the partitions of a table or index in the order of the hash space, with their load
    /// in a window. A local index shares its table's partitions.
    fn partitions(
        &self,
        _source: &SourceName,
        _window: Period,
    ) -> Result<Vec<PartitionReport>, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Returns the number of the partition in which an entry lies or would lie.
    fn partition_of_entry(&self, _source: &SourceName, _key: &EntryKey) -> Result<u32, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Counts the content of a partition, and decides if it would be split.
    fn partition_content(
        &self,
        _source: &SourceName,
        _partition: &PartitionReport,
    ) -> Result<(PartitionContent, SplitCandidate), Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Returns the key at a bound of a partition, as splits between and inside item collections
    /// make bounds; `None` if no entry has it.
    fn bound_key(&self, _source: &SourceName, _place: &[u8]) -> Result<Option<BoundKey>, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Returns the partition keys with the most requests in a window, the hottest first.
    fn hot_keys(
        &self,
        _source: &SourceName,
        _window: Period,
        _count: usize,
    ) -> Result<Vec<HotKey>, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Returns the single items, by partition and sort key, with the most requests since
    /// contributor insights were enabled, the hottest first; `None` while they are not enabled, or
    /// if there is no sort key.
    fn hot_items(
        &self,
        _source: &SourceName,
        _count: usize,
    ) -> Result<Option<Vec<HotKey<EntryKey>>>, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }

    /// Returns the access patterns of a table, by the units of the last day.
    fn access_patterns(&self, _table: &TableName) -> Result<Vec<AccessPattern>, Error> {
        Err(Error::Unavailable(
            "access patterns are counted where the data is: the service does not tell of them, and a mount sees only its own requests",
        ))
    }

    /// Returns the largest item collections, the largest first.
    fn big_collections(
        &self,
        _source: &SourceName,
        _count: usize,
    ) -> Result<Vec<LargeCollection>, Error> {
        Err(PARTITIONS_UNAVAILABLE)
    }
}
