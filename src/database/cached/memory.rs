//! The two caches: items by key, and whole pages of Query and Scan by request, which writes do not
//! touch. Entries have a time to live, and the least recently used is evicted.
//!
//! A read that missed may return with an item that a write has replaced meanwhile; it must not
//! overwrite the entry of the write. So a read announces its key, a write takes the announcement
//! away, and only a read with a standing announcement fills the cache.

use std::collections::HashMap;
use std::hash::Hash;

use crate::codec::record::{Row, Rows};
use crate::database::bounded::OfBytes;
use crate::database::gather;
use crate::database::prelude::*;
use crate::model::api::{ConsumedCapacity, QueryRequest, ScanRequest};
use crate::model::clock::Clock;

/// The accounted size of an entry beside its item.
const ITEM_OVERHEAD_BYTES: usize = 100;

/// A table, and the key attributes by name.
type Place = (TableName, Item);

#[derive(Debug)]
struct CachedItems {
    /// The cached items; `None` is a known absence.
    entries: Timed<Place, Option<Item>>,
    /// The reads under way, by a unique number.
    fills: HashMap<Place, u64>,
    last_fill: u64,
}

/// A cache of items by key.
#[derive(Debug)]
pub struct ItemCache(Mutex<CachedItems>);

/// The announcement of a read that missed.
#[derive(Debug)]
pub struct Fill {
    place: Place,
    number: u64,
}

/// The result of a lookup.
#[derive(Debug)]
pub enum Cached {
    Hit(Option<Item>),
    Miss(Fill),
}

impl ItemCache {
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        let entries = Timed::new(bytes_max, ttl_ms, clock);
        Self(Mutex::new(CachedItems {
            entries,
            fills: HashMap::new(),
            last_fill: 0,
        }))
    }

    /// Returns hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        self.0.lock().entries.counts()
    }

    pub fn get(&self, table: &TableName, key: &Item) -> Cached {
        let place = (table.clone(), key.clone());
        let mut state = self.0.lock();
        if let Some(item) = state.entries.get(&place) {
            return Cached::Hit(item);
        }
        state.last_fill += 1;
        let number = state.last_fill;
        state.fills.insert(place.clone(), number);
        Cached::Miss(Fill { place, number })
    }

    /// Fills the cache with the result of a read that missed, unless a write came between.
    pub fn fill(&self, fill: Fill, item: Option<Item>) {
        let mut state = self.0.lock();
        if state.end(&fill) {
            state.hold(fill.place, item);
        }
    }

    /// Ends a read that missed and then failed.
    pub fn abandon(&self, fill: &Fill) {
        self.0.lock().end(fill);
    }

    /// Caches the item, or the absence, that a write left.
    pub fn written(&self, table: &TableName, key: Item, item: Option<Item>) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        state.fills.remove(&place);
        state.hold(place, item);
    }

    /// Invalidates an item that a write changed to an unknown state.
    pub fn forget(&self, table: &TableName, key: Item) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        state.fills.remove(&place);
        state.entries.remove(&place);
    }

    /// Invalidates all items of a table.
    pub fn forget_table(&self, table: &TableName) {
        let mut state = self.0.lock();
        state.fills.retain(|(of, _), _| of != table);
        state.entries.retain(|(of, _), _| of != table);
    }
}

impl CachedItems {
    /// Ends a read; returns true if its announcement still stands: no later read of the same key
    /// and no write replaced it.
    fn end(&mut self, fill: &Fill) -> bool {
        let stands = self.fills.get(&fill.place) == Some(&fill.number);
        if stands {
            self.fills.remove(&fill.place);
        }
        stands
    }

    fn hold(&mut self, place: Place, item: Option<Item>) {
        let bytes = ITEM_OVERHEAD_BYTES + place.1.size() + item.as_ref().map_or(0, Item::size);
        self.entries.put(place, item, bytes);
    }
}

/// The accounted size of an answer beside the values of its items and of its request.
const ANSWER_OVERHEAD_BYTES: usize = 1000;

type Answer = (Vec<Item>, Page);

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
    answers: Mutex<Timed<PageKey, Arc<Answer>>>,
    is_on: bool,
}

impl PageCache {
    /// Creates a cache of answers with this time to live; 0 disables it.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            answers: Mutex::new(Timed::new(bytes_max, ttl_ms, clock)),
            is_on: ttl_ms > 0,
        }
    }

    /// Returns hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        self.answers.lock().counts()
    }

    /// Returns the page of a request: from the cache, or by `read`.
    ///
    /// # Errors
    /// Those of `read`; failures are not cached.
    pub fn page(
        &self,
        request: PageKey,
        rows: &mut Rows<'_>,
        read: impl Fn(&mut Rows<'_>) -> Result<Page, Error>,
    ) -> Result<Page, Error> {
        if !self.is_on {
            return read(rows);
        }
        let held = self.answers.lock().get(&request);
        if let Some(answer) = held {
            let (items, page) = &*answer;
            items.iter().for_each(|item| rows(Row::Item(item)));
            // A hit consumes no units of the table.
            return Ok(Page {
                consumed_capacity: ConsumedCapacity::default(),
                ..page.clone()
            });
        }
        // Items are collected because a row lives only while it is visited.
        let (items, page) = gather(&mut |keep| {
            read(&mut |row| {
                keep(row);
                rows(row);
            })
        })?;
        let bytes = ANSWER_OVERHEAD_BYTES
            + request.value_bytes()
            + items.iter().map(Item::size).sum::<usize>();
        self.answers
            .lock()
            .put(request, Arc::new((items, page.clone())), bytes);
        Ok(page)
    }

    /// Invalidates all pages of a table.
    pub fn forget_table(&self, table: &TableName) {
        self.answers
            .lock()
            .retain(|_, answer| answer.1.table_name != *table);
    }
}

/// An LRU map with a time to live: entries with the time of their insertion, and counters of hits
/// and misses.
#[derive(Debug)]
pub struct Timed<K: Hash + Eq, V> {
    entries: OfBytes<K, (V, u64)>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    hits: u64,
    misses: u64,
}

impl<K: Hash + Eq, V: Clone> Timed<K, V> {
    /// Creates a map with this time to live; 0 means until eviction.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self {
            entries: OfBytes::new(bytes_max),
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

    /// Removes the entries for which `stays` is false.
    pub fn retain(&mut self, stays: impl Fn(&K, &V) -> bool) {
        self.entries.retain(|key, (value, _)| stays(key, value));
    }
}
