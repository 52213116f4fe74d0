//! Ordered bytes with snapshots and atomic, durable batches.
//!
//! Keys are 1 to [`KEY_BYTES_MAX`] bytes in byte order; long keys cost more but keep their order (see `long_key`).
//! Two implementations: [`lmdb`] for data, [`memory`] for tests. `lmdb` is the only user of the lmdb crates.
//!
//! Reading: [`Store::snapshot`], short, one request, results copied out. Writing: [`Store::submit`] gives a [`WriteJob`] to the one
//! writer thread, which runs queued jobs in one transaction, syncs once, and then tells each job (group commit).

pub mod budget;
mod commits;
pub mod heap;
pub mod lmdb;
pub mod long_key;
pub mod memory;
pub mod memory_limit;
mod worker;
mod writer;

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

use std::ops::{Bound, ControlFlow};

pub use crate::codec::key::prefix_end;
use crate::model::api::CommitInline;
pub use crate::model::error::StoreError;

/// The longest key of the interface: enough for index id, digests, two sort keys with escapes.
pub const KEY_BYTES_MAX: usize = 8 * 1024;

/// A range of keys in byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Every key that starts with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            lower: Bound::Included(prefix.to_vec()),
            upper: prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded),
        }
    }

    /// What is behind a key of the range; the whole range without one.
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

/// Called with each key and value; `Break` ends the walk.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A consistent view. Calls may nest: a visitor may `get` and `walk` on the same view.
pub trait Read {
    /// The value of `key`.
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StoreError>;

    /// Number of the commit that a snapshot shows, or that an open transaction is to be. While a commit is being made durable, [`Store::commit_id`] may be ahead of it.
    fn commit_id(&self) -> u64;

    /// Visits the entries of `range` in key order, or in reverse key order.
    /// Not an iterator: a cursor of LMDB's must not outlive its transaction, and no type of the crate would hold that.
    fn walk(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;
}

/// [`Read::walk`] with a visitor that can fail: its first error ends the walk and is returned.
///
/// # Errors
/// Those of the walk and of `visit`.
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

/// A write transaction; reads see its own writes.
pub trait Write: Read {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes `key`; whether it was there.
    fn delete(&mut self, key: &[u8]) -> Result<bool, StoreError>;

    /// What it holds in memory until it has ended, in bytes: keys and values put so far, and a page for each entry that changed.
    fn held_bytes(&self) -> usize;

    /// This transaction as a plain view.
    fn as_read(&self) -> &dyn Read;
}

/// One atomic change, run on the writer thread, or on the one that submits it, see [`WriteJob::commit_inline`].
pub trait WriteJob: Send {
    /// Reads and writes. Runs again from the start when the transaction had to be repeated (map growth), so it keeps no state
    /// from an earlier run. A job that decides to change nothing writes nothing and returns `Ok`. `Err` is a failure of the store
    /// and abandons the whole transaction.
    fn run(&mut self, batch: &mut dyn Write) -> Result<(), StoreError>;

    /// Whether the last run removed and added nothing: on a full disk it may use the room that is kept for removals. What a removal
    /// has to note besides is part of it.
    fn is_removal(&self) -> bool {
        false
    }

    /// How the submitting thread commits it itself while nobody else writes; `None`: it is always queued.
    fn commit_inline(&self) -> Option<CommitInline> {
        None
    }

    /// Called once, after the change is durable or has failed. Runs on the writer thread, or inside `submit` when the store is
    /// closed or it was committed inline: must not block.
    fn done(self: Box<Self>, result: Result<(), StoreError>);
}

/// What the engine calls at the end of each transaction, before commit, to write what it gathered over the jobs (counters).
pub trait BatchHook: Send + Sync {
    /// A transaction starts, or starts again: forget what was gathered.
    fn begin(&self);
    /// All jobs ran; last writes before the commit.
    fn finish(&self, batch: &mut dyn Write) -> Result<(), StoreError>;
}

/// How long something may be kept that was read from a store, by what cannot be told that it ended once the process is gone. A process that
/// opens the store after one that was killed writes nothing for as long.
pub const KEEP: std::time::Duration = std::time::Duration::from_secs(3);

/// One who keeps what it read from a store, for others to read again: allowed only while no other process has the store open.
pub trait Keeper: Send + Sync {
    /// From now on it may keep things, each for [`KEEP`] at most.
    fn begin(&self);

    /// Returns when nothing is kept any more, and nothing will be. Another process waits for it, 10 seconds at most.
    fn end(&self);

    /// A file of the system's that is there as long as anything may be kept, whatever became of this process; asked for before it begins.
    fn remains(&self) -> Option<std::path::PathBuf> {
        None
    }
}

/// What a write survives once it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut: it is on disk.
    #[default]
    Power,
    /// The end of the process, also by kill -9. It is on disk half a second later; a power cut before that loses it, and leaves what was
    /// before it whole.
    Kill,
}

/// Sizes of the physical store, for statfs and stats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreInfo {
    /// Bytes of the data file in use.
    pub used_bytes: u64,
    /// Bytes free on its filesystem.
    pub free_bytes: u64,
    /// Free there too, but kept for root.
    pub reserved_bytes: u64,
    pub total_bytes: u64,
    /// Bytes of the log behind the last checkpoint: what would be written again after a power cut.
    pub log_bytes: u64,
    /// When this process made its last checkpoint, if it did.
    pub checkpoint_at: Option<std::time::Instant>,
}

/// An ordered byte store.
pub trait Store: Send + Sync {
    /// A view of the last commit of any process. Hold it shortly, and never while waiting for a write: a write that needs a larger
    /// map waits until all views of this process are gone.
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError>;

    /// Queues a job for the writer thread and returns at once, unless the job commits on this thread ([`WriteJob::commit_inline`]). The
    /// queue has no bound of its own: front ends bound what is in flight.
    fn submit(&self, job: Box<dyn WriteJob>);

    /// Number of the last commit of any process; changes exactly when the content may have. A snapshot taken afterwards may still be
    /// of the commit before: ask [`Read::commit_id`] what it shows.
    fn commit_id(&self) -> u64;

    /// Sets the hook of the writer thread; once, before the first job.
    fn set_hook(&self, hook: std::sync::Arc<dyn BatchHook>);

    fn info(&self) -> StoreInfo;

    /// Sleeps until [`Store::commit_id`] is another than `after`, through a commit of any process, at most for `timeout`; the id then.
    /// A snapshot taken afterwards shows that commit.
    ///
    /// # Errors
    /// The system cannot watch the data file.
    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, StoreError>;

    /// Lets `keeper` keep what it reads whenever no other process has the store open, from a thread of its own; until the store is closed, or
    /// never where that cannot be known. One keeper a store. It must not hold the store, which would then never be dropped.
    fn keep_alone(&self, keeper: std::sync::Arc<dyn Keeper>) {
        drop(keeper);
    }

    /// Ends that: nothing is kept any more when it returns. Closing the store does so too.
    fn stop_keeping(&self) {}

    /// Looks at its files: whether they are whole, and fit each other. What is in them the engine checks.
    ///
    /// # Errors
    /// `Damaged` with a sentence; those of reading.
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs queued jobs to their end and syncs; further jobs fail with `Closed`.
    fn close(&self);
}
