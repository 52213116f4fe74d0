//! The most asked for partition keys, or single items, by space-saving counters (Metwally, Agrawal, El Abbadi, 2005): a new key takes the place of
//! the least one and inherits its count as possible error, so a key that is really hot is never missed.
//!
//! The counters are in sets of eight by digest, as in a processor's cache: a count touches one set and allocates nothing.

use super::window::{Gauge, LastMinute};
use crate::codec::digest::Digest;
use crate::model::layout::Load;

const SETS: usize = 64;
const WAYS: usize = 8;

/// One key's counter.
#[derive(Debug, Clone, Copy)]
pub struct Counter<Name = ()> {
    pub digest: Digest,
    /// What else is remembered of the key.
    pub name: Name,
    pub total: Load,
    /// What the counter had when this key took it: the total of the key may be less than this much too high.
    inherited: f64,
    pub last_minute: LastMinute,
    /// Of the slot now, see `super::Slots`.
    pub slot: Gauge,
}

/// A single item's counter, with its place.
pub type ItemCounter = Counter<Box<[u8]>>;

impl<Name> Counter<Name> {
    /// What decides who stays.
    fn rank(&self) -> f64 {
        self.inherited + self.total.weight() + counted(self.total.throttles())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct TopKeys<Name = ()> {
    /// Empty until the first key is counted, then `SETS * WAYS`.
    counters: Vec<Option<Counter<Name>>>,
}

impl TopKeys {
    /// Counts a load on a key.
    pub fn count(&mut self, digest: &Digest, now_ms: u64, load: &Load) {
        self.count_named(digest, || (), now_ms, load);
    }
}

impl<Name: Clone> TopKeys<Name> {
    /// Counts a load on a key; its name is asked for when it gets a counter.
    pub fn count_named(&mut self, digest: &Digest, name: impl FnOnce() -> Name, now_ms: u64, load: &Load) {
        if self.counters.is_empty() {
            self.counters = vec![None; SETS * WAYS];
        }
        // Not the first bytes: those place keys in partitions, and a hot partition must have more than a few sets.
        let first = usize::from(digest[15]) % SETS * WAYS;
        let set = &mut self.counters[first..first + WAYS];
        let counter = match set.iter().position(|counter| counter.as_ref().is_some_and(|counter| counter.digest == *digest)) {
            Some(place) => &mut set[place],
            None => {
                let place = least(set);
                let inherited = set[place].as_ref().map_or(0.0, Counter::rank);
                let (total, last_minute, slot) = (Load::default(), LastMinute::default(), Gauge::default());
                set[place] = Some(Counter { digest: *digest, name: name(), total, inherited, last_minute, slot });
                &mut set[place]
            }
        };
        if let Some(counter) = counter {
            counter.total.add(load);
            counter.last_minute.add(now_ms, load);
            counter.slot.add(now_ms, load);
        }
    }

    /// All counted keys, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Counter<Name>> {
        self.counters.iter().flatten()
    }

    /// All counted keys, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Counter<Name>> {
        self.counters.iter_mut().flatten()
    }

    /// The hottest by all their load first.
    #[must_use]
    pub fn hottest(&self, count: usize) -> Vec<Counter<Name>> {
        let mut keys: Vec<_> = self.all().cloned().collect();
        keys.sort_by(|a, b| b.total.weight().total_cmp(&a.total.weight()).then(a.digest.cmp(&b.digest)));
        keys.truncate(count);
        keys
    }
}

/// The place of an empty counter, or of the least.
fn least<Name>(set: &[Option<Counter<Name>>]) -> usize {
    let rank = |counter: &Option<Counter<Name>>| counter.as_ref().map_or(-1.0, Counter::rank);
    let places = set.iter().enumerate();
    places.min_by(|(_, one), (_, other)| rank(one).total_cmp(&rank(other))).map_or(0, |(place, _)| place)
}

fn counted(events: u64) -> f64 {
    events as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::digest::digest;

    #[test]
    fn a_hot_key_is_found_among_many_cold_ones() {
        let mut keys = TopKeys::default();
        let one = Load { read: 1.0, ..Load::default() };
        for n in 0..50_000_u32 {
            keys.count(&digest(&n.to_be_bytes()), 0, &one);
            if n % 10 == 0 {
                keys.count(&digest(b"hot"), 0, &one);
            }
        }
        let hottest = keys.all().max_by(|a, b| a.total.read.total_cmp(&b.total.read)).unwrap();
        assert_eq!(hottest.digest, digest(b"hot"));
        assert!(hottest.total.read > 4_900.0, "{}", hottest.total.read);
        assert!(keys.all().count() <= SETS * WAYS);
    }
}
