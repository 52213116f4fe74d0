//! The storage engine: an ordered key-value store with snapshots and atomic, durable batches.
//!
//! Keys are 1 to [`KEY_BYTES_MAX`] bytes in byte order; long keys cost more but keep their order
//! (see `long_key`). Two implementations: [`lmdb`] for data, [`memory`] for tests. `lmdb` is the
//! only user of the lmdb crates.
//!
//! Reads use [`Store::snapshot`]: short, one request, results copied out. Writes use
//! [`Store::submit`], which queues a [`WriteJob`] for the one writer thread. That thread runs the
//! queued jobs in one transaction, syncs once, and then completes each job (group commit). A writer
//! that is alone may commit on its own thread instead ([`WriteJob::commit_inline`]).
//!
//! ```text
//! writer    group commit: the queue of jobs and its thread      budget        permits for memory, in shares of the process's limit
//! long_key  long keys over a store with short ones              memory_limit  the limit: control groups, options, machine
//! lmdb/     the store on disk   memory  the store for tests     heap          returns freed memory to the system
//! commit_signal  wakes waiters after a commit                   worker        a thread joined on drop
//! ```

pub mod budget;
mod commit_signal;
pub mod heap;
pub mod lmdb;
pub mod long_key;
pub mod memory;
pub mod memory_limit;
pub mod worker;
mod writer;

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

use std::ops::{Bound, ControlFlow};

pub use crate::codec::key::prefix_end;
use crate::model::api::CommitInline;
pub use crate::model::error::StoreError;

/// The longest key: enough for an index id, digests, and two sort keys with escapes.
pub const KEY_BYTES_MAX: usize = 8 * 1024;

/// A range of keys in byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub const ALL: Self = Self {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };

    /// Returns the range of all keys that start with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            lower: Bound::Included(prefix.to_vec()),
            upper: prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    /// Returns the part of the range after `key`, or the whole range without one.
    #[must_use]
    pub fn after(self, key: Option<Vec<u8>>) -> Self {
        Self {
            lower: key.map_or(self.lower, Bound::Excluded),
            upper: self.upper,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Reverse,
}

/// A callback for each key and value. `Break` ends the walk.
pub type StoreVisit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A consistent view. Calls may nest: a visitor may `get` and `walk` on the same view.
pub trait Read {
    /// Returns the value of `key`.
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError>;

    /// Returns the number of the commit that a snapshot shows, or that an open transaction will
    /// have. While a commit is being made durable, [`Store::commit_id`] may be ahead of it.
    fn commit_id(&self) -> u64;

    /// Visits the entries of `range` in the order of `direction`. Not an iterator: a cursor of LMDB
    /// must not outlive its transaction, and no type of the crate ensures that.
    fn walk(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut StoreVisit<'_>,
    ) -> Result<(), StoreError>;
}

/// Runs [`Read::walk`] with a visitor that can fail: its first error ends the walk and is returned.
///
/// # Errors
/// The error of the walk or of `visit`.
pub fn try_walk(
    read: &dyn Read,
    range: &KeyRange,
    direction: Direction,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let mut failure = None;
    read.walk(range, direction, &mut |key, value| {
        visit(key, value).unwrap_or_else(|error| {
            failure = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failure.map_or(Ok(()), Err)
}

/// Continues a walk, or ends it.
pub fn continue_if(goes_on: bool) -> ControlFlow<()> {
    if goes_on {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

/// A write transaction. Reads see its own writes.
pub trait Write: Read {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes `key`; returns true if it was there.
    fn delete(&mut self, key: &[u8]) -> Result<bool, StoreError>;

    /// Returns the memory that the transaction holds until its end, in bytes: keys and values put
    /// so far, and a page for each changed entry.
    fn held_bytes(&self) -> usize;

    /// Returns this transaction as a plain view.
    fn as_read(&self) -> &dyn Read;
}

/// An atomic change. Runs on the writer thread, or on the submitting thread, see
/// [`WriteJob::commit_inline`].
pub trait WriteJob: Send {
    /// Reads and writes. Runs again from the start if the transaction has to be repeated (map
    /// growth), so it keeps no state of an earlier run. A job that decides to change nothing writes
    /// nothing and returns `Ok`. `Err` is a failure of the store and abandons the whole
    /// transaction.
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError>;

    /// True if the last run removed entries and added none: on a full disk it may use the room
    /// reserved for removals. The bookkeeping that a removal writes is part of it.
    fn is_removal(&self) -> bool {
        false
    }

    /// Returns how the submitting thread commits the job itself while there is no other writer;
    /// `None` if it is always queued.
    fn commit_inline(&self) -> Option<CommitInline> {
        None
    }

    /// Completes the job. Called once, after the change is durable or has failed. Runs on the
    /// writer thread, or inside `submit` if the store is closed or the job was committed inline.
    /// Must not block.
    fn done(self: Box<Self>, result: Result<(), StoreError>);
}

/// A hook that the engine runs at the end of each transaction, before the commit, to write what it
/// gathered over the jobs (counters).
pub trait BatchHook: Send + Sync {
    /// Forgets what was gathered: a transaction starts, or starts again.
    fn begin(&self);
    /// Writes what was gathered, after all jobs and before the commit.
    fn finish(&self, batch: &mut dyn Write) -> Result<(), StoreError>;
}

/// The longest time for which a lease holder may cache an entry, if its end cannot be observed once
/// the process is gone (the kernel's caches). A process that opens the store after a killed holder
/// writes nothing for as long, unless something ends the entries before
/// ([`lmdb::free_lease`]).
pub const LEASE_TTL: std::time::Duration = std::time::Duration::from_secs(30);

/// The holder of the store's exclusive lease. It may cache what it reads, but only while no other
/// process has the store open.
pub trait LeaseHolder: Send + Sync {
    /// Allows caching from now on, each entry for at most [`LeaseHolder::ttl`].
    fn begin(&self);

    /// Ends caching; returns when nothing is cached any more. Another process waits for it, at most
    /// 10 seconds.
    fn end(&self);

    /// Returns the longest time for which an entry is cached, [`LEASE_TTL`] at most. Called before
    /// [`Self::begin`].
    fn ttl(&self) -> std::time::Duration {
        LEASE_TTL
    }

    /// Returns a file of the system that exists as long as anything may be cached, even after this
    /// process has ended. Called before [`Self::begin`].
    fn marker_file(&self) -> Option<std::path::PathBuf> {
        None
    }
}

/// The failures that an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut: the write is on disk.
    #[default]
    Power,
    /// The end of the process, also by kill -9. The write is on disk half a second later; a power
    /// cut before that loses it and leaves every earlier write whole.
    Kill,
}

/// The sizes of the physical store, for statfs and stats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreInfo {
    /// Bytes of the data file in use.
    pub used_bytes: u64,
    /// Bytes free on its filesystem.
    pub free_bytes: u64,
    /// Bytes free there too, but reserved for root.
    pub reserved_bytes: u64,
    pub total_bytes: u64,
    /// Bytes of the log after the last checkpoint, which are replayed after a power cut.
    pub log_bytes: u64,
    /// The time of this process's last checkpoint, if any.
    pub checkpoint_at: Option<std::time::Instant>,
}

/// An ordered byte store.
pub trait Store: Send + Sync {
    /// Returns a view of the last commit of any process. Hold it briefly, and never while waiting
    /// for a write: a write that needs a larger map waits until all views of this process are gone.
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError>;

    /// Queues a job for the writer thread and returns at once, unless the job commits on this
    /// thread ([`WriteJob::commit_inline`]). The queue has no limit of its own: front ends limit
    /// what is in flight.
    fn submit(&self, job: Box<dyn WriteJob>);

    /// Returns the number of the last commit of any process; it changes exactly when the content
    /// may have. A snapshot taken afterwards may still be of the commit before, see
    /// [`Read::commit_id`].
    fn commit_id(&self) -> u64;

    /// Sets the hook of the writer thread; once, before the first job.
    fn set_hook(&self, hook: std::sync::Arc<dyn BatchHook>);

    fn info(&self) -> StoreInfo;

    /// Waits until [`Store::commit_id`] differs from `after`, through a commit of any process, at
    /// most for `timeout`; returns the id. A snapshot taken afterwards shows that commit.
    ///
    /// # Errors
    /// The system cannot watch the data file.
    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, StoreError>;

    /// Gives `holder` the lease whenever no other process has the store open, from a thread of its
    /// own, until the store is closed; never if that cannot be observed. One holder per store. It
    /// must not hold the store, which would then never be dropped.
    fn hold_lease(&self, holder: std::sync::Arc<dyn LeaseHolder>) {
        drop(holder);
    }

    /// Gives up the memory of the file's pages that were read, which the system caches all the same.
    /// Called by readers of whole tables.
    fn release_pages(&self) {}

    /// Checks that the files are whole and fit each other. The engine checks their content.
    ///
    /// # Errors
    /// `Damaged` with a sentence, or a failed read.
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs queued jobs to their end and syncs. Later jobs fail with `Closed`.
    fn close(&self);
}
