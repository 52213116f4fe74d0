//! Detection of sequential reads, as for a kernel's read-ahead: files read in key order in a
//! folder, and folders listed in the order in which they were shown. `listing` prefetches by it.

use std::collections::{HashMap, HashSet};

use super::cache::EntryPlace;
use super::known::Folder;
use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::database::PartitionKey;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::expr::order::compare;

/// The limit of folders with tracked readers.
const FOLDERS_FOLLOWED_MAX: usize = 256;
/// The number of files in order before the first prefetch.
const FILES_IN_ORDER_MIN: u32 = 8;
/// The pause in milliseconds that ends a sequence.
const PAUSE_MS: u64 = 2_000;

/// The number of files of a folder from which it counts for the next one.
const FOLDER_FILES_MIN: u32 = 2;

#[derive(Debug)]
struct FileReader {
    last: AttributeValue,
    at_ms: u64,
    /// Files read in key order without a pause, in this folder and those before it.
    in_order: u32,
    in_folder: u32,
    /// The files read in order in the previous folder.
    in_previous: u32,
}

/// The sequential readers of files, by folder.
#[derive(Debug, Default)]
pub struct FilePrefetch(
    Mutex<LruMap<(SourceName, AttributeValue), FileReader, FOLDERS_FOLLOWED_MAX>>,
);

impl FileReader {
    fn is_continued(&self, now_ms: u64) -> bool {
        now_ms <= self.at_ms.saturating_add(PAUSE_MS)
    }

    /// Creates the reader of a new folder, which continues the sequence of the one read just
    /// before.
    fn continue_from(in_previous: Option<&Self>, last: AttributeValue, at_ms: u64) -> Self {
        let (in_order, in_previous) = in_previous.map_or((0, 0), |in_previous| {
            (in_previous.in_order, in_previous.in_folder)
        });
        Self {
            last,
            at_ms,
            in_order,
            in_folder: 0,
            in_previous,
        }
    }

    fn follow(&mut self, sort: &AttributeValue, now_ms: u64) {
        match compare(sort, &self.last) {
            Some(std::cmp::Ordering::Greater) => {
                (self.in_order, self.in_folder) = (self.in_order + 1, self.in_folder + 1)
            }
            Some(std::cmp::Ordering::Equal) => {}
            // Another reader, or one in another order.
            _ => (self.in_order, self.in_folder, self.in_previous) = (0, 0, 0),
        }
        (self.last, self.at_ms) = (sort.clone(), now_ms);
    }
}

impl FilePrefetch {
    /// Records a read of an item; returns how many from it on are worth a prefetch: as many again
    /// as were read of this folder in order, or twice as many as of the one before; 0 while too few
    /// were.
    pub fn record_read(&self, place: &EntryPlace, now_ms: u64) -> u32 {
        let (source, key) = place;
        let Some(sort) = key.base.sort.as_ref().filter(|_| key.index.is_none()) else {
            return 0;
        };
        let mut readers = self.0.lock();
        let folder = (source.clone(), key.base.partition.clone());
        if !readers
            .peek(&folder)
            .is_some_and(|reader| reader.is_continued(now_ms))
        {
            // The map iterates from the most recently used entry: the folder that was read just
            // before.
            let latest = readers
                .iter()
                .next()
                .filter(|((of, _), reader)| of == source && reader.is_continued(now_ms));
            let before = latest
                .map(|(_, reader)| reader)
                .filter(|reader| reader.in_folder >= FOLDER_FILES_MIN);
            let reader = FileReader::continue_from(before, sort.clone(), now_ms);
            readers.put(folder.clone(), reader);
        }
        let Some(reader) = readers.get_mut(&folder) else {
            return 0;
        };
        reader.follow(sort, now_ms);
        if reader.in_order < FILES_IN_ORDER_MIN {
            0
        } else {
            reader.in_folder.max(reader.in_previous.saturating_mul(2))
        }
    }
}

/// The names of each folder that were asked for and were absent, without a pause: a program makes
/// files there. Names of the last one are counted with the time.
#[derive(Debug, Default)]
pub struct MissedNames(Mutex<LruMap<Folder, (u32, u64), FOLDERS_FOLLOWED_MAX>>);

impl MissedNames {
    /// Returns the number of names of the folder that were absent, up to now.
    pub fn count(&self, folder: &Folder, now_ms: u64) -> u32 {
        let missed = self.0.lock();
        missed
            .peek(folder)
            .filter(|(_, at_ms)| now_ms <= at_ms.saturating_add(PAUSE_MS))
            .map_or(0, |(count, _)| *count)
    }

    /// Records an absent name.
    pub fn record(&self, folder: Folder, now_ms: u64) {
        let count = self.count(&folder, now_ms);
        self.0.lock().put(folder, (count + 1, now_ms));
    }
}

/// The limit of sources with tracked readers.
const SOURCES_MAX: usize = 8;
/// The limit of folders of a source with a remembered order.
const FOLDERS_SHOWN_MAX: usize = 4096;
/// The number of folders listed in order, beside the first, before a prefetch.
const FOLDERS_IN_ORDER_MIN: usize = 2;
/// The limit of folders in one prefetch.
const FOLDER_PREFETCHES_MAX: usize = 8;

/// The folders of a source in the order in which they were shown, and the progress of a reader
/// through them.
#[derive(Debug, Default)]
struct ShownFolders {
    order: Vec<PartitionKey>,
    places: HashMap<Digest, usize>,
    last: usize,
    is_backwards: bool,
    /// Adjacent folders listed in the same direction, one after the other.
    in_order: usize,
    /// Folders prefetched and not listed yet.
    prefetched: HashSet<usize>,
}

/// The sequential readers of folders, by source.
#[derive(Debug, Default)]
pub struct FolderPrefetch(Mutex<LruMap<SourceName, ShownFolders, SOURCES_MAX>>);

impl FolderPrefetch {
    /// Begins a new listing of a source's folders.
    pub fn begin(&self, source: &SourceName) {
        self.0.lock().put(source.clone(), ShownFolders::default());
    }

    /// Adds the next folder that is shown.
    pub fn show(&self, source: &SourceName, partition: &PartitionKey) {
        if let Some(shown) = self.0.lock().get_mut(source)
            && shown.order.len() < FOLDERS_SHOWN_MAX
        {
            let place = shown.order.len();
            shown.places.insert(partition_digest(partition), place);
            shown.order.push(partition.clone());
        }
    }

    /// Records the listing of a folder; returns the folders to prefetch.
    pub fn record_listing(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
    ) -> Vec<PartitionKey> {
        let mut sources = self.0.lock();
        let Some(shown) = sources.get_mut(source) else {
            return Vec::new();
        };
        let Some(place) = shown.places.get(&partition_digest(partition)).copied() else {
            return Vec::new();
        };
        shown.follow(place)
    }

    /// Records that a prefetch found no thread.
    pub fn cancel(&self, source: &SourceName, partition: &PartitionKey) {
        if let Some(shown) = self.0.lock().get_mut(source)
            && let Some(place) = shown.places.get(&partition_digest(partition))
        {
            shown.prefetched.remove(place);
        }
    }

    /// Ends the sequence after a useless prefetch.
    pub fn reset(&self, source: &SourceName) {
        if let Some(shown) = self.0.lock().get_mut(source) {
            shown.in_order = 0;
            shown.prefetched.clear();
        }
    }
}

impl ShownFolders {
    fn follow(&mut self, place: usize) -> Vec<PartitionKey> {
        self.prefetched.remove(&place);
        // A second listing of the same folder is no step.
        if place == self.last {
            return Vec::new();
        }
        let is_backwards = place < self.last;
        let is_next = place.abs_diff(self.last) == 1;
        // A reversal begins a new sequence, a jump ends it.
        self.in_order = match is_next {
            true if is_backwards == self.is_backwards => self.in_order + 1,
            true => 1,
            false => 0,
        };
        (self.last, self.is_backwards) = (place, is_backwards);
        if self.in_order < FOLDERS_IN_ORDER_MIN {
            return Vec::new();
        }
        let step = |by: usize| {
            if is_backwards {
                place.checked_sub(by)
            } else {
                Some(place + by)
            }
        };
        let next = (1..=self.in_order.min(FOLDER_PREFETCHES_MAX)).filter_map(step);
        // A folder is prefetched once until it is listed.
        let next: Vec<usize> = next
            .filter(|place| *place < self.order.len() && self.prefetched.insert(*place))
            .collect();
        next.into_iter()
            .filter_map(|place| self.order.get(place).cloned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::EntryKey;
    use crate::model::{Key, TableName};

    fn read(readers: &FilePrefetch, folder: &str, file: u32, now_ms: u64) -> u32 {
        let source = SourceName {
            table: TableName::new("Pets").unwrap(),
            index: None,
        };
        let base = Key {
            partition: AttributeValue::S(folder.to_owned()),
            sort: Some(AttributeValue::S(format!("{file:04}"))),
        };
        readers.record_read(&(source, EntryKey { index: None, base }), now_ms)
    }

    #[test]
    fn as_many_again_and_in_the_next_folder_twice_as_many() {
        let readers = FilePrefetch::default();
        let worth = |folder: &str, files: std::ops::Range<u32>, now_ms| -> Vec<u32> {
            files
                .map(|file| read(&readers, folder, file, now_ms))
                .collect()
        };
        assert_eq!(worth("a", 0..10, 0), [0, 0, 0, 0, 0, 0, 0, 0, 8, 9]);
        assert_eq!(worth("b", 0..3, 0), [18, 18, 18]);
        // Few files of that folder were read.
        assert_eq!(worth("c", 0..1, 0), [4]);
        assert_eq!(worth("d", 0..1, 0), [0]);
        assert_eq!(worth("a", 5..6, 0), [0]);
        assert_eq!(worth("e", 0..9, 1_000).last(), Some(&8));
        assert_eq!(worth("f", 0..1, 9_000), [0]);
    }

    #[test]
    fn never_more_folders_are_asked_for_than_were_listed_in_order() {
        let mut shown = ShownFolders {
            order: vec![PartitionKey::new(); 100],
            ..ShownFolders::default()
        };
        let mut asked = 0;
        let counts: Vec<usize> = (0..20).map(|place| shown.follow(place).len()).collect();
        assert_eq!(counts[..8], [0, 0, 2, 2, 2, 2, 2, 2]);
        for (listed, count) in (1..).zip(&counts) {
            asked += count;
            assert!(
                asked <= listed + FOLDER_PREFETCHES_MAX && asked - listed.min(asked) <= listed,
                "{listed}: {counts:?}"
            );
        }
        // A jump elsewhere, and a sequence backwards.
        let counts: Vec<usize> = [50, 70, 69, 68, 67]
            .into_iter()
            .map(|place| shown.follow(place).len())
            .collect();
        assert_eq!(counts, [0, 0, 0, 2, 2]);
        let mut few = ShownFolders {
            order: vec![PartitionKey::new(); 4],
            ..ShownFolders::default()
        };
        assert_eq!(
            (0..4).map(|place| few.follow(place).len()).sum::<usize>(),
            1
        );
    }
}
