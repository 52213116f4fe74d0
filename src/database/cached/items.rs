//! The item cache.
//!
//! A read that missed may come back with an item that a write has replaced meanwhile; it must not overwrite what the write left here.
//! So a read announces its key, a write takes the announcement away, and only a read whose announcement still stands is kept.

use crate::database::prelude::*;
use std::collections::HashMap;

use super::timed::Timed;
use crate::model::clock::Clock;

/// Counted for an entry beside its item.
const ENTRY_OVERHEAD_BYTES: usize = 100;

/// Table, and the key attributes by name.
type Place = (TableName, Item);

#[derive(Debug)]
struct CachedItems {
    /// `None`: there is no such item.
    entries: Timed<Place, Option<Item>>,
    /// Reads under way, by a number of their own.
    fills: HashMap<Place, u64>,
    last_fill: u64,
}

/// Items by key.
#[derive(Debug)]
pub struct ItemCache(Mutex<CachedItems>);

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
        let entries = Timed::new(bytes_max, ttl_ms, clock);
        Self(Mutex::new(CachedItems { entries, fills: HashMap::new(), last_fill: 0 }))
    }

    /// Hits and misses.
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

    /// The read of a miss ended with this.
    pub fn fill(&self, fill: Fill, item: Option<Item>) {
        let mut state = self.0.lock();
        if state.end(&fill) {
            state.hold(fill.place, item);
        }
    }

    /// The read of a miss failed.
    pub fn abandon(&self, fill: &Fill) {
        self.0.lock().end(fill);
    }

    /// A write left this item, or none.
    pub fn written(&self, table: &TableName, key: Item, item: Option<Item>) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        state.fills.remove(&place);
        state.hold(place, item);
    }

    /// A write changed the item to something that is not known here.
    pub fn forget(&self, table: &TableName, key: Item) {
        let place = (table.clone(), key);
        let mut state = self.0.lock();
        state.fills.remove(&place);
        state.entries.remove(&place);
    }

    /// The table is gone.
    pub fn forget_table(&self, table: &TableName) {
        let mut state = self.0.lock();
        state.fills.retain(|(of, _), _| of != table);
        state.entries.retain(|(of, _), _| of != table);
    }
}

impl CachedItems {
    /// Ends a read; does it still stand? A later one of the same key stands for it, a write has taken it away.
    fn end(&mut self, fill: &Fill) -> bool {
        let stands = self.fills.get(&fill.place) == Some(&fill.number);
        if stands {
            self.fills.remove(&fill.place);
        }
        stands
    }

    fn hold(&mut self, place: Place, item: Option<Item>) {
        let bytes = ENTRY_OVERHEAD_BYTES + place.1.size() + item.as_ref().map_or(0, Item::size);
        self.entries.put(place, item, bytes);
    }
}
