//! A map of recent events, bounded in entries and in age: an expired entry is absent, and beyond the
//! maximum the oldest is evicted.

use std::borrow::Borrow;
use std::hash::Hash;

use lru::LruCache;

/// The maximum age of a map without expiry.
pub const FOREVER: u64 = u64::MAX;

/// A map bounded in entries and age. Times are milliseconds since the epoch.
#[derive(Debug)]
pub struct TtlMap<K: Hash + Eq, V, const ENTRIES_MAX: usize, const AGE_MS_MAX: u64 = FOREVER> {
    /// Values with their insertion times; the oldest is the least recently used.
    entries: LruCache<K, (V, u64)>,
}

impl<K: Hash + Eq, V, const ENTRIES_MAX: usize, const AGE_MS_MAX: u64> Default
    for TtlMap<K, V, ENTRIES_MAX, AGE_MS_MAX>
{
    fn default() -> Self {
        Self {
            entries: LruCache::unbounded(),
        }
    }
}

impl<K: Hash + Eq + Clone, V, const ENTRIES_MAX: usize, const AGE_MS_MAX: u64>
    TtlMap<K, V, ENTRIES_MAX, AGE_MS_MAX>
{
    /// Inserts a value as the newest; returns the previous value of this key.
    pub fn insert(&mut self, key: K, value: V, now_ms: u64) -> Option<V> {
        self.drop_expired(now_ms);
        let before = self.entries.put(key, (value, now_ms));
        while self.entries.len() > ENTRIES_MAX {
            self.entries.pop_lru();
        }
        before.map(|(value, _)| value)
    }

    /// Drops expired entries. The map becomes empty only by this or by removals.
    pub fn drop_expired(&mut self, now_ms: u64) {
        while self
            .entries
            .peek_lru()
            .is_some_and(|(_, (_, at))| is_expired(*at, now_ms, AGE_MS_MAX))
        {
            self.entries.pop_lru();
        }
    }

    /// Returns an unexpired value.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now_ms: u64) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries
            .peek(key)
            .filter(|(_, at)| !is_expired(*at, now_ms, AGE_MS_MAX))
            .map(|(value, _)| value)
    }

    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, now_ms: u64) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries
            .peek_mut(key)
            .filter(|(_, at)| !is_expired(*at, now_ms, AGE_MS_MAX))
            .map(|(value, _)| value)
    }

    /// Makes a value the newest, with a new insertion time.
    pub fn touch(&mut self, key: &K, now_ms: u64) -> Option<&mut V> {
        self.drop_expired(now_ms);
        let (value, at) = self.entries.get_mut(key)?;
        *at = now_ms;
        Some(value)
    }

    /// Returns a value as the newest; the default if there is none.
    pub fn or_default(&mut self, key: K, now_ms: u64) -> &mut V
    where
        V: Default,
    {
        self.drop_expired(now_ms);
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains(&key) {
            self.entries.pop_lru();
        }
        let (value, at) = self.entries.get_or_insert_mut(key, Default::default);
        *at = now_ms;
        value
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.pop(key).map(|(value, _)| value)
    }

    pub fn pop_oldest(&mut self) -> Option<V> {
        self.entries.pop_lru().map(|(_, (value, _))| value)
    }

    /// True if an unexpired key matches.
    pub fn any(&self, predicate: impl Fn(&K) -> bool, now_ms: u64) -> bool {
        self.entries
            .iter()
            .any(|(key, (_, at))| !is_expired(*at, now_ms, AGE_MS_MAX) && predicate(key))
    }

    /// Removes and returns the matching entries, the oldest first.
    pub fn extract_if(&mut self, predicate: impl Fn(&K, &V) -> bool) -> Vec<(K, V)> {
        let keys: Vec<K> = self
            .entries
            .iter()
            .rev()
            .filter(|(key, (value, _))| predicate(key, value))
            .map(|(key, _)| key.clone())
            .collect();
        keys.into_iter()
            .filter_map(|key| self.entries.pop_entry(&key))
            .map(|(key, (value, _))| (key, value))
            .collect()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, (value, _))| value)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, (value, _))| value)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn is_expired(created_ms: u64, now_ms: u64, age_ms_max: u64) -> bool {
    now_ms.saturating_sub(created_ms) >= age_ms_max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let mut recent: TtlMap<u32, u32, 3> = TtlMap::default();
        for number in 0..5 {
            recent.insert(number, number, 0);
        }
        recent.touch(&2, 1);
        recent.insert(5, 5, 1);
        assert_eq!(
            [2, 3, 4, 5].map(|number| recent.get(&number, u64::MAX - 1).copied()),
            [Some(2), None, Some(4), Some(5)]
        );
        assert_eq!(
            recent.extract_if(|number, _| *number != 2),
            [(4, 4), (5, 5)]
        );
        assert_eq!((recent.pop_oldest(), recent.len()), (Some(2), 0));
    }

    #[test]
    fn what_is_too_old_is_not_there() {
        let mut recent: TtlMap<u32, (), 3, 100> = TtlMap::default();
        recent.insert(1, (), 1_000);
        recent.insert(2, (), 1_050);
        assert!(
            recent.get(&1, 1_099).is_some()
                && recent.get(&1, 1_100).is_none()
                && recent.get(&2, 1_100).is_some()
        );
        assert!(recent.touch(&1, 1_100).is_none() && recent.touch(&2, 1_100).is_some());
        recent.drop_expired(1_199);
        assert!(!recent.is_empty());
        recent.drop_expired(1_200);
        assert!(recent.is_empty());
        recent.insert(1, (), 1_000);
        assert!(recent.get(&1, 0).is_some(), "a clock that was set back");
    }
}
