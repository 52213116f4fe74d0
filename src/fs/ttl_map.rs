//! Maps of recent events, bounded in entries and in age: an expired entry is absent, and beyond the
//! maximum the oldest is evicted.
//!
//! | map | content | purpose | age | entries |
//! |---|---|---|---|---|
//! | `process::ProcessCache` | the process of a thread | `/proc` costs as much as a call | 1 s | 10,000 |
//! | `mount::call_log::LastResponses` | the response to a session's last call | `.ddb/last/` | none | 1,000, 64 MiB |
//! | the same | the session of a process | `/proc` again | 1 s | 256 |
//! | `mount::error_log::ErrorLog` | a session's last failure, and the last name that it did not find | `.ddb/errors/last` | none | 1,000 each |
//! | `mount::batch_reports` | a session's last batch in a table | `batch/result.json` | none | 200, and bytes |
//! | `mount::archiver_quirks` | names restored in place of derived files | `-o restore` | none | 65,536 |
//! | `open::host::rm_guard` | processes that tried to unlink a `schema.json` | their further deletes fail | 5 s | 1,000 |
//! | the same | saved queries that a process removed | restored when it meets a veto | 5 s | 1,000 |
//! | `mount::archiver_quirks` | processes that unlinked a permanent file, or are removing a table | the file is hidden from that process | 60 s | 1,000 |
//! | `view::kernel_cache` | threads that list | how many entries they get with attributes | 60 s | 1,000 |
//! | the same | the last thread that listed a directory | a look by another thread counts for it | 60 s | 1,000 |
//! | `view::kernel_cache` | opens that were refused by ESTALE | each is refused once | 1 s | 1,000 |
//! | `open::host::behind` | failures of writes that ended after their call | the next close or fsync has them | none | 10,000 |
//! | the same | processes that remove what they have listed | their deletes go in batches | 10 s | 1,000 |
//! | `open::host::creations` | processes that copy files | a new file is not asked for | 2 s | 1,000 |
//! | `view::kernel_cache` | names about to be renamed | the kernel must not cache them | 10 s | 1,000 |
//! | `open::host::optimistic_lock` | the last writer of an item | named in a refused write | none | 10,000 |
//! | the same | texts that were read | a refused write lists the changes | none | 10,000, 16 MiB |
//!
//! Some maps are not among them, since more than age decides when their entries end: the versions
//! that processes have read (`open::host::optimistic_lock`), names between create and their first
//! text (`open::host::creations`), texts and computations valid until the next commit
//! (`mount::text_cache`, `open::computed`).

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

pub use crate::database::ttl_map::TtlMap;
use crate::model::clock::{Clock as _, SystemClock};
use crate::store::memory_limit::limit_share;

/// Returns the wall-clock time, in milliseconds since the epoch.
pub(in crate::fs) fn now_ms() -> u64 {
    SystemClock.now_ms()
}

/// The values of one [`WeightedMap`] take at most this fraction of the memory limit.
const LIMIT_PARTS: u64 = 64;

/// A map without expiry that is bounded in bytes too, in fewer where memory is short; the newest
/// entry always stays.
#[derive(Debug)]
pub struct WeightedMap<K: Hash + Eq, V, const ENTRIES_MAX: usize, const BYTES_MAX: usize> {
    /// Values with their sizes in bytes.
    entries: TtlMap<K, (V, usize), { usize::MAX }>,
    bytes: usize,
}

impl<K: Hash + Eq, V, const ENTRIES_MAX: usize, const BYTES_MAX: usize> Default
    for WeightedMap<K, V, ENTRIES_MAX, BYTES_MAX>
{
    fn default() -> Self {
        Self {
            entries: TtlMap::default(),
            bytes: 0,
        }
    }
}

impl<K: Hash + Eq + Clone, V, const ENTRIES_MAX: usize, const BYTES_MAX: usize>
    WeightedMap<K, V, ENTRIES_MAX, BYTES_MAX>
{
    /// Inserts a value of this size as the newest.
    pub fn insert(&mut self, key: K, value: V, bytes: usize) {
        let before = self.entries.insert(key, (value, bytes), 0);
        self.bytes = self.bytes + bytes - before.map_or(0, |(_, bytes)| bytes);
        let bytes_max = limit_share(BYTES_MAX, LIMIT_PARTS);
        while self.len() > 1 && (self.len() > ENTRIES_MAX || self.bytes > bytes_max) {
            self.bytes -= self.entries.pop_oldest().map_or(0, |(_, bytes)| bytes);
        }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key, 0).map(|(value, _)| value)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(value, _)| value)
    }
}

/// A container that can be empty.
pub trait IsEmpty {
    fn is_empty(&self) -> bool;
}

impl<T> IsEmpty for Vec<T> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<T> IsEmpty for BTreeSet<T> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Hash + Eq + Clone, V, const ENTRIES_MAX: usize, const AGE_MS_MAX: u64> IsEmpty
    for TtlMap<K, V, ENTRIES_MAX, AGE_MS_MAX>
{
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A container that is empty most of the time and read by every call: emptiness is checked without
/// its lock.
#[derive(Debug, Default)]
pub struct FastEmpty<T> {
    value: Mutex<T>,
    is_some_and: AtomicBool,
}

impl<T: IsEmpty> FastEmpty<T> {
    /// Changes the content; later calls of the other methods see the change.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut content = self.value.lock();
        let changed = change(&mut content);
        self.is_some_and
            .store(!content.is_empty(), Ordering::SeqCst);
        changed
    }

    pub fn is_empty(&self) -> bool {
        !self.is_some_and.load(Ordering::SeqCst)
    }

    /// True if the content is not empty and matches.
    pub fn is_any(&self, predicate: impl FnOnce(&T) -> bool) -> bool {
        !self.is_empty() && predicate(&self.value.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_it_is_asked_only_while_there_is_any() {
        let cell = FastEmpty::<Vec<u8>>::default();
        assert!(cell.is_empty() && !cell.is_any(|_| true));
        cell.update(|list| list.push(1));
        assert!(cell.is_any(|list| list == &[1]) && !cell.is_any(|list| list == &[2]));
        assert_eq!((cell.update(Vec::pop), cell.is_empty()), (Some(1), true));
    }
}
