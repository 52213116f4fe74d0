//! A write-through cache before a database with the staleness of DAX, so that a test sees what an
//! application sees that reads through DAX (docs/dynamodb.md 23.4, docs/requirements.md S-01).
//! `caches` has the two caches.
//!
//! | | item cache | query cache |
//! |---|---|---|
//! | holds | results of GetItem and BatchGetItem by key, also absent items | whole answers of Query and Scan, by request |
//! | written through | by the writes that pass here | by none: an answer stays until its time is over |
//! | not seen | writes that went elsewhere: the mount, another process, PartiQL | every write |
//! | passed by | ConsistentRead, TransactGetItems, PartiQL | ConsistentRead |
//!
//! A hit consumes no capacity. It is no faster than the database beneath, which reads from memory.

mod caches;

use super::layout::Layout;
use super::prelude::*;
use super::{BatchRowSink, Browse, CacheCounters, Completion, RowSink};
use crate::codec::record::ResultRow;
use crate::expr::normal_form::{accesses, parts};
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, Call, ConsumedCapacity, GetItemRequest, GetItemResponse,
    ItemAccess, ItemEffect, QueryRequest, ScanRequest, TableKeys,
};
use crate::model::clock::Clock;
use caches::{ItemCache, ItemLookup, PageCache, PageKey};

/// The default of `record-ttl-millis` and `query-ttl-millis` of a DAX parameter group.
pub const TTL_MS_DEFAULT: u64 = 300_000;
/// The default size of each of the two caches, in DynamoDB bytes.
pub const CACHE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// The settings of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// The time to live of an item in milliseconds; 0 means until eviction.
    pub item_ttl_ms: u64,
    /// The time to live of an answer of Query or Scan in milliseconds; 0 disables the query cache.
    pub query_ttl_ms: u64,
    /// The size of the item cache, and again of the query cache; the least recently used entry is
    /// evicted first.
    pub bytes: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            item_ttl_ms: TTL_MS_DEFAULT,
            query_ttl_ms: TTL_MS_DEFAULT,
            bytes: CACHE_BYTES_DEFAULT,
        }
    }
}

/// A database behind an item cache and a query cache; see the module.
pub struct CachedDatabase {
    inner: Arc<dyn Browse>,
    items: Arc<ItemCache>,
    pages: PageCache,
}

opaque_debug!(CachedDatabase);

impl CachedDatabase {
    /// Creates a cache before `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Browse>, options: CacheOptions, clock: Arc<dyn Clock>) -> Self {
        let items = Arc::new(ItemCache::new(
            options.bytes,
            options.item_ttl_ms,
            Arc::clone(&clock),
        ));
        Self {
            inner,
            items,
            pages: PageCache::new(options.bytes, options.query_ttl_ms, clock),
        }
    }

    /// Returns hits and misses since the cache was created.
    #[must_use]
    pub fn counters(&self) -> CacheCounters {
        let ((item_hits, item_misses), (query_hits, query_misses)) =
            (self.items.counts(), self.pages.counts());
        CacheCounters {
            item_hits,
            item_misses,
            query_hits,
            query_misses,
        }
    }
}

/// The state of an item after a write: the item, or its absence.
struct AfterImage(Option<Item>);

/// A write of an item that may be cached.
struct CachedWrite {
    table: TableName,
    /// The key attributes by name; `None` if the table's key could not be read, so that the item may be
    /// any of the table.
    key: Option<Item>,
    left: Option<AfterImage>,
}

impl Database for CachedDatabase {
    fn start(&self, call: Call) {
        match call {
            Call::GetItem(request, done) => self.get(request, done),
            Call::CreateTable(request, done) => {
                // A table of that name may have been dropped past this cache; its items would
                // appear in the new table.
                self.invalidate_table(&request.table_name);
                self.inner.start(Call::CreateTable(request, done));
            }
            Call::DeleteTable(request, done) => {
                let table = request.table_name.clone();
                let deleted = self.inner.delete_table(request);
                // After the delete, which also voids the reads under way: invalidated earlier, they
                // would leave items of a deleted table.
                self.invalidate_table(&table);
                done.complete(deleted);
            }
            call => match self.written_items(&call) {
                written if written.is_empty() => self.inner.start(call),
                written => self.write(call, written),
            },
        }
    }

    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        if request.fault.is_some() {
            return self.inner.batch_get_rows(request, rows);
        }
        let mut uncached = BatchGetItemRequest {
            request_items: Vec::new(),
            ..request.clone()
        };
        // For each table with misses: its index in the request, and the misses.
        let mut places: Vec<(usize, Vec<(Item, u64)>)> = Vec::new();
        let mut has_room = true;
        let mut left_over = vec![Vec::new(); request.request_items.len()];
        for (place, table) in request.request_items.iter().enumerate() {
            let passes = table.consistent_read
                || table.projection_expression.is_some()
                || table.attributes_to_get.is_some();
            let (mut keys, mut misses) = (Vec::new(), Vec::new());
            for key in &table.keys {
                if !has_room {
                    left_over[place].push(key.clone());
                    continue;
                }
                let cached = if passes {
                    None
                } else {
                    Some(self.items.get(&table.table_name, key))
                };
                match cached {
                    Some(ItemLookup::Hit(Some(item))) => {
                        has_room = rows(place, ResultRow::Item(&item))
                    }
                    Some(ItemLookup::Hit(None)) => {}
                    Some(ItemLookup::Miss(writes)) => {
                        keys.push(key.clone());
                        misses.push((key.clone(), writes));
                    }
                    None => keys.push(key.clone()),
                }
            }
            if !keys.is_empty() {
                uncached.request_items.push(TableKeys {
                    keys,
                    ..table.clone()
                });
                places.push((place, misses));
            }
        }
        let tables = request.request_items.len();
        let mut answer = BatchGetItemPage {
            unprocessed_keys: left_over,
            consumed_capacity: vec![ConsumedCapacity::default(); tables],
        };
        if uncached.request_items.is_empty() {
            return Ok(answer);
        }
        let mut found: Vec<Vec<Item>> = vec![Vec::new(); places.len()];
        let mut failed = None;
        let page = self.inner.batch_get_rows(&uncached, &mut |at, row| {
            let Some((place, misses)) = places.get(at) else {
                return true;
            };
            if !misses.is_empty() {
                match row.to_item() {
                    Ok(item) => found[at].push(item),
                    Err(error) => failed = Some(error),
                }
            }
            rows(*place, row)
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        for (at, (place, misses)) in places.into_iter().enumerate() {
            let table = &uncached.request_items[at].table_name;
            let unprocessed = &page.unprocessed_keys[at];
            for (key, writes) in misses {
                if unprocessed.contains(&key) {
                    continue;
                }
                let is_it = |item: &&Item| {
                    key.0
                        .iter()
                        .all(|(name, value)| item.get(name) == Some(value))
                };
                let item = found[at].iter().find(is_it).cloned();
                self.items.fill(table, key, writes, item);
            }
            answer.unprocessed_keys[place].extend_from_slice(unprocessed);
            answer.consumed_capacity[place] = page.consumed_capacity[at].clone();
        }
        Ok(answer)
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        if request.consistent_read {
            return self.inner.query_rows(request, rows);
        }
        self.pages
            .page(PageKey::Query(request.clone()), rows, |rows| {
                self.inner.query_rows(request, rows)
            })
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        if request.consistent_read {
            return self.inner.scan_rows(request, rows);
        }
        self.pages
            .page(PageKey::Scan(request.clone()), rows, |rows| {
                self.inner.scan_rows(request, rows)
            })
    }

    fn layout(&self) -> Option<&dyn Layout> {
        self.inner.layout()
    }

    fn cache_counters(&self) -> Option<CacheCounters> {
        Some(self.counters())
    }
}

impl CachedDatabase {
    /// Returns the key attributes of an item by name; `None` if there is no such table, or if the item
    /// lacks its key: the database refuses the write.
    fn key_of(&self, table: &TableName, item: &Item) -> Result<Option<Item>, Error> {
        let Some(schema) = self.inner.schema(table)? else {
            return Ok(None);
        };
        Ok(item.key(&schema.key).map(|key| key.to_item(&schema.key)))
    }

    /// Starts a write. The item cache is updated before the caller gets the outcome and reads here.
    fn write(&self, call: Call, written: Vec<CachedWrite>) {
        let items = Arc::clone(&self.items);
        self.inner.start(call.heard(move |failure| {
            for CachedWrite { table, key, left } in written {
                match (key, left) {
                    (Some(key), Some(AfterImage(item))) if failure.is_none() => {
                        items.put(&table, key, item)
                    }
                    // A failed write may have been applied all the same: an absent entry is never
                    // stale.
                    (Some(key), _) => items.invalidate(&table, key),
                    (None, _) => items.invalidate_table(&table),
                }
            }
        }));
    }

    /// Returns the keys of the items that a call writes, and the state it leaves of each if that is
    /// known.
    fn written_items(&self, call: &Call) -> Vec<CachedWrite> {
        // The unprocessed part of a batch is known only from the answer, too late for the callback:
        // of several writes, entries are only invalidated.
        let is_one = matches!(call, Call::PutItem(..) | Call::DeleteItem(..));
        let written = |write: ItemAccess<'_>| {
            let (key, left) = match write.effect {
                ItemEffect::Read => return None,
                ItemEffect::Put => (
                    self.key_of(write.table, write.item).transpose()?.ok(),
                    Some(AfterImage(Some(write.item.clone()))),
                ),
                ItemEffect::Delete => (Some(write.item.clone()), Some(AfterImage(None))),
                ItemEffect::Update => (Some(write.item.clone()), None),
            };
            Some(CachedWrite {
                table: write.table.clone(),
                key,
                left: left.filter(|_| is_one),
            })
        };
        let accesses = accesses(&parts(call)).into_iter();
        accesses.filter_map(written).collect()
    }

    /// Answers a GetItem. A read of some attributes bypasses the cache, which holds whole items.
    fn get(&self, request: GetItemRequest, done: Completion<GetItemResponse>) {
        if request.consistent_read
            || request.projection_expression.is_some()
            || request.attributes_to_get.is_some()
        {
            return self.inner.start(Call::GetItem(request, done));
        }
        let writes = match self.items.get(&request.table_name, &request.key) {
            ItemLookup::Hit(item) => {
                return done.complete(Ok(GetItemResponse {
                    item,
                    consumed_capacity: ConsumedCapacity::default(),
                }));
            }
            ItemLookup::Miss(writes) => writes,
        };
        let (items, table, key) = (
            Arc::clone(&self.items),
            request.table_name.clone(),
            request.key.clone(),
        );
        let filled = done.after(move |outcome: Result<GetItemResponse, Error>| {
            outcome.inspect(|response| items.fill(&table, key, writes, response.item.clone()))
        });
        self.inner.start(Call::GetItem(request, filled));
    }

    fn invalidate_table(&self, table: &TableName) {
        self.items.invalidate_table(table);
        self.pages.invalidate_table(table);
    }
}
