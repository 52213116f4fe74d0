//! Who lists which folders in the order in which they were shown, and which come next.

use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::database::PartitionKey;
use crate::database::bounded::OfEntries;
use crate::database::prelude::*;
use std::collections::{HashMap, HashSet};

/// Sources whose readers are followed.
const SOURCES_MAX: usize = 8;
/// Folders of a source whose order is remembered.
const SHOWN_MAX: usize = 4096;
/// Folders listed in order before any is asked for ahead, beside the first.
const IN_ORDER_MIN: usize = 2;
/// Folders asked for ahead at a time.
const FOLDERS_MAX: usize = 8;

/// The folders of a source in the order in which they were shown, and who goes through them.
#[derive(Debug, Default)]
struct Shown {
    order: Vec<PartitionKey>,
    places: HashMap<Digest, usize>,
    last: usize,
    is_backwards: bool,
    /// Neighbours in the same direction, one after the other.
    in_order: usize,
    /// Asked for and not listed yet.
    asked: HashSet<usize>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Siblings(Mutex<OfEntries<Source, Shown, SOURCES_MAX>>);

impl Siblings {
    /// The folders of a source are shown from the first one on.
    pub fn begin(&self, source: &Source) {
        self.0.lock().put(source.clone(), Shown::default());
    }

    /// The next folder that is shown.
    pub fn show(&self, source: &Source, partition: &PartitionKey) {
        if let Some(shown) = self.0.lock().get_mut(source)
            && shown.order.len() < SHOWN_MAX
        {
            let place = shown.order.len();
            shown.places.insert(partition_digest(partition), place);
            shown.order.push(partition.clone());
        }
    }

    /// A folder is listed: which to ask for ahead.
    pub fn follow(&self, source: &Source, partition: &PartitionKey) -> Vec<PartitionKey> {
        let mut sources = self.0.lock();
        let Some(shown) = sources.get_mut(source) else { return Vec::new() };
        let Some(place) = shown.places.get(&partition_digest(partition)).copied() else { return Vec::new() };
        shown.follow(place)
    }

    /// There was nobody to ask for it.
    pub fn not_asked(&self, source: &Source, partition: &PartitionKey) {
        if let Some(shown) = self.0.lock().get_mut(source)
            && let Some(place) = shown.places.get(&partition_digest(partition))
        {
            shown.asked.remove(place);
        }
    }

    /// What was asked for ahead was of no use.
    pub fn give_up(&self, source: &Source) {
        if let Some(shown) = self.0.lock().get_mut(source) {
            shown.in_order = 0;
            shown.asked.clear();
        }
    }
}

impl Shown {
    fn follow(&mut self, place: usize) -> Vec<PartitionKey> {
        self.asked.remove(&place);
        if place == self.last {
            return Vec::new();
        }
        let is_backwards = place < self.last;
        let is_next = place.abs_diff(self.last) == 1;
        self.in_order = match is_next {
            true if is_backwards == self.is_backwards => self.in_order + 1,
            true => 1,
            false => 0,
        };
        (self.last, self.is_backwards) = (place, is_backwards);
        if self.in_order < IN_ORDER_MIN {
            return Vec::new();
        }
        let step = |by: usize| if is_backwards { place.checked_sub(by) } else { Some(place + by) };
        let next = (1..=self.in_order.min(FOLDERS_MAX)).filter_map(step);
        let next: Vec<usize> = next.filter(|place| *place < self.order.len() && self.asked.insert(*place)).collect();
        next.into_iter().filter_map(|place| self.order.get(place).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_folders_are_asked_for_than_were_listed_in_order() {
        let mut shown = Shown { order: vec![PartitionKey::new(); 100], ..Shown::default() };
        let mut asked = 0;
        let counts: Vec<usize> = (0..20).map(|place| shown.follow(place).len()).collect();
        assert_eq!(counts[..8], [0, 0, 2, 2, 2, 2, 2, 2]);
        for (listed, count) in (1..).zip(&counts) {
            asked += count;
            assert!(asked <= listed + FOLDERS_MAX && asked - listed.min(asked) <= listed, "{listed}: {counts:?}");
        }
        // Elsewhere, and back from there.
        let counts: Vec<usize> = [50, 70, 69, 68, 67].into_iter().map(|place| shown.follow(place).len()).collect();
        assert_eq!(counts, [0, 0, 0, 2, 2]);
        let mut few = Shown { order: vec![PartitionKey::new(); 4], ..Shown::default() };
        assert_eq!((0..4).map(|place| few.follow(place).len()).sum::<usize>(), 1);
    }
}
