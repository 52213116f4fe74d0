//! Reads of names, by folder: files that are read in key order, as for a kernel's read-ahead, and
//! names that were absent. `listing` reads ahead by it. Also the threads that fetch ahead.

use std::cmp::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};

use super::known::{EntryPlace, folder_of};
use crate::database::prelude::*;
use crate::database::remote::browse::known::Folder;
use crate::database::thread_pool::{SpawnFailure, ThreadPool};
use crate::database::ttl_map::TtlMap;
use crate::expr::order::compare;

/// The limit of folders with tracked reads.
const FOLDERS_MAX: usize = 256;
/// The pause in milliseconds that ends a sequence.
const PAUSE_MS: u64 = 2_000;

/// The reads of the names of a folder, without a pause.
#[derive(Debug, Default, Clone)]
pub struct NameReads {
    last: Option<AttributeValue>,
    /// The names in key order up to this one.
    pub in_order: u32,
    /// The names that were absent: a program makes files there.
    pub missed: u32,
}

/// The reads of names, by folder.
#[derive(Debug, Default)]
pub struct FolderReads(Mutex<TtlMap<Folder, NameReads, FOLDERS_MAX, PAUSE_MS>>);

impl FolderReads {
    /// Records a read of a name; returns the reads of its folder.
    pub fn record(&self, place: &EntryPlace, now_ms: u64) -> Option<NameReads> {
        let (folder, sort) = folder_of(place)?;
        let mut all = self.0.lock();
        let reads = all.or_default(folder, now_ms);
        if let Some(sort) = sort {
            let before = reads.last.replace(sort.clone());
            match before.and_then(|before| compare(sort, &before)) {
                Some(Ordering::Equal) => {}
                Some(Ordering::Greater) => reads.in_order += 1,
                // The first, another reader, or one in another order.
                Some(Ordering::Less) | None => reads.in_order = 0,
            }
        }
        Some(reads.clone())
    }

    /// Records that a name was absent.
    pub fn record_absent(&self, place: &EntryPlace, now_ms: u64) {
        if let Some((folder, _)) = folder_of(place) {
            self.0.lock().or_default(folder, now_ms).missed += 1;
        }
    }
}

/// The limit of concurrent fetches.
const FETCHES_MAX: usize = 16;

/// Returns the threads that fetch ahead. Without a thread a fetch ends without a result.
pub fn fetch_threads() -> Arc<ThreadPool> {
    let pool = ThreadPool::new("ddbfs-prefetch", FETCHES_MAX, SpawnFailure::Drop);
    Arc::new(pool)
}

/// Fetches on another thread.
pub fn spawn_fetch<T: Send + 'static>(
    threads: &ThreadPool,
    fetch: impl FnOnce() -> T + Send + 'static,
) -> Receiver<T> {
    let (sender, fetched) = sync_channel(1);
    // The receiver is gone if the reader has given up.
    threads.run(Box::new(move || drop(sender.send(fetch()))));
    fetched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::EntryKey;
    use crate::model::{Key, TableName};

    #[test]
    fn names_in_order_are_counted_by_folder_until_a_pause() {
        let reads = FolderReads::default();
        let in_order = |folder: &str, files: std::ops::Range<u32>, now_ms| -> Vec<u32> {
            let read = |file: u32| {
                let source = SourceName {
                    table: TableName::new("Pets").unwrap(),
                    index: None,
                };
                let base = Key {
                    partition: AttributeValue::S(folder.to_owned()),
                    sort: Some(AttributeValue::S(format!("{file:04}"))),
                };
                let place = (source, EntryKey { index: None, base });
                reads.record(&place, now_ms).unwrap().in_order
            };
            files.map(read).collect()
        };
        assert_eq!(in_order("a", 1..5, 0), [0, 1, 2, 3]);
        assert_eq!(in_order("b", 1..3, 0), [0, 1]);
        assert_eq!(in_order("a", 4..6, 1_000), [3, 4]);
        assert_eq!(in_order("a", 2..4, 1_000), [0, 1]);
        assert_eq!(in_order("b", 3..4, 2_000), [0]);
    }
}
