//! Downsampling of metrics over time, as in a round-robin database: records of ten seconds are kept
//! for two minutes, of minutes for three hours, of hours for a day. Older records are merged into
//! the next coarser level and at last dropped, so that there is never more than one day of them.

use std::collections::BTreeMap;

use super::top_keys::SLOT_MS;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// A record that can be added up.
pub trait MergeRecord: Clone + Default {
    /// Adds another record.
    fn merge(&mut self, other: &Self);

    /// Shrinks the record to its size limit.
    fn trim(&mut self);

    /// True if the record is empty.
    fn is_empty(&self) -> bool;
}

/// The length of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeLevel {
    /// Ten seconds.
    Slot,
    Minute,
    Hour,
}

impl TimeLevel {
    /// All levels, the finest first.
    pub const ALL: [Self; 3] = [Self::Slot, Self::Minute, Self::Hour];

    fn ms(self) -> u64 {
        match self {
            Self::Slot => SLOT_MS,
            Self::Minute => MINUTE_MS,
            Self::Hour => HOUR_MS,
        }
    }

    /// Returns the record at the level above that a record is rolled up into, if there is one.
    #[must_use]
    pub fn parent(self, start: u64) -> Option<RecordTime> {
        let above = match self {
            Self::Slot => Self::Minute,
            Self::Minute => Self::Hour,
            Self::Hour => return None,
        };
        Some((above, above.start(start)))
    }

    /// Returns the start of the record that contains a time.
    #[must_use]
    pub fn start(self, ms: u64) -> u64 {
        ms / self.ms() * self.ms()
    }

    /// Returns the time before which records are rolled up, in whole records of the level above, or
    /// dropped.
    #[must_use]
    pub fn due_before(self, now_ms: u64) -> u64 {
        match self {
            Self::Slot => Self::Minute.start(now_ms.saturating_sub(2 * MINUTE_MS)),
            Self::Minute => Self::Hour.start(now_ms.saturating_sub(3 * HOUR_MS)),
            Self::Hour => Self::Hour.start(now_ms.saturating_sub(24 * HOUR_MS)),
        }
    }
}

/// The level of a record and its start in milliseconds since the epoch.
pub type RecordTime = (TimeLevel, u64);

/// The records of all levels.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pyramid<R>(pub BTreeMap<RecordTime, R>);

impl<R: MergeRecord> Pyramid<R> {
    /// Adds to the record at a place.
    pub fn add(&mut self, place: RecordTime, record: &R) {
        let found = self.0.entry(place).or_default();
        found.merge(record);
        found.trim();
    }

    /// Returns the places of records that are due: to be added to the level above, or to be
    /// dropped.
    fn due(&self, level: TimeLevel, now_ms: u64) -> Vec<RecordTime> {
        self.0
            .range((level, 0)..(level, level.due_before(now_ms)))
            .map(|(place, _)| *place)
            .collect()
    }

    /// Adds due records to the level above, or drops them; returns the places that are empty now.
    pub fn roll_up(&mut self, now_ms: u64) -> Vec<RecordTime> {
        let mut emptied = Vec::new();
        for level in TimeLevel::ALL {
            for place in self.due(level, now_ms) {
                if let (Some(record), Some(above)) = (self.0.remove(&place), level.parent(place.1))
                {
                    self.add(above, &record);
                }
                emptied.push(place);
            }
        }
        emptied
    }

    /// Returns the sum of the records that begin at a time or later.
    #[must_use]
    pub fn since(&self, from_ms: u64) -> R {
        let mut sum = R::default();
        self.0
            .iter()
            .filter(|((_, start), _)| *start >= from_ms)
            .for_each(|(_, record)| sum.merge(record));
        sum
    }
}

/// The open record and those before it.
#[derive(Debug, Default)]
pub struct OpenSlotRecords<R> {
    /// The start of the open slot, in milliseconds since the epoch.
    slot: u64,
    pub open: R,
    closed: Pyramid<R>,
}

impl<R: MergeRecord> OpenSlotRecords<R> {
    /// True if the time of the slot is over. A clock that goes back counts in the newest slot.
    #[must_use]
    pub fn is_over(&self, now_ms: u64) -> bool {
        TimeLevel::Slot.start(now_ms) > self.slot
    }

    /// Closes the open slot and opens that of a time.
    pub fn close(&mut self, now_ms: u64) {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.closed.add((TimeLevel::Slot, self.slot), &open);
        }
        self.closed.roll_up(now_ms);
        self.slot = TimeLevel::Slot.start(now_ms);
    }

    /// Takes the closed records.
    pub fn take(&mut self) -> Pyramid<R> {
        std::mem::take(&mut self.closed)
    }

    /// Gives back records that were taken.
    pub fn restore(&mut self, stored: &Pyramid<R>) {
        stored
            .0
            .iter()
            .for_each(|(place, record)| self.closed.add(*place, record));
    }

    /// Returns all closed records together with an open one.
    #[must_use]
    pub fn all(&self, open: &R) -> Pyramid<R> {
        let mut all = self.closed.clone();
        if !open.is_empty() {
            all.add((TimeLevel::Slot, self.slot), open);
        }
        all
    }
}
