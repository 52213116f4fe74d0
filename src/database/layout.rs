//! What only a database can tell that stores the data itself: metrics, capacity, partitions and heat.

use std::sync::Arc;

use super::caller::Caller;
use super::entries::{EntryKey, PartitionKey, Source};
use crate::model::Error;
use crate::model::TableName;
use crate::model::layout::{
    BigCollection, BoundKey, CollectionWarning, HotKey, Metrics, PartitionContent, PartitionLimits,
    PartitionReport, SplitCandidate, ThrottleWarning, TimeSpan, Window,
};
use crate::model::prices::{PriceTable, Spent};

pub const PARTITIONS: Error = Error::Unavailable(
    "the service does not tell of its partitions; pull the table with `ddbfs pull` and look at the model of them in a local mount",
);

/// Metrics and the physical layout, as far as it is real, and the model of DynamoDB's where it is not. What is
/// known of neither is refused.
pub trait Layout: Send + Sync {
    /// The same, asked for a caller who may give up; as [`super::Database::for_caller`].
    fn for_caller(&self, _caller: &Caller) -> Option<Arc<dyn Layout>> {
        None
    }

    /// The metrics of these tables, in this order; those that are not there are left out.
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error>;

    /// The metrics of all tables.
    fn all_metrics(&self) -> Result<Metrics, Error>;

    /// What was spent of a service elsewhere, and what may be; `None` where the data is here.
    fn spent(&self) -> Option<Spent> {
        None
    }

    /// The prices to tell costs by.
    fn prices(&self) -> &PriceTable;

    /// Counts a request that was refused before it came to the database.
    fn count_user_error(&self) {}

    /// What a partition gives.
    fn partition_limits(&self) -> PartitionLimits {
        PartitionLimits::default()
    }

    /// Bytes of an item collection of a table with local indexes.
    fn collection_bytes_max(&self) -> u64 {
        PartitionLimits::default().bytes_max
    }

    /// The last warnings of item collections near their limit, oldest first.
    fn collection_warnings(&self) -> Vec<CollectionWarning> {
        Vec::new()
    }

    /// The last warnings of throttled requests, oldest first.
    fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        Vec::new()
    }

    /// A window in time, by the database's clock.
    fn span(&self, window: Window) -> TimeSpan;

    /// The partitions of a table or index in the order of the hash space, with their load in a window. Those of a local index are its
    /// table's.
    fn partitions(&self, _source: &Source, _window: Window) -> Result<Vec<PartitionReport>, Error> {
        Err(PARTITIONS)
    }

    /// The number of the partition where the collection of a partition key begins, whether or not it has items.
    fn partition_of(&self, _source: &Source, _key: &PartitionKey) -> Result<u32, Error> {
        Err(PARTITIONS)
    }

    /// The number of the partition in which an entry lies, or would lie.
    fn partition_of_entry(&self, _source: &Source, _key: &EntryKey) -> Result<u32, Error> {
        Err(PARTITIONS)
    }

    /// Counts what lies in a partition, and says whether it would be split.
    fn partition_content(
        &self,
        _source: &Source,
        _partition: &PartitionReport,
    ) -> Result<(PartitionContent, SplitCandidate), Error> {
        Err(PARTITIONS)
    }

    /// The key at a bound of a partition, as splits beside and inside collections make them; `None` where nothing has it.
    fn bound_key(&self, _source: &Source, _place: &[u8]) -> Result<Option<BoundKey>, Error> {
        Err(PARTITIONS)
    }

    /// The partition keys asked for most in a window, the hottest first; those alone that something was asked of in it.
    fn hot_keys(
        &self,
        _source: &Source,
        _window: Window,
        _count: usize,
    ) -> Result<Vec<HotKey>, Error> {
        Err(PARTITIONS)
    }

    /// The single items, of partition and sort key, asked for most since contributor insights were enabled, the hottest first; `None`
    /// while they are not enabled, or there is no sort key.
    fn hot_items(
        &self,
        _source: &Source,
        _count: usize,
    ) -> Result<Option<Vec<HotKey<EntryKey>>>, Error> {
        Err(PARTITIONS)
    }

    /// The largest item collections, the largest first.
    fn big_collections(
        &self,
        _source: &Source,
        _count: usize,
    ) -> Result<Vec<BigCollection>, Error> {
        Err(PARTITIONS)
    }
}
