//! A cache before a database, with the staleness of DAX: to see in a test what an application would see that reads through one
//! (docs/dynamodb.md 23.4, docs/requirements.md S-01).
//!
//! | | item cache | query cache |
//! |---|---|---|
//! | holds | what GetItem and BatchGetItem found by key, also that there is nothing | whole answers of Query and Scan, by request |
//! | written through | by the writes that pass here | by none: an answer stays until its time is over |
//! | not seen | writes that went elsewhere: the mount, another process, PartiQL | every write |
//! | passed by | ConsistentRead, TransactGetItems, PartiQL | ConsistentRead |
//!
//! What is answered from here consumes no capacity. It is no faster than the database beneath, which reads from memory.

mod items;
mod pages;
mod passed;
mod timed;

use std::sync::Arc;

use items::ItemCache;
use pages::PageCache;

use crate::database::{Browse, CacheCounters};
use crate::model::clock::Clock;

/// `record-ttl-millis` and `query-ttl-millis` of a DAX parameter group.
pub const TTL_MS_DEFAULT: u64 = 300_000;
/// DynamoDB bytes that each of the two caches holds.
pub const CACHE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// How a cache behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// How long an item is good, milliseconds; 0 is until it is pushed out.
    pub item_ttl_ms: u64,
    /// How long an answer of Query or Scan is good, milliseconds; 0 is not at all.
    pub query_ttl_ms: u64,
    /// Of the item cache, and again of the query cache; the least recently used goes first.
    pub bytes: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { item_ttl_ms: TTL_MS_DEFAULT, query_ttl_ms: TTL_MS_DEFAULT, bytes: CACHE_BYTES_DEFAULT }
    }
}

/// See the module.
pub struct CachedDatabase {
    inner: Arc<dyn Browse>,
    items: Arc<ItemCache>,
    pages: PageCache,
}

impl std::fmt::Debug for CachedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CachedDatabase").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

impl CachedDatabase {
    /// A cache before `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Browse>, options: CacheOptions, clock: Arc<dyn Clock>) -> Self {
        let items = Arc::new(ItemCache::new(options.bytes, options.item_ttl_ms, Arc::clone(&clock)));
        Self { inner, items, pages: PageCache::new(options.bytes, options.query_ttl_ms, clock) }
    }

    /// Since it was made.
    #[must_use]
    pub fn counters(&self) -> CacheCounters {
        let ((item_hits, item_misses), (query_hits, query_misses)) = (self.items.counts(), self.pages.counts());
        CacheCounters { item_hits, item_misses, query_hits, query_misses }
    }
}
