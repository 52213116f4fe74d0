//! Detection of sequential reads, as for a kernel's read-ahead: files read in key order in a folder.
//! `listing` prefetches by it. Also the threads that fetch ahead.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use super::cache::EntryPlace;
use super::known::Folder;
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

/// The limit of concurrent prefetches.
const PREFETCHES_MAX: usize = 16;

/// Counts a thread until it ends, also by a panic.
struct PrefetchThread(Arc<AtomicUsize>);

impl Drop for PrefetchThread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Fetches on a thread of its own; `None` if no thread is available.
pub fn spawn_fetch<T: Send + 'static>(
    prefetches: &Arc<AtomicUsize>,
    fetch: impl FnOnce() -> T + Send + 'static,
) -> Option<Receiver<T>> {
    // Counted first and undone by the guard, so that concurrent callers cannot exceed the limit
    // together.
    let is_full = prefetches.fetch_add(1, Ordering::AcqRel) >= PREFETCHES_MAX;
    let counted = PrefetchThread(Arc::clone(prefetches));
    if is_full {
        return None;
    }
    let (sender, fetched) = sync_channel(1);
    let work = move || {
        let page = fetch();
        // Before the page is sent: its reader may want the next prefetch at once.
        drop(counted);
        // The receiver is gone if the reader has given up.
        let _ = sender.send(page);
    };
    std::thread::Builder::new()
        .name("ddbfs-prefetch".to_owned())
        .spawn(work)
        .ok()?;
    Some(fetched)
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
}
