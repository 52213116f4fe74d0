//! What is good for a while: entries with the time since when, and how often they were and were not there.

use std::hash::Hash;
use std::sync::Arc;

use crate::database::bounded::OfBytes;
use crate::model::clock::Clock;

/// See the module. The least recently used is pushed out.
#[derive(Debug)]
pub struct Timed<K: Hash + Eq, V> {
    entries: OfBytes<K, (V, u64)>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    hits: u64,
    misses: u64,
}

impl<K: Hash + Eq, V: Clone> Timed<K, V> {
    /// Entries that are good for `ttl_ms`; 0: until they are pushed out.
    pub fn new(bytes_max: usize, ttl_ms: u64, clock: Arc<dyn Clock>) -> Self {
        Self { entries: OfBytes::new(bytes_max), ttl_ms, clock, hits: 0, misses: 0 }
    }

    /// Hits and misses.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// What is there and good.
    pub fn get(&mut self, key: &K) -> Option<V> {
        let now_ms = self.clock.now_ms();
        let is_good = |since_ms: u64| self.ttl_ms == 0 || now_ms < since_ms.saturating_add(self.ttl_ms);
        let found = self.entries.get(key).filter(|(_, since_ms)| is_good(*since_ms)).map(|(value, _)| value.clone());
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

    /// Removes the entries that are not to stay.
    pub fn retain(&mut self, stays: impl Fn(&K, &V) -> bool) {
        self.entries.retain(|key, (value, _)| stays(key, value));
    }
}
