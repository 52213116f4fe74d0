//! Heavy hitters: the most accessed partition keys, or single items, by the space-saving algorithm
//! (Metwally, Agrawal, El Abbadi, 2005): a new key replaces the least one and inherits its count as
//! possible error, so a key that is really hot is never missed.
//!
//! The counters are in sets of eight by digest, as in a processor's cache: a count touches one set
//! and allocates nothing.

use crate::engine::prelude::*;
use crate::model::metrics::{Load, PeakSecond, PeriodLoad};

const SETS: usize = 64;
const WAYS: usize = 8;

/// The counter of one key.
#[derive(Debug, Clone, Copy)]
pub struct KeyCounter<Name = ()> {
    pub digest: Digest,
    /// The name of the key, if one is kept.
    pub name: Name,
    pub total: Load,
    /// The count inherited from the replaced key: the key's own total may be lower by up to this
    /// much.
    inherited: f64,
    pub last_minute: LastMinute,
    /// The load of the open slot, see `super::OpenSlotRecords`.
    pub slot: PeakGauge,
}

/// The counter of a single item, with its place.
pub type ItemCounter = KeyCounter<Box<[u8]>>;

impl<Name> KeyCounter<Name> {
    /// Returns the rank that decides which key is replaced.
    fn rank(&self) -> f64 {
        self.inherited + self.total.weight() + self.total.throttles() as f64
    }
}

/// The counters of the hottest keys.
#[derive(Debug, Default)]
pub struct TopKeys<Name = ()> {
    /// Empty until the first key is counted, then `SETS * WAYS`.
    counters: Vec<Option<KeyCounter<Name>>>,
}

impl TopKeys {
    /// Counts a load on a key.
    pub fn count(&mut self, digest: &Digest, now_ms: u64, load: &Load) {
        self.count_named(digest, || (), now_ms, load);
    }
}

impl<Name: Clone> TopKeys<Name> {
    /// Counts a load on a key; calls `name` when the key gets a counter.
    pub fn count_named(
        &mut self,
        digest: &Digest,
        name: impl FnOnce() -> Name,
        now_ms: u64,
        load: &Load,
    ) {
        if self.counters.is_empty() {
            self.counters = vec![None; SETS * WAYS];
        }
        // Not the first bytes: those decide the partition, and the keys of a hot partition must not
        // share a few sets.
        let first = usize::from(digest[15]) % SETS * WAYS;
        let set = &mut self.counters[first..first + WAYS];
        let counter = match set.iter().position(|counter| {
            counter
                .as_ref()
                .is_some_and(|counter| counter.digest == *digest)
        }) {
            Some(place) => &mut set[place],
            None => {
                let place = least_slot(set);
                let inherited = set[place].as_ref().map_or(0.0, KeyCounter::rank);
                let (total, last_minute, slot) =
                    (Load::default(), LastMinute::default(), PeakGauge::default());
                set[place] = Some(KeyCounter {
                    digest: *digest,
                    name: name(),
                    total,
                    inherited,
                    last_minute,
                    slot,
                });
                &mut set[place]
            }
        };
        if let Some(counter) = counter {
            counter.total.add(load);
            counter.last_minute.add(now_ms, load);
            counter.slot.add(now_ms, load);
        }
    }

    /// Returns all counted keys, in no order.
    pub fn all(&self) -> impl Iterator<Item = &KeyCounter<Name>> {
        self.counters.iter().flatten()
    }

    /// Returns all counted keys, mutably.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut KeyCounter<Name>> {
        self.counters.iter_mut().flatten()
    }

    /// Returns the hottest keys by their total load, the hottest first.
    #[must_use]
    pub fn hottest(&self, count: usize) -> Vec<KeyCounter<Name>> {
        let mut keys: Vec<_> = self.all().cloned().collect();
        keys.sort_by(|a, b| {
            b.total
                .weight()
                .total_cmp(&a.total.weight())
                .then(a.digest.cmp(&b.digest))
        });
        keys.truncate(count);
        keys
    }
}

/// Returns the position of an empty counter, or of the least.
fn least_slot<Name>(set: &[Option<KeyCounter<Name>>]) -> usize {
    let rank = |counter: &Option<KeyCounter<Name>>| counter.as_ref().map_or(-1.0, KeyCounter::rank);
    let places = set.iter().enumerate();
    places
        .min_by(|(_, one), (_, other)| rank(one).total_cmp(&rank(other)))
        .map_or(0, |(place, _)| place)
}

// The load of the last 60 seconds, and of a slot of ten. Time is the engine's clock, so that tests
// can set it.

/// The length of the finest interval, in milliseconds.
pub const SLOT_MS: u64 = 10_000;
const SLOTS: usize = 6;

/// The load of the last 60 seconds: six slots of ten, including the present one.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastMinute {
    /// The number of the newest slot since the epoch.
    newest: u64,
    slots: [Load; SLOTS],
}

impl LastMinute {
    /// Counts a load now.
    pub fn add(&mut self, now_ms: u64, load: &Load) {
        self.advance(now_ms / SLOT_MS);
        self.slots[slot_index(self.newest)].add(load);
    }

    /// Returns the sum of the last 60 seconds.
    #[must_use]
    pub fn sum(&self, now_ms: u64) -> Load {
        let mut turned = *self;
        turned.advance(now_ms / SLOT_MS);
        let mut sum = Load::default();
        turned.slots.iter().for_each(|load| sum.add(load));
        sum
    }

    /// Empties the slots between the newest and `now`.
    fn advance(&mut self, now: u64) {
        if now <= self.newest {
            return;
        }
        if now - self.newest >= SLOTS as u64 {
            self.slots = Default::default();
        } else {
            for passed in self.newest + 1..=now {
                self.slots[slot_index(passed)] = Load::default();
            }
        }
        self.newest = now;
    }
}

/// The load since the gauge was reset, and that of its busiest second.
#[derive(Debug, Clone, Copy, Default)]
pub struct PeakGauge {
    load: Load,
    busiest: PeakSecond,
    /// The present second, not compared with the busiest yet.
    now: PeakSecond,
}

impl PeakGauge {
    /// Counts a load now.
    pub fn add(&mut self, now_ms: u64, load: &Load) {
        let second = now_ms / 1000;
        if second != self.now.second {
            self.busiest.merge(&self.now);
            self.now = PeakSecond {
                second,
                load: Load::default(),
            };
        }
        self.now.load.add(load);
        self.load.add(load);
    }

    /// Returns the load; `None` without any.
    #[must_use]
    pub fn read(&self) -> Option<PeriodLoad> {
        let mut peak = self.busiest;
        peak.merge(&self.now);
        (!self.load.is_zero()).then_some(PeriodLoad {
            load: self.load,
            peak,
        })
    }
}

fn slot_index(number: u64) -> usize {
    usize::try_from(number % SLOTS as u64).unwrap_or_default()
}

#[cfg(test)]
mod top_keys_tests {
    use super::*;
    use crate::codec::digest::digest;

    #[test]
    fn a_hot_key_is_found_among_many_cold_ones() {
        let mut keys = TopKeys::default();
        let one = Load {
            read: 1.0,
            ..Load::default()
        };
        for n in 0..50_000_u32 {
            keys.count(&digest(&n.to_be_bytes()), 0, &one);
            if n % 10 == 0 {
                keys.count(&digest(b"hot"), 0, &one);
            }
        }
        let hottest = keys
            .all()
            .max_by(|a, b| a.total.read.total_cmp(&b.total.read))
            .unwrap();
        assert_eq!(hottest.digest, digest(b"hot"));
        assert!(hottest.total.read > 4_900.0, "{}", hottest.total.read);
        assert!(keys.all().count() <= SETS * WAYS);
    }
}

#[cfg(test)]
mod window_tests {
    use super::*;

    fn read(units: f64) -> Load {
        Load {
            read: units,
            ..Load::default()
        }
    }

    #[test]
    fn the_last_minute_forgets_slot_by_slot() {
        let mut window = LastMinute::default();
        window.add(5_000, &read(1.0));
        window.add(15_000, &read(2.0));
        for (now_ms, expected) in [
            (15_000, 3.0),
            (59_999, 3.0),
            (60_000, 2.0),
            (70_000, 0.0),
            (700_000, 0.0),
        ] {
            assert_eq!(window.sum(now_ms).read, expected, "at {now_ms}");
        }
        // A clock that goes back loses nothing.
        window.add(9_000, &read(4.0));
        assert_eq!(window.sum(15_000).read, 7.0);
    }
}
