//! Maps that evict their least recently used entries: bounded in entries, or in bytes.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};

use lru::LruCache;

/// An LRU map of at most `ENTRIES_MAX` entries.
#[derive(Debug)]
pub struct LruMap<K: Hash + Eq, V, const ENTRIES_MAX: usize>(LruCache<K, V>);

impl<K: Hash + Eq, V, const ENTRIES_MAX: usize> Default for LruMap<K, V, ENTRIES_MAX> {
    fn default() -> Self {
        const { assert!(ENTRIES_MAX > 0) };
        Self(LruCache::sparse(
            NonZeroUsize::new(ENTRIES_MAX).unwrap_or(NonZeroUsize::MIN),
        ))
    }
}

impl<K: Hash + Eq, V, const ENTRIES_MAX: usize> Deref for LruMap<K, V, ENTRIES_MAX> {
    type Target = LruCache<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<K: Hash + Eq, V, const ENTRIES_MAX: usize> DerefMut for LruMap<K, V, ENTRIES_MAX> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// An LRU map bounded by the stated sizes of its entries.
#[derive(Debug)]
pub struct ByteLruMap<K: Hash + Eq, V> {
    entries: LruCache<K, (V, usize)>,
    bytes: usize,
    bytes_max: usize,
}

impl<K: Hash + Eq, V> ByteLruMap<K, V> {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            entries: LruCache::unbounded(),
            bytes: 0,
            bytes_max,
        }
    }

    /// Inserts an entry of this size in place of the one under its key; returns the evicted values.
    pub fn put(&mut self, key: K, value: V, bytes: usize) -> Vec<V> {
        self.bytes += bytes;
        if let Some((_, (_, bytes))) = self.entries.push(key, (value, bytes)) {
            self.bytes -= bytes;
        }
        let mut pushed_out = Vec::new();
        while self.bytes > self.bytes_max
            && let Some((_, (value, bytes))) = self.entries.pop_lru()
        {
            self.bytes -= bytes;
            pushed_out.push(value);
        }
        pushed_out
    }

    /// Returns an entry, which becomes the most recently used.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    /// Returns an entry without marking it as used.
    #[must_use]
    pub fn peek(&self, key: &K) -> Option<&V> {
        self.entries.peek(key).map(|(value, _)| value)
    }

    pub fn remove(&mut self, key: &K) {
        if let Some((_, bytes)) = self.entries.pop(key) {
            self.bytes -= bytes;
        }
    }

    /// Removes the entries for which `is_kept` is false.
    pub fn retain(&mut self, is_kept: impl Fn(&K, &V) -> bool) {
        self.entries.retain(|key, (value, _)| is_kept(key, value));
        self.bytes = self.entries.iter().map(|(_, (_, bytes))| bytes).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_whatever_goes() {
        let mut map = ByteLruMap::new(10);
        assert_eq!(map.put(1, "a", 4), [""; 0]);
        assert_eq!(map.put(2, "b", 4), [""; 0]);
        // Replaces the entry under the same key.
        assert_eq!(map.put(2, "c", 5), [""; 0]);
        assert_eq!(map.get(&1), Some(&"a"));
        assert_eq!(map.put(3, "d", 3), ["c"]);
        map.remove(&1);
        assert_eq!((map.put(4, "e", 7), map.bytes), (vec![], 10));
        map.retain(|key, _| *key != 3);
        assert_eq!((map.peek(&3), map.bytes), (None, 7));
        assert_eq!(map.put(5, "f", 11), ["e", "f"]);
    }
}
