//! The item cache.
//!
//! A read that missed may come back with an item that a write has replaced meanwhile; it must not overwrite what the write left here.
//! So a read announces its key, a write takes the announcement away, and only a read whose announcement still stands is kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use crate::engine::clock::Clock;
use crate::model::{Item, TableName};

/// Counted for an entry beside its item.
const ENTRY_OVERHEAD_BYTES: usize = 100;

/// Table, and the key attributes by name.
type Place = (TableName, Item);

#[derive(Debug)]
struct Entry {
    /// `None`: there is no such item.
    item: Option<Item>,
    bytes: usize,
    stored_ms: u64,
}

#[derive(Debug)]
struct CachedItems {
    entries: LruCache<Place, Entry>,
    bytes: usize,
    /// Reads under way, by a number of their own.
    fills: HashMap<Place, u64>,
    last_fill: u64,
}

/// Items by key, the least recently used pushed out.
#[derive(Debug)]
pub struct ItemCache {
    state: Mutex<CachedItems>,
    bytes_max: usize,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A read that missed.
#[derive(Debug)]
pub struct Fill {
    place: Place,
    number: u64,
}

/// What the cache knows of an item.
#[derive(Debug)]
pub enum Cached {
    Hit(Option<Item>),
    Miss(Fill),
}

impl ItemCache {
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        // Bounded by bytes, in `CachedItems::insert`, not by number.
        let state = CachedItems { entries: LruCache::unbounded(), bytes: 0, fills: HashMap::new(), last_fill: 0 };
        Self { state: Mutex::new(state), bytes_max, ttl_ms, clock, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    pub fn get(&self, table: &TableName, key: &Item) -> Cached {
        let place = (table.clone(), key.clone());
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get(&place)
            && (self.ttl_ms == 0 || now_ms < entry.stored_ms.saturating_add(self.ttl_ms))
        {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Cached::Hit(entry.item.clone());
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        state.remove(&place);
        state.last_fill += 1;
        let number = state.last_fill;
        state.fills.insert(place.clone(), number);
        Cached::Miss(Fill { place, number })
    }

    /// The read of a miss ended with this.
    pub fn fill(&self, fill: Fill, item: Option<Item>) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        // A later read of the same key stands for this one, a write has taken it away.
        if state.fills.get(&fill.place) == Some(&fill.number) {
            state.fills.remove(&fill.place);
            state.insert(fill.place, item, now_ms, self.bytes_max);
        }
    }

    /// The read of a miss failed.
    pub fn abandon(&self, fill: &Fill) {
        let mut state = self.state.lock();
        if state.fills.get(&fill.place) == Some(&fill.number) {
            state.fills.remove(&fill.place);
        }
    }

    /// A write left this item, or none.
    pub fn written(&self, table: &TableName, key: Item, item: Option<Item>) {
        let now_ms = self.clock.now_ms();
        let place = (table.clone(), key);
        let mut state = self.state.lock();
        state.fills.remove(&place);
        state.insert(place, item, now_ms, self.bytes_max);
    }

    /// A write changed the item to something that is not known here.
    pub fn forget(&self, table: &TableName, key: Item) {
        let place = (table.clone(), key);
        let mut state = self.state.lock();
        state.fills.remove(&place);
        state.remove(&place);
    }

    /// The table is gone.
    pub fn forget_table(&self, table: &TableName) {
        let mut state = self.state.lock();
        state.fills.retain(|(of, _), _| of != table);
        let places: Vec<Place> = state.entries.iter().filter(|((of, _), _)| of == table).map(|(place, _)| place.clone()).collect();
        for place in places {
            state.remove(&place);
        }
    }
}

impl CachedItems {
    fn insert(&mut self, place: Place, item: Option<Item>, now_ms: u64, bytes_max: usize) {
        let bytes = ENTRY_OVERHEAD_BYTES + place.1.size() + item.as_ref().map_or(0, Item::size);
        self.bytes += bytes;
        if let Some((_, old)) = self.entries.push(place, Entry { item, bytes, stored_ms: now_ms }) {
            self.bytes -= old.bytes;
        }
        while self.bytes > bytes_max
            && let Some((_, old)) = self.entries.pop_lru()
        {
            self.bytes -= old.bytes;
        }
    }

    fn remove(&mut self, place: &Place) {
        if let Some(old) = self.entries.pop(place) {
            self.bytes -= old.bytes;
        }
    }
}
