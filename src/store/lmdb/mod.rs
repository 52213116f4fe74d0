//! The store on disk: LMDB (a copy-on-write B+tree in a memory-mapped file) behind a write-ahead
//! log. The only user of the lmdb crates.
//!
//! ```text
//! environment        transactions, map growth, failures; owns the open_environment behind the map_lock
//! journal            durability of commits: the log/ (write-ahead log), checkpoints, pins
//! checkpointer pace  the checkpoint thread, and its speed      checkpoint_file  the last checkpoint, on disk
//! recovery           opening after a power cut                 recovery_analysis  its analysis phase
//! lease*             the cache lease between processes         locks  file locks     watch  commits of other processes
//! pages page_tree    a reader of LMDB's pages without LMDB     meta_pages log_check  checks
//! offline_store      a read-only store from files              compact  a smaller copy of the data file
//! file_bytes         numbers and notes in files
//! ```
//!
//! LMDB's sharp edges, and the module that solves each:
//!
//! - The map has a fixed size, and no transaction may be open in the process while it changes:
//!   `map_lock` admits every transaction and excludes all of them while `environment` grows the map.
//!   A batch that filled the map runs again.
//! - Another process may grow the file: the next transaction here fails with `MapResized`, and the map
//!   follows.
//! - A second environment of one file in one process breaks its locks: `directory` keeps a register of
//!   open directories.
//! - Readers have slots; a killed process keeps its slots and pins old pages: stale ones are cleared at
//!   open and every now and then.
//! - Cursors and iterators may outlive their transaction in the crate's types: `transaction` keeps
//!   cursors inside one function.
//! - After a failed write of the meta page every transaction fails: writes are refused from then on, and
//!   the environment is opened again for reads.
//! - It trusts its pages: `pages` checks them before LMDB reads them, and `sigbus` ends the process on
//!   damage that is found later.
//! - A delete needs free pages before it frees any: `reserve` keeps room for it on a disk that gets full.
//! - Two syncs of scattered pages a commit are slow, and NOSYNC alone may leave a file that does not
//!   open after a power cut: NOSYNC is used behind a write-ahead log, see `journal`, and `recovery`
//!   for the opening after a power cut.
//! - WRITEMAP turns a full disk into SIGBUS: it is not used.

mod checkpoint_file;
mod checkpointer;
mod compact;
mod directory;
mod environment;
mod error;
mod file_bytes;
mod identity;
mod journal;
mod lease;
mod lease_marker;
mod lease_thread;
mod locks;
mod log;
mod log_check;
mod map_lock;
mod meta_pages;
mod offline_store;
mod open_environment;
mod options;
mod pace;
mod page_tree;
mod pages;
mod pin;
mod recovery;
mod recovery_analysis;
mod reserve;
mod sigbus;
mod system;
mod transaction;
mod usage;
mod watch;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use self::checkpointer::Checkpointer;
pub use self::compact::{Compaction, store_process};
use self::environment::LmdbEnvironment;
pub use self::lease::free_lease;
use self::lease_thread::LeaseThread;
pub use self::offline_store::OfflineStore;
pub use self::options::{LeaseLimits, LmdbOptions};
use self::pages::WalkReach;
pub use self::recovery::holds_store;
use self::watch::Watcher;
use super::commit_signal::CommitSignal;
use super::writer::{Backend, WriterThread};
use super::{BatchHook, LeaseHolder, Read, Store, StoreError, StoreInfo, WriteJob};

/// A snapshot may show an announced commit a moment later: the pause between two polls, and the
/// most polls.
const READABLE_POLL: Duration = Duration::from_millis(1);
const READABLE_POLLS_MAX: u32 = 100;

/// A [`Store`] in a directory. Other processes may open the same directory at the same time; this
/// process only once.
///
/// Do not open it before a `fork` and use it after. A thread must not wait for a write while it
/// holds a snapshot: if the map has to grow for the write, each would wait for the other until the
/// write fails.
#[derive(Debug)]
pub struct LmdbStore {
    writer: WriterThread,
    /// Started by the first wait: most stores need no such thread.
    watcher: Mutex<Option<Watcher>>,
    commits: Arc<CommitSignal>,
    checkpointer: Mutex<Option<Checkpointer>>,
    lease_thread: Mutex<Option<LeaseThread>>,
    environment: Arc<LmdbEnvironment>,
}

impl LmdbStore {
    /// Opens the store in `dir`, which is created if needed, with mode 0700.
    ///
    /// Fails if the directory or a file in it is a symlink or belongs to another user, if this
    /// process has it open already, and if the files are not a store.
    pub fn open(dir: &Path, options: LmdbOptions) -> Result<Self, StoreError> {
        let environment = Arc::new(LmdbEnvironment::open(dir, options)?);
        let writer = WriterThread::start(Arc::clone(&environment) as Arc<dyn Backend>)?;
        let checkpointer = Mutex::new(Some(Checkpointer::start(Arc::clone(&environment))?));
        Ok(Self {
            writer,
            watcher: Mutex::default(),
            commits: Arc::default(),
            checkpointer,
            lease_thread: Mutex::default(),
            environment,
        })
    }

    /// Checks every page in use. Opening checks the first of them, and all of a small store.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], or a failed snapshot.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        self.environment.check_pages(WalkReach::Whole)
    }

    /// Checks the checkpoint and the log after it, and that the data file has their changes.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], or a failed read.
    pub fn check_log(&self) -> Result<(), StoreError> {
        self.environment.check_log()
    }
}

/// Opens a further file of the data directory for appending: mode 0600, never through a symlink.
/// The directory is created or checked as by [`LmdbStore::open`].
///
/// # Errors
/// The directory or the file is refused, or the system cannot open it.
pub fn open_extra_file(dir: &Path, name: &str) -> Result<std::fs::File, StoreError> {
    directory::open_file(dir, name)
}

#[cfg(test)]
impl LmdbStore {
    /// Returns the number of entries of LMDB's database, pointers included.
    pub(super) fn raw_entries(&self) -> Result<usize, StoreError> {
        self.environment.raw_entries()
    }
}

impl Store for LmdbStore {
    fn snapshot(&self) -> Result<Box<dyn Read + '_>, StoreError> {
        self.environment
            .snapshot()
            .map(|snapshot| Box::new(snapshot) as Box<dyn Read + '_>)
    }

    fn submit(&self, job: Box<dyn WriteJob>) {
        self.writer.submit(job);
    }

    fn commit_id(&self) -> u64 {
        self.environment.commit_id()
    }

    fn set_hook(&self, hook: Arc<dyn BatchHook>) {
        self.writer.set_hook(hook);
    }

    fn info(&self) -> StoreInfo {
        self.environment.info()
    }

    fn release_pages(&self) {
        self.environment.release_pages();
    }

    fn wait_for_commit(&self, after: u64, timeout: Duration) -> Result<u64, StoreError> {
        let mut watcher = self.watcher.lock();
        if watcher.is_none() {
            let commits = Arc::clone(&self.commits);
            *watcher = Some(Watcher::start(
                Arc::clone(&self.environment),
                Box::new(move || commits.notify()),
            )?);
        }
        // Released before the wait, which may be long: `close` takes it.
        drop(watcher);
        let id = self.commits.wait(|| self.commit_id(), after, timeout);
        // LMDB publishes a commit's number a moment before a snapshot shows it; a writer killed in
        // that moment leaves it so.
        for _ in 0..READABLE_POLLS_MAX {
            if id == after || self.snapshot()?.commit_id() >= id {
                break;
            }
            std::thread::sleep(READABLE_POLL);
        }
        Ok(id)
    }

    fn hold_lease(&self, holder: Arc<dyn LeaseHolder>) {
        match LeaseThread::start(Arc::clone(&self.environment.lease), holder) {
            Ok(keeping) => *self.lease_thread.lock() = Some(keeping),
            Err(error) => ::log::warn!("nothing is kept: {error}"),
        }
    }

    /// Checks the pages first: the check of the entries trusts them.
    fn check(&self) -> Result<(), StoreError> {
        self.check_pages().and_then(|()| self.check_log())
    }

    fn close(&self) {
        let lease = self.lease_thread.lock().take();
        // Outside the lock, as it joins its thread.
        drop(lease);
        self.writer.close();
        if let Some(checkpointer) = self.checkpointer.lock().take() {
            drop(checkpointer);
            self.environment.shutdown();
        }
        let watcher = self.watcher.lock().take();
        // Outside the lock, as it joins the watcher's thread.
        drop(watcher);
    }
}

impl Drop for LmdbStore {
    fn drop(&mut self) {
        self.close();
    }
}
