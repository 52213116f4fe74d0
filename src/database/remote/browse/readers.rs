//! Who reads which folder in the order of its keys, and how far.

use super::pages::Place;
use crate::database::bounded::OfEntries;
use crate::database::prelude::*;
use crate::expr::order::compare;

/// Folders whose readers are followed.
const FOLDERS_MAX: usize = 256;
/// Files one after the other before any is asked for ahead.
const IN_ORDER_MIN: u32 = 8;
/// A pause ends the order.
const PAUSE_MS: u64 = 2_000;

/// Files of a folder before it counts for the next one.
const HERE_MIN: u32 = 2;

#[derive(Debug)]
struct Reader {
    last: AttributeValue,
    at_ms: u64,
    /// Files that were read in the order of their keys, without a pause: in this folder and those before it.
    in_order: u32,
    here: u32,
    /// In the folder that was read before this one.
    before: u32,
}

/// Who reads which folder, and how far.
#[derive(Debug, Default)]
pub struct Readers(Mutex<OfEntries<(Source, AttributeValue), Reader, FOLDERS_MAX>>);

impl Reader {
    fn goes_on(&self, now_ms: u64) -> bool {
        now_ms <= self.at_ms.saturating_add(PAUSE_MS)
    }

    /// Who begins a folder goes on from the one that was read just before.
    fn after(before: Option<&Self>, last: AttributeValue, at_ms: u64) -> Self {
        let (in_order, before) = before.map_or((0, 0), |before| (before.in_order, before.here));
        Self { last, at_ms, in_order, here: 0, before }
    }

    fn follow(&mut self, sort: &AttributeValue, now_ms: u64) {
        match compare(sort, &self.last) {
            Some(std::cmp::Ordering::Greater) => (self.in_order, self.here) = (self.in_order + 1, self.here + 1),
            Some(std::cmp::Ordering::Equal) => {}
            // Another reader, or one in another order.
            _ => (self.in_order, self.here, self.before) = (0, 0, 0),
        }
        (self.last, self.at_ms) = (sort.clone(), now_ms);
    }
}

impl Readers {
    /// An item of a folder is read; how many from it on are worth asking for: as many again as were read of this folder in order, or twice as
    /// many as of the one before; 0 as long as too few were.
    pub fn follow(&self, (source, key): &Place, now_ms: u64) -> u32 {
        let Some(sort) = key.base.sort.as_ref().filter(|_| key.index.is_none()) else { return 0 };
        let mut readers = self.0.lock();
        let folder = (source.clone(), key.base.partition.clone());
        if !readers.peek(&folder).is_some_and(|reader| reader.goes_on(now_ms)) {
            let latest = readers.iter().next().filter(|((of, _), reader)| of == source && reader.goes_on(now_ms));
            let before = latest.map(|(_, reader)| reader).filter(|reader| reader.here >= HERE_MIN);
            let reader = Reader::after(before, sort.clone(), now_ms);
            readers.put(folder.clone(), reader);
        }
        let Some(reader) = readers.get_mut(&folder) else { return 0 };
        reader.follow(sort, now_ms);
        if reader.in_order < IN_ORDER_MIN { 0 } else { reader.here.max(reader.before.saturating_mul(2)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::EntryKey;
    use crate::model::{Key, TableName};

    fn read(readers: &Readers, folder: &str, file: u32, now_ms: u64) -> u32 {
        let source = Source { table: TableName::new("Pets").unwrap(), index: None };
        let base = Key { partition: AttributeValue::S(folder.to_owned()), sort: Some(AttributeValue::S(format!("{file:04}"))) };
        readers.follow(&(source, EntryKey { index: None, base }), now_ms)
    }

    #[test]
    fn as_many_again_and_in_the_next_folder_twice_as_many() {
        let readers = Readers::default();
        let worth = |folder: &str, files: std::ops::Range<u32>, now_ms| -> Vec<u32> {
            files.map(|file| read(&readers, folder, file, now_ms)).collect()
        };
        assert_eq!(worth("a", 0..10, 0), [0, 0, 0, 0, 0, 0, 0, 0, 8, 9]);
        assert_eq!(worth("b", 0..3, 0), [18, 18, 18]);
        // Of that one few were read.
        assert_eq!(worth("c", 0..1, 0), [4]);
        assert_eq!(worth("d", 0..1, 0), [0]);
        assert_eq!(worth("a", 5..6, 0), [0]);
        assert_eq!(worth("e", 0..9, 1_000).last(), Some(&8));
        assert_eq!(worth("f", 0..1, 9_000), [0]);
    }
}
