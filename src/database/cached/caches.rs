//! The two caches of the parent module, both LRU with a time to live: items by key, and whole pages
//! of Query and Scan by request, which writes do not touch.
//!
//! A read that missed may return with an item that a write has replaced meanwhile; it must not
//! overwrite the entry of the write. So writes are counted, in a few slots by the digest of the key,
//! and a read fills the cache only if the count of its slot is still the one of its beginning.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};

use crate::codec::record::{ResultRow, RowSink};
use crate::database::collect_page;
use crate::database::lru_map::ByteLruMap;
use crate::database::prelude::*;
use crate::model::api::{ConsumedCapacity, QueryRequest, ScanRequest};
use crate::model::clock::Clock;

/// The accounted size of an entry beside its item.
const ITEM_OVERHEAD_BYTES: usize = 100;
/// The slots in which writes are counted: one for each value of a byte.
const WRITE_SLOTS: usize = 256;

/// A table, and the key attributes by name.
type ItemCacheKey = (TableName, Item);

#[derive(Debug)]
struct ItemCacheState {
    /// The cached items; `None` is a known absence.
    entries: TtlLruMap<ItemCacheKey, Option<Item>>,
    /// The numbers of writes so far.
    writes: [u64; WRITE_SLOTS],
}

/// A cache of items by key.
#[derive(Debug)]
pub struct ItemCache(Mutex<ItemCacheState>);

/// The result of a lookup.
#[derive(Debug)]
pub enum ItemLookup {
    Hit(Option<Item>),
    /// The number of writes before the read.
    Miss(u64),
}

impl ItemCache {
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        let entries = TtlLruMap::new(bytes_max, ttl_ms, clock);
        Self(Mutex::new(ItemCacheState {
            entries,
            writes: [0; WRITE_SLOTS],
        }))
    }

    /// Returns hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        self.0.lock().entries.counts()
    }

    pub fn get(&self, table: &TableName, key: &Item) -> ItemLookup {
        let place = (table.clone(), key.clone());
        let mut state = self.0.lock();
        match state.entries.get(&place) {
            Some(item) => ItemLookup::Hit(item),
            None => ItemLookup::Miss(*state.writes_of(&place)),
        }
    }

    /// Fills the cache with the result of a read that missed, unless a write came between.
    pub fn fill(&self, table: &TableName, key: Item, writes: u64, item: Option<Item>) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        if *state.writes_of(&place) == writes {
            state.insert(place, item);
        }
    }

    /// Caches the item, or the absence, that a write left.
    pub fn put(&self, table: &TableName, key: Item, item: Option<Item>) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        *state.writes_of(&place) += 1;
        state.insert(place, item);
    }

    /// Invalidates an item that a write changed to an unknown state.
    pub fn invalidate(&self, table: &TableName, key: Item) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        *state.writes_of(&place) += 1;
        state.entries.remove(&place);
    }

    /// Invalidates all items of a table.
    pub fn invalidate_table(&self, table: &TableName) {
        let mut state = self.0.lock();
        state.writes.iter_mut().for_each(|writes| *writes += 1);
        state.entries.retain(|(of, _), _| of != table);
    }
}

impl ItemCacheState {
    /// Returns the number of writes of an item and the others in its slot.
    fn writes_of(&mut self, place: &ItemCacheKey) -> &mut u64 {
        let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(place);
        &mut self.writes[usize::from(hash.to_le_bytes()[0])]
    }

    fn insert(&mut self, place: ItemCacheKey, item: Option<Item>) {
        let bytes = ITEM_OVERHEAD_BYTES + place.1.size() + item.as_ref().map_or(0, Item::size);
        self.entries.put(place, item, bytes);
    }
}

/// The accounted size of an answer beside the values of its items and of its request.
const PAGE_OVERHEAD_BYTES: usize = 1000;

type CachedPage = (Vec<Item>, Page);

/// The request of a page. Equal requests share one entry: the structs are compared, not their text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageKey {
    Query(QueryRequest),
    Scan(ScanRequest),
}

impl PageKey {
    /// Returns the DynamoDB bytes of the values in the request.
    fn value_bytes(&self) -> usize {
        let (placeholders, start) = match self {
            Self::Query(request) => (&request.placeholders, &request.exclusive_start_key),
            Self::Scan(request) => (&request.placeholders, &request.exclusive_start_key),
        };
        let values = placeholders
            .values
            .iter()
            .flatten()
            .map(|(_, value)| value.size());
        values.sum::<usize>() + start.as_ref().map_or(0, Item::size)
    }
}

/// A cache of answers of Query and Scan.
#[derive(Debug)]
pub struct PageCache {
    pages: Mutex<TtlLruMap<PageKey, Arc<CachedPage>>>,
    is_on: bool,
}

impl PageCache {
    /// Creates a cache of answers with this time to live; 0 disables it.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            pages: Mutex::new(TtlLruMap::new(bytes_max, ttl_ms, clock)),
            is_on: ttl_ms > 0,
        }
    }

    /// Returns hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        self.pages.lock().counts()
    }

    /// Returns the page of a request: from the cache, or by `read`.
    ///
    /// # Errors
    /// Those of `read`; failures are not cached.
    pub fn page(
        &self,
        request: PageKey,
        rows: &mut RowSink<'_>,
        read: impl Fn(&mut RowSink<'_>) -> Result<Page, Error>,
    ) -> Result<Page, Error> {
        if !self.is_on {
            return read(rows);
        }
        let held = self.pages.lock().get(&request);
        if let Some(answer) = held {
            let (items, page) = &*answer;
            items.iter().for_each(|item| rows(ResultRow::Item(item)));
            // A hit consumes no units of the table.
            return Ok(Page {
                consumed_capacity: ConsumedCapacity::default(),
                ..page.clone()
            });
        }
        // Items are collected because a row lives only while it is visited.
        let (items, page) = collect_page(&mut |keep| {
            read(&mut |row| {
                keep(row);
                rows(row);
            })
        })?;
        let bytes = PAGE_OVERHEAD_BYTES
            + request.value_bytes()
            + items.iter().map(Item::size).sum::<usize>();
        self.pages
            .lock()
            .put(request, Arc::new((items, page.clone())), bytes);
        Ok(page)
    }

    /// Invalidates all pages of a table.
    pub fn invalidate_table(&self, table: &TableName) {
        self.pages
            .lock()
            .retain(|_, answer| answer.1.table_name != *table);
    }
}

/// An LRU map with a time to live: entries with the time of their insertion, and counters of hits
/// and misses.
#[derive(Debug)]
pub struct TtlLruMap<K: Hash + Eq, V> {
    entries: ByteLruMap<K, (V, u64)>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    hits: u64,
    misses: u64,
}

impl<K: Hash + Eq, V: Clone> TtlLruMap<K, V> {
    /// Creates a map with this time to live; 0 means until eviction.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            entries: ByteLruMap::new(bytes_max),
            ttl_ms,
            clock,
            hits: 0,
            misses: 0,
        }
    }

    /// Returns hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// Returns an entry that has not expired.
    pub fn get(&mut self, key: &K) -> Option<V> {
        let now_ms = self.clock.now_ms();
        let is_good =
            |since_ms: u64| self.ttl_ms == 0 || now_ms < since_ms.saturating_add(self.ttl_ms);
        let found = self
            .entries
            .get(key)
            .filter(|(_, since_ms)| is_good(*since_ms))
            .map(|(value, _)| value.clone());
        match &found {
            Some(_) => self.hits += 1,
            None => {
                self.misses += 1;
                self.entries.remove(key);
            }
        }
        found
    }

    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        self.entries.put(key, (value, self.clock.now_ms()), bytes);
    }

    pub fn remove(&mut self, key: &K) {
        self.entries.remove(key);
    }

    /// Removes the entries for which `is_kept` is false.
    pub fn retain(&mut self, is_kept: impl Fn(&K, &V) -> bool) {
        self.entries.retain(|key, (value, _)| is_kept(key, value));
    }
}
