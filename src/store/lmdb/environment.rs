//! The LMDB environment: opening, transactions, growth of the map, failure.

use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lmdb::{Environment, Error, Transaction as _};

use super::compact::remove_rest;
use super::directory::DataDirectory;
use super::error::{is_fatal, store_error};
use super::gate::{Gate, Pass};
use super::guard;
use super::heads::{HEAD_READS_MAX, check_heads, damaged};
use super::opened::{MAP_STEP_BYTES, Opened};
use super::options::LmdbOptions;
use super::pages::{self, Damage, Reach};
use super::reserve::Reserve;
use super::system::{disk_space, prefer_this_thread};
use super::transaction::{Batch, Snapshot};
use crate::store::long_key::LongKeys;
use crate::store::writer::{Backend, Body, Transaction};
use crate::store::{Direction, Durability, KeyRange, Read as _, StoreError, StoreInfo};

/// The least a map grows by.
const GROWTH_BYTES_MIN: usize = 64 * 1024 * 1024;

/// How often one batch may grow or follow the map: from the smallest map to more than a machine can address.
const RETRIES_MAX: u32 = 48;

/// Stale readers are cleared after this many commits: one pinned 215 MB within 500.
const COMMITS_PER_READER_CHECK: u64 = 1024;

/// A write that fails with EIO while less than this is free (beside its own size) hit a full disk: LMDB reports a short write as
/// EIO.
const LOW_SPACE_BYTES: u64 = 8 * 1024 * 1024;

/// How long and how often a removal waits on a full disk for readers to end.
const READER_WAIT: Duration = Duration::from_millis(25);
const READER_WAITS_MAX: u32 = 20;

/// What an addition writes besides its own bytes: the pages on the way to them.
const ADDITION_SLACK_BYTES: u64 = 256 * 1024;

/// The environment behind its gate.
#[derive(Debug)]
pub(super) struct LmdbEnvironment {
    gate: Gate<Opened>,
    /// Nothing may be written any more.
    read_only: AtomicBool,
    commits: AtomicU64,
    options: LmdbOptions,
    reserve: Reserve,
    // Last: the directory is given back after the environment has closed.
    directory: DataDirectory,
}

impl LmdbEnvironment {
    pub fn open(dir: &Path, options: LmdbOptions) -> Result<Self, StoreError> {
        let directory = DataDirectory::take(dir)?;
        // Before LMDB maps the file, as it trusts both heads; and the reserve before LMDB opens its lock file, see there.
        check_heads(&directory)?;
        let reserve = Reserve::open(&directory);
        let gate = Gate::new(Opened::open(&directory, &options)?);
        guard::watch_map(&directory.data_file());
        let (read_only, commits) = (AtomicBool::new(false), AtomicU64::new(0));
        let environment = Self { gate, read_only, commits, options, reserve, directory };
        environment.clear_stale_readers();
        environment.check_pages(Reach::Bounded)?;
        // LMDB's own lock is held now: nobody compacts.
        if let Err(error) = remove_rest(&environment.directory) {
            log::warn!("the rest of an interrupted compaction cannot be removed: {error}");
        }
        Ok(environment)
    }

    /// Looks at the pages of the last commit.
    pub fn check_pages(&self, reach: Reach) -> Result<(), StoreError> {
        let failed = |damage: Damage| damaged(&self.directory, &damage);
        let file = File::open(self.directory.data_file()).map_err(|error| failed(error.into()))?;
        // A commit takes the older head's place: two of them since the snapshot, and its own is gone.
        for _ in 0..HEAD_READS_MAX {
            let snapshot = self.snapshot()?;
            if pages::walk(&file, snapshot.commit_id(), reach).map_err(failed)?.is_some() {
                return Ok(());
            }
        }
        Err(failed(Damage::Head))
    }

    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    /// A read transaction of the last commit.
    pub fn snapshot(&self) -> Result<LongKeys<Snapshot<'_>>, StoreError> {
        let (mut readers_cleared, mut reopened) = (false, false);
        for _ in 0..RETRIES_MAX {
            let error = match Snapshot::begin(self.gate.enter()) {
                Ok(snapshot) => return Ok(LongKeys::new(snapshot)),
                Err(error) => error,
            };
            match error {
                Error::MapResized => self.follow_map()?,
                Error::ReadersFull if !readers_cleared => {
                    // Once: slots that are still taken then are those of processes that live.
                    readers_cleared = true;
                    self.clear_stale_readers();
                }
                Error::Panic if !reopened => {
                    reopened = true;
                    self.reopen()?;
                }
                error => return Err(store_error(error)),
            }
        }
        Err(store_error(Error::MapResized))
    }

    /// Number of the last commit of any process.
    pub fn commit_id(&self) -> u64 {
        let opened = self.gate.enter();
        // The call itself fails only for missing arguments.
        opened.environment().and_then(Environment::info).map_or(0, |info| info.last_txnid() as u64)
    }

    pub fn info(&self) -> StoreInfo {
        let opened = self.gate.enter();
        let disk = disk_space(self.directory.path()).unwrap_or_default();
        StoreInfo {
            used_bytes: used_bytes(&opened),
            free_bytes: disk.free_bytes,
            reserved_bytes: disk.reserved_bytes,
            total_bytes: disk.total_bytes,
        }
    }

    #[cfg(test)]
    pub fn raw_entries(&self) -> Result<usize, StoreError> {
        self.gate.enter().environment().and_then(Environment::stat).map(|stat| stat.entries()).map_err(store_error)
    }

    /// One transaction. The pass is held throughout: the map stays as it is until the commit is over.
    fn attempt(&self, body: &mut Body<'_>, disk: Disk) -> Attempt {
        let opened: Pass<'_, Opened> = self.gate.enter();
        let transaction = match opened.environment().and_then(Environment::begin_rw_txn) {
            Ok(transaction) => transaction,
            Err(Error::MapResized) => return Attempt::MapResized,
            Err(error) => return Attempt::Ended(Err(self.write_failed(error, 0))),
        };
        let mut batch = LongKeys::new(Batch::new(transaction, opened.database));
        let result = body(&mut batch);
        // Before the result: a job may have taken this failure for another, and what it did after it is void.
        if batch.raw().map_full() {
            return Attempt::MapFull;
        }
        if let Err(error) = result {
            return Attempt::Ended(Err(error));
        }
        let (written_bytes, is_removal) = (batch.written_bytes() as u64, batch.is_removal());
        if !self.use_reserve(&opened, disk, (written_bytes, is_removal)) {
            return Attempt::DiskFull { room_helps: false, is_removal };
        }
        match batch.into_raw().commit() {
            Ok(()) => Attempt::Ended(Ok(())),
            Err(Error::MapFull) => Attempt::MapFull,
            // A write that ends short is EIO to LMDB.
            Err(Error::Other(libc::EIO)) if disk != Disk::Unknown => Attempt::DiskFull { room_helps: true, is_removal },
            Err(error) => match self.write_failed(error, written_bytes) {
                // EFBIG is a bound of the file or of the process: room on the disk does not lift it.
                StoreError::NoSpace => Attempt::DiskFull { room_helps: error != Error::Other(libc::EFBIG), is_removal },
                error => Attempt::Ended(Err(error)),
            },
        }
    }

    /// Inside a transaction that is about to commit: a removal that found the disk full gets the reserve; what adds needs a reserve that is
    /// whole, or as many free pages in the data file as it lacks. Whether the transaction may commit.
    fn use_reserve(&self, opened: &Opened, disk: Disk, (written_bytes, is_removal): (u64, bool)) -> bool {
        match disk {
            Disk::Turning => return true,
            Disk::Full { room_helps } if is_removal => {
                if room_helps {
                    self.reserve.give();
                }
                return true;
            }
            Disk::Unknown | Disk::Full { .. } => {}
        }
        if is_removal || written_bytes == 0 || self.reserve.missing_bytes() == 0 {
            return true;
        }
        self.reserve.take_back();
        let missing_bytes = self.reserve.missing_bytes();
        missing_bytes == 0 || free_bytes(opened) >= missing_bytes + written_bytes.saturating_mul(2) + ADDITION_SLACK_BYTES
    }

    /// After a commit that found the disk full, while no other process writes: the data file gives up what failed commits left behind its
    /// last page, and the reserve takes what it lacks.
    fn take_reserve_back(&self) {
        let opened = self.gate.enter();
        // Without one, whoever writes next takes it back.
        // Nothing is written in it: it only keeps the writers of other processes off.
        let Ok(transaction) = opened.environment().and_then(Environment::begin_rw_txn) else { return };
        if let Err(error) = self.cut_data_file(&opened) {
            log::debug!("the data file keeps what failed commits left: {error}");
        }
        self.reserve.take_back();
        transaction.abort();
    }

    /// Inside a write transaction.
    fn cut_data_file(&self, opened: &Opened) -> std::io::Result<()> {
        let used_bytes = used_bytes(opened);
        let file = std::fs::OpenOptions::new().write(true).open(self.directory.data_file())?;
        if used_bytes > 0 && file.metadata()?.len() > used_bytes { file.set_len(used_bytes) } else { Ok(()) }
    }

    /// Commits twice without changing anything. LMDB gives a page that one commit freed to the second commit after it: on a full
    /// disk, what was deleted last would never become room when nothing but the refused write is tried.
    fn turn_free_pages(&self) {
        for _ in 0..2 {
            if !matches!(self.attempt(&mut rewrite_first, Disk::Turning), Attempt::Ended(Ok(()))) {
                return;
            }
        }
    }

    /// Judges the failure of a transaction's begin or commit, or of a sync.
    pub fn write_failed(&self, error: Error, written_bytes: u64) -> StoreError {
        let full = || {
            disk_space(self.directory.path()).is_ok_and(|disk| disk.free_bytes < written_bytes.saturating_mul(2) + LOW_SPACE_BYTES)
        };
        if error == Error::Other(libc::EIO) && full() {
            return StoreError::NoSpace;
        }
        if is_fatal(error) && !self.read_only.swap(true, Ordering::AcqRel) {
            log::error!("a write of the store failed: {error}; it is read-only from now on, until a restart");
        }
        store_error(error)
    }

    /// A larger map.
    fn grow_map(&self) -> Result<(), StoreError> {
        self.resize_map(|old_bytes| {
            let new_bytes = old_bytes.saturating_mul(2).max(old_bytes.saturating_add(GROWTH_BYTES_MIN));
            log::debug!("the map grows from {old_bytes} to {new_bytes} bytes");
            new_bytes.next_multiple_of(MAP_STEP_BYTES)
        })
    }

    /// The size that another process gave the map, which LMDB takes for 0.
    fn follow_map(&self) -> Result<(), StoreError> {
        self.resize_map(|_| 0)
    }

    fn resize_map(&self, new_bytes: impl FnOnce(usize) -> usize) -> Result<(), StoreError> {
        let mut opened = self.gate.exclusive().ok_or_else(gate_blocked)?;
        let environment = opened.environment().map_err(store_error)?;
        let old_bytes = environment.info().map_err(store_error)?.map_size();
        let Err(error) = environment.set_map_size(new_bytes(old_bytes)) else {
            return Ok(());
        };
        // The old map is gone, and without one the next access would be a crash.
        log::error!("the map of the store could not change: {error}");
        opened.reopen(&self.directory, &self.options)?;
        Err(store_error(error))
    }

    /// After a fatal failure no transaction begins any more; reads go on in a new environment. Writes stay refused.
    pub fn reopen(&self) -> Result<(), StoreError> {
        self.read_only.store(true, Ordering::Release);
        self.gate.exclusive().ok_or_else(gate_blocked)?.reopen(&self.directory, &self.options)
    }

    /// Frees the slots of processes that died inside a read transaction, which would pin old pages for ever.
    fn clear_stale_readers(&self) {
        let opened = self.gate.enter();
        let Ok(environment) = opened.environment() else {
            return;
        };
        let mut dead = 0;
        // SAFETY: the environment is open, and LMDB locks its reader table itself.
        #[allow(unsafe_code)]
        let result = unsafe { lmdb_sys::mdb_reader_check(environment.env(), &raw mut dead) };
        if result != 0 {
            log::warn!("stale readers could not be cleared: error {result}");
        } else if dead > 0 {
            log::info!("cleared {dead} readers of dead processes");
        }
    }
}

/// What is known of the disk before a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    Unknown,
    /// The attempt before found no room; for the data file at least, more of it on the disk would help.
    Full {
        room_helps: bool,
    },
    /// So it did; this one only turns free pages.
    Turning,
}

/// How one transaction ended.
enum Attempt {
    Ended(Result<(), StoreError>),
    MapFull,
    MapResized,
    /// There is no room on the disk or none but the reserve, or the file may not grow.
    DiskFull {
        room_helps: bool,
        is_removal: bool,
    },
}

impl Backend for LmdbEnvironment {
    fn transact(&self, body: &mut Body<'_>) -> Result<(), StoreError> {
        let (mut disk, mut waits) = (Disk::Unknown, 0);
        for _ in 0..RETRIES_MAX {
            if self.read_only.load(Ordering::Acquire) {
                return Err(StoreError::ReadOnly);
            }
            match self.attempt(body, disk) {
                Attempt::Ended(result) => {
                    // Relaxed: the count sets a rhythm and orders nothing.
                    if self.commits.fetch_add(1, Ordering::Relaxed) % COMMITS_PER_READER_CHECK == COMMITS_PER_READER_CHECK - 1 {
                        self.clear_stale_readers();
                    }
                    if matches!(disk, Disk::Full { .. }) {
                        self.take_reserve_back();
                    }
                    return result;
                }
                Attempt::MapFull => self.grow_map()?,
                Attempt::MapResized => self.follow_map()?,
                // What earlier removals freed comes free when the readers end that still look at it.
                Attempt::DiskFull { room_helps: true, is_removal: true } if disk != Disk::Unknown && waits < READER_WAITS_MAX => {
                    waits += 1;
                    std::thread::sleep(READER_WAIT);
                    self.turn_free_pages();
                }
                Attempt::DiskFull { .. } if disk != Disk::Unknown => {
                    self.take_reserve_back();
                    return Err(StoreError::NoSpace);
                }
                Attempt::DiskFull { room_helps, .. } => {
                    disk = Disk::Full { room_helps };
                    self.turn_free_pages();
                }
            }
        }
        Err(store_error(Error::MapFull))
    }

    fn commits_unsynced(&self) -> bool {
        self.options.durability == Durability::Relaxed
    }

    fn sync(&self) -> Result<(), StoreError> {
        if self.read_only.load(Ordering::Acquire) {
            return Ok(());
        }
        let opened = self.gate.enter();
        opened.environment().and_then(|environment| environment.sync(true)).map_err(|error| self.write_failed(error, 0))
    }

    fn on_thread_start(&self) {
        if self.options.real_time {
            prefer_this_thread();
        }
    }
}

/// Bytes of the data file up to the last page of the last commit; 0 when that is not known.
fn used_bytes(opened: &Opened) -> u64 {
    let pages = opened.environment().and_then(Environment::info).map_or(0, |info| info.last_pgno() as u64 + 1);
    pages * page_bytes(opened)
}

fn page_bytes(opened: &Opened) -> u64 {
    opened.environment().and_then(Environment::stat).map_or(0, |stat| u64::from(stat.page_size()))
}

/// Bytes of the pages of the data file that no commit uses; those among them that a reader still needs count too.
fn free_bytes(opened: &Opened) -> u64 {
    opened.environment().and_then(Environment::freelist).unwrap_or_default() as u64 * page_bytes(opened)
}

/// Puts the first entry again, the least that LMDB takes for a change.
fn rewrite_first(batch: &mut dyn Transaction) -> Result<(), StoreError> {
    let mut first = None;
    batch.walk(&KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }, Direction::Forward, &mut |key, value| {
        first = Some((key.to_vec(), value.to_vec()));
        ControlFlow::Break(())
    })?;
    first.map_or(Ok(()), |(key, value)| batch.put(&key, &value))
}

fn gate_blocked() -> StoreError {
    StoreError::Io("the map of the store has to change, but a thread keeps a snapshot open".to_owned())
}
