//! The load of the last 60 seconds, and of a slot of ten. Time is the engine's clock, so that tests can turn it.

use crate::model::layout::{Busiest, Load, WindowLoad};

/// The finest while that load is kept by.
pub const SLOT_MS: u64 = 10_000;
const SLOTS: usize = 6;

/// The load of the last 60 seconds: six slots of ten, the one now included.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastMinute {
    /// Number of the newest slot since the epoch.
    newest: u64,
    slots: [Load; SLOTS],
}

impl LastMinute {
    /// Counts a load now.
    pub fn add(&mut self, now_ms: u64, load: &Load) {
        self.turn(now_ms / SLOT_MS);
        self.slots[slot(self.newest)].add(load);
    }

    /// The sum.
    #[must_use]
    pub fn sum(&self, now_ms: u64) -> Load {
        let mut turned = *self;
        turned.turn(now_ms / SLOT_MS);
        let mut sum = Load::default();
        turned.slots.iter().for_each(|load| sum.add(load));
        sum
    }

    /// Empties the slots between the newest and `now`.
    fn turn(&mut self, now: u64) {
        if now <= self.newest {
            return;
        }
        if now - self.newest >= SLOTS as u64 {
            self.slots = Default::default();
        } else {
            for passed in self.newest + 1..=now {
                self.slots[slot(passed)] = Load::default();
            }
        }
        self.newest = now;
    }
}

/// The load since something was taken last, and in the busiest second of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauge {
    load: Load,
    busiest: Busiest,
    /// The second now, not yet compared.
    now: Busiest,
}

impl Gauge {
    /// Counts a load now.
    pub fn add(&mut self, now_ms: u64, load: &Load) {
        let second = now_ms / 1000;
        if second != self.now.second {
            self.busiest.merge(&self.now);
            self.now = Busiest { second, load: Load::default() };
        }
        self.now.load.add(load);
        self.load.add(load);
    }

    /// What was counted; `None` when nothing was.
    #[must_use]
    pub fn read(&self) -> Option<WindowLoad> {
        let mut busiest = self.busiest;
        busiest.merge(&self.now);
        (!self.load.is_none()).then_some(WindowLoad { load: self.load, busiest })
    }
}

fn slot(number: u64) -> usize {
    usize::try_from(number % SLOTS as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(units: f64) -> Load {
        Load { read: units, ..Load::default() }
    }

    #[test]
    fn the_last_minute_forgets_slot_by_slot() {
        let mut window = LastMinute::default();
        window.add(5_000, &read(1.0));
        window.add(15_000, &read(2.0));
        for (now_ms, expected) in [(15_000, 3.0), (59_999, 3.0), (60_000, 2.0), (70_000, 0.0), (700_000, 0.0)] {
            assert_eq!(window.sum(now_ms).read, expected, "at {now_ms}");
        }
        // A clock that goes back loses nothing.
        window.add(9_000, &read(4.0));
        assert_eq!(window.sum(15_000).read, 7.0);
    }
}
