//! Computations that the next who asks for the same file gets too: for a short time, and as long as nothing was committed since they
//! began.

use super::computation::Computation;
use super::spool::{DISK_BYTES_MAX, Spools};

use crate::fs::prelude::*;
use std::time::Instant;

/// How long a computation serves others. Some results change with the time alone: those below `live`.
const AGE_MAX: Duration = Duration::from_secs(2);
/// Computations that nobody may have open.
const KEPT_MAX: usize = 64;

#[derive(Debug)]
struct Entry {
    computation: Arc<Computation>,
    commit_id: u64,
    /// When it was seen to have ended, or when it began.
    since: Instant,
    has_ended: bool,
}

/// See the module. A file is named by its inode number.
#[derive(Debug, Default)]
pub struct Kept {
    pub spools: Arc<Spools>,
    entries: Mutex<HashMap<u64, Entry>>,
}

impl Kept {
    /// The computation of a file as of a commit, if there is one.
    #[must_use]
    pub fn get(&self, ino: u64, commit_id: u64) -> Option<Arc<Computation>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(&ino).filter(|entry| entry.commit_id == commit_id)?;
        entry.is_fresh().then(|| Arc::clone(&entry.computation))
    }

    /// Keeps a computation that begins at what this commit shows.
    pub fn insert(&self, ino: u64, commit_id: u64, computation: Arc<Computation>) {
        let entry = Entry { computation, commit_id, since: Instant::now(), has_ended: false };
        let replaced = self.entries.lock().insert(ino, entry);
        // Outside the lock: dropping a computation gives back its disk.
        drop(replaced);
        self.forget_old();
    }

    /// Drops what is too old, and the oldest when there are too many or they hold too much. What somebody has open stays with them.
    pub fn forget_old(&self) {
        let mut gone = Vec::new();
        let mut entries = self.entries.lock();
        gone.extend(entries.extract_if(|_, entry| !entry.is_fresh()).map(|(_, entry)| entry));
        while entries.len() > 1 && (entries.len() > KEPT_MAX || self.spools.disk_bytes() > DISK_BYTES_MAX / 2) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.since).map(|(ino, _)| *ino);
            // One at a time, and really: what it held is to be counted off before the next look.
            drop(oldest.and_then(|ino| entries.remove(&ino)));
        }
        drop(entries);
    }
}

impl Entry {
    fn is_fresh(&mut self) -> bool {
        if !self.has_ended && self.computation.is_ended() {
            (self.has_ended, self.since) = (true, Instant::now());
        }
        // One that is under way is what everybody waits for, however long it takes.
        self.since.elapsed() < AGE_MAX || (!self.has_ended && self.computation.is_awaited())
    }
}
