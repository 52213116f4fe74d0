//! Two tables compared, in bounded memory: both are read once into [`super::spill`], then what differs there is read again, consistently, so
//! that nothing is told that is equal by then.

use crate::database::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::thread;

use super::journal::Place;
use super::segments;
use super::spill::{self, Entry, Spill};
use super::tally::{Counts, Patience, Tally, patiently};
use super::{CopyError, Side};
use crate::model::api::common::ReturnConsumedCapacity;
use crate::model::api::{BatchGetItemRequest, TableKeys};
use crate::model::limits::BATCH_GET_KEYS_MAX;
use crate::model::{Key, KeySchema};

/// What differs at one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub key: Key,
    /// The item in each table that has it; not equal.
    pub items: [Option<Item>; 2],
}

impl Difference {
    /// Attributes that are not the same, by name, as the first table has them and as the second.
    #[must_use]
    pub fn attributes(&self) -> BTreeMap<&str, [Option<&AttributeValue>; 2]> {
        let [one, two] = self.items.each_ref().map(|item| item.as_ref().map(|item| &item.0));
        let names = one.into_iter().chain(two).flat_map(BTreeMap::keys);
        let values = names.map(|name| (name.as_str(), [one, two].map(|item| item.and_then(|item| item.get(name)))));
        values.filter(|(_, [one, two])| one != two).collect()
    }
}

/// Called with each difference; `Break` ends the comparison.
pub type Tell<'a> = dyn FnMut(&Difference) -> ControlFlow<()> + 'a;

/// Two tables with the same key.
#[derive(Debug)]
pub struct Comparison<'a> {
    pub sides: [Side; 2],
    pub key: KeySchema,
    /// Items of the larger table, about.
    pub items: u64,
    /// Of each table.
    pub segments: u32,
    pub tally: &'a Tally,
}

fn io_failed(source: io::Error) -> CopyError {
    CopyError::Io { doing: "temporary files for the comparison, in TMPDIR or /tmp", source }
}

impl Comparison<'_> {
    /// Tells each difference, in hash order of the partition keys as this program has it, a collection in the order of its sort keys.
    ///
    /// # Errors
    /// Those of the services and of temporary files.
    pub fn run(&self, tell: &mut Tell<'_>) -> Result<(), CopyError> {
        self.tally.work(|| self.compare(tell))
    }

    fn compare(&self, tell: &mut Tell<'_>) -> Result<(), CopyError> {
        let buckets = spill::buckets(self.items);
        let spills = [Spill::new(buckets).map_err(io_failed)?, Spill::new(buckets).map_err(io_failed)?];
        self.read(&spills)?;
        if self.tally.ends() {
            return Err(CopyError::Refused("stopped before both tables were read".to_owned()));
        }
        let [one, two] = spills;
        let mut suspects = Vec::new();
        for pair in one.pairs(two) {
            let (one, two) = pair.map_err(io_failed)?;
            for key in differing(one, two) {
                suspects.push(spill::key_of(&self.key, &key).map_err(io_failed)?);
                if suspects.len() == BATCH_GET_KEYS_MAX && self.look_again(std::mem::take(&mut suspects), tell)?.is_break() {
                    return Ok(());
                }
            }
        }
        self.look_again(suspects, tell).map(drop)
    }

    /// Both tables at once.
    fn read(&self, spills: &[Spill; 2]) -> Result<(), CopyError> {
        let [one, two] = spills;
        let [first, second] = &self.sides;
        thread::scope(|scope| {
            let other = scope.spawn(|| self.read_side(second, two));
            let here = self.read_side(first, one);
            let there = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            here.and(there)
        })
    }

    fn read_side(&self, side: &Side, spill: &Spill) -> Result<(), CopyError> {
        let places = vec![Place::Start; self.segments as usize];
        segments::scan(side, places, self.tally, &|_, items: Vec<Item>, page: &Page| {
            for item in &items {
                let key =
                    item.key(&self.key).ok_or_else(|| CopyError::Refused(format!("{}: an item without its key", side.name)))?;
                spill.add(&self.key, &key, item).map_err(io_failed)?;
            }
            let read_units = page.consumed_capacity.total();
            self.tally.add(&Counts { items: items.len() as u64, read_units, ..Counts::default() });
            Ok(())
        })
    }

    /// Tells those that still differ.
    fn look_again(&self, keys: Vec<Key>, tell: &mut Tell<'_>) -> Result<ControlFlow<()>, CopyError> {
        if keys.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let [one, two] = &self.sides;
        let (mut ones, mut twos) = (self.get(one, &keys)?, self.get(two, &keys)?);
        for key in keys {
            let items = [ones.remove(&key), twos.remove(&key)];
            if items[0] != items[1] && tell(&Difference { key, items }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The items of these keys that there are.
    fn get(&self, side: &Side, keys: &[Key]) -> Result<HashMap<Key, Item>, CopyError> {
        let mut waiting: Vec<Item> = keys.iter().map(|key| key.to_item(&self.key)).collect();
        let (mut found, mut patience) = (HashMap::new(), Patience::default());
        while !waiting.is_empty() {
            let mut of_table = TableKeys::new(side.table.clone(), waiting.clone());
            of_table.consistent_read = true;
            let request = BatchGetItemRequest {
                request_items: vec![of_table],
                fault: None,
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
            };
            let read = patiently(|| side.database.batch_get_item(&request)).map_err(|error| side.failed(error))?;
            let read_units = read.page.consumed_capacity.iter().map(|of| of.total()).sum();
            self.tally.add(&Counts { read_units, ..Counts::default() });
            for item in read.responses.into_iter().flatten() {
                found.extend(item.key(&self.key).map(|key| (key, item)));
            }
            let left: Vec<Item> = read.page.unprocessed_keys.into_iter().flatten().collect();
            if left.len() < waiting.len() {
                patience.renew();
            } else if !patience.wait().map_err(|error| side.failed(error))? {
                return Err(
                    side.failed(Error::Unavailable("the table gives no more items: it has no capacity left, or it is to end"))
                );
            }
            waiting = left;
        }
        Ok(found)
    }
}

/// Keys that only one has, or that have another digest, in order.
fn differing(one: Vec<Entry>, two: Vec<Entry>) -> Vec<Vec<u8>> {
    let [one, two] = [one, two].map(BTreeSet::from_iter);
    let mut keys: Vec<Vec<u8>> = one.symmetric_difference(&two).map(|(key, _)| key.clone()).collect();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_lists_are_merged() {
        let list = |text: &str| text.bytes().map(|byte| (vec![byte.to_ascii_lowercase()], [byte; 16])).collect();
        let check = |one: &str, two: &str, expected: &str| {
            let found = differing(list(one), list(two)).concat();
            assert_eq!(found, expected.as_bytes(), "{one} {two}");
        };
        check("", "", "");
        check("abc", "abc", "");
        check("abd", "bcdE", "ace");
        check("aBc", "abC", "bc");
    }
}
