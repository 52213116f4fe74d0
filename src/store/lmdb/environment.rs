//! The LMDB environment of an open store: opening, transactions, growth of the map, failure.
//! `journal` makes its commits durable; `open_environment` holds the LMDB handles.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a commit may fail for a reason that can be removed: a full map, a larger map of another process, no room in the log, a full disk | one transaction is a `CommitAttempt`; `transact_retrying` removes the reason and runs the body again |
//! | a full disk must still take deletes | `DiskState`: a removal gets the `reserve`; `recycle_pages` makes freed pages usable for it |
//! | after a failed write or sync, the disk's content is unknown | writes are refused until a restart, reads go on in a new environment, and the checkpoint is marked as untrusted |

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lmdb::{Environment, Error, RwTransaction, Transaction as _};

use super::compact::{lmdb_process, remove_leftover};
use super::directory::DataDirectory;
use super::error::{is_fatal, store_error};
use super::journal::{AppendResult, CheckpointHaste, CommitError, CommitJournal, JournalState};
use super::lease::StoreLease;
use super::locks::{FileLocks, LockByte};
use super::log::LoggedOperations;
use super::log_check::check_log;
use super::map_lock::{MapGuard, MapLock};
use super::meta_pages::{META_READS_MAX, check_meta_pages, damage_error, lock_error};
use super::open_environment::{MAP_STEP_BYTES, OpenEnvironment};
use super::options::LmdbOptions;
use super::pages::{self, Damage, WalkReach};
use super::recovery::recover_with_reserve;
use super::reserve::Reserve;
use super::sigbus;
use super::system::{LOW_SPACE_BYTES, disk_info, disk_space, set_real_time};
use super::transaction::{LmdbBatch, LmdbSnapshot, rewrite_first, transaction_id};
use crate::store::long_key::LongKeys;
use crate::store::writer::{Backend, TransactionBody};
use crate::store::{Read as _, StoreError, StoreInfo};

/// The least that a map grows by.
const GROWTH_BYTES_MIN: usize = 64 * 1024 * 1024;

/// The most attempts of one batch: enough to grow from the smallest map to more than a machine can
/// address.
const RETRIES_MAX: u32 = 48;

/// The number of commits between two removals of stale readers. One stale reader pinned 215 MB
/// within 500 commits.
const COMMITS_PER_READER_CHECK: u64 = 1024;

/// The waits of a removal for readers to end, on a full disk: the time of one wait, and the most
/// waits.
const READER_WAIT: Duration = Duration::from_millis(25);
const READER_WAITS_MAX: u32 = 20;

/// Bytes that an addition writes besides its own: the pages on the path to them.
const ADDITION_SLACK_BYTES: u64 = 256 * 1024;

/// The environment behind its map lock.
#[derive(Debug)]
pub(super) struct LmdbEnvironment {
    map_lock: MapLock<OpenEnvironment>,
    /// True once nothing may be written any more.
    read_only: AtomicBool,
    /// True once the checkpoint file says that the page cache is not to be trusted.
    is_distrusted: AtomicBool,
    commits: AtomicU64,
    options: LmdbOptions,
    reserve: Reserve,
    pub journal: CommitJournal,
    pub lease: Arc<StoreLease>,
    // Last: the directory is released after the environment has closed.
    pub directory: DataDirectory,
}

impl LmdbEnvironment {
    pub fn open(dir: &Path, options: LmdbOptions) -> Result<Self, StoreError> {
        let directory = DataDirectory::claim(dir)?;
        let locks =
            Arc::new(FileLocks::open(&directory).map_err(|error| lock_error(&directory, &error))?);
        // Before everything else, and under no other lock: a lease holder has to give way first.
        let lease = Arc::new(StoreLease::open(&directory, Arc::clone(&locks), &options)?);
        let failed = |error: io::Error| StoreError::Io(format!("{:?}: {error}", directory.path()));
        // Held until the environment is open: no process comes or goes, so that a process that is
        // alone stays alone.
        let opening = locks.lock(LockByte::Opening).map_err(failed)?;
        sigbus::install(&directory.data_file());
        let is_alone = locks.try_lock(LockByte::Presence).map_err(failed)?;
        if is_alone {
            // A version from before the log ignores it: a power cut would lose its writes.
            if let Some(pid) = lmdb_process(&directory).map_err(failed)? {
                return Err(StoreError::Io(format!(
                    "an older ddbfs, process {pid}, has it open; end that, and run this again"
                )));
            }
            recover_with_reserve(&directory, &options)?;
        }
        locks.lock_presence().map_err(failed)?;
        // Before LMDB maps the file, as it trusts both meta pages; the reserve before LMDB opens
        // its lock file, see [`Reserve::open`].
        check_meta_pages(&directory, is_alone)?;
        let reserve = Reserve::open(&directory);
        let map_lock = MapLock::new(OpenEnvironment::open(&directory, &options)?);
        drop(opening);
        let journal = CommitJournal::open(&directory, locks, &options).map_err(failed)?;
        let (read_only, is_distrusted, commits) = (
            AtomicBool::new(false),
            AtomicBool::new(false),
            AtomicU64::new(0),
        );
        let environment = Self {
            map_lock,
            read_only,
            is_distrusted,
            commits,
            options,
            reserve,
            journal,
            lease,
            directory,
        };
        environment.clear_stale_readers();
        environment.check_pages(WalkReach::Bounded)?;
        // LMDB's own lock is held now, so no compaction is in progress.
        if let Err(error) = remove_leftover(&environment.directory) {
            log::warn!("files of an interrupted compaction cannot be removed: {error}");
        }
        Ok(environment)
    }

    /// Checks the pages of the last commit.
    pub fn check_pages(&self, reach: WalkReach) -> Result<(), StoreError> {
        let failed = |damage: Damage| damage_error(&self.directory, &damage);
        let file = File::open(self.directory.data_file()).map_err(|error| failed(error.into()))?;
        // A commit overwrites the older meta page: two commits after the snapshot, its own is gone.
        for _ in 0..META_READS_MAX {
            let snapshot = self.snapshot()?;
            if pages::walk(&file, snapshot.commit_id(), reach)
                .map_err(failed)?
                .is_some()
            {
                return Ok(());
            }
        }
        Err(failed(Damage::Meta))
    }

    /// Compares the checkpoint, the log and the data file.
    pub fn check_log(&self) -> Result<(), StoreError> {
        let checked =
            self.retry_resized(|| check_log(self.directory.path(), &self.map_lock.read()));
        checked.map_err(|failure| match failure {
            CommitError::Lmdb(error) => store_error(error),
            failure => self.classify(failure),
        })
    }

    /// Gives up the memory of the map's pages that were read: the map is made anew.
    pub fn release_pages(&self) {
        if let Err(error) = self.follow_map() {
            log::debug!("the pages of the map stay in memory: {error}");
        }
    }

    /// Begins a read transaction of the last commit.
    pub fn snapshot(&self) -> Result<LongKeys<LmdbSnapshot<'_>>, StoreError> {
        let (mut readers_cleared, mut reopened) = (false, false);
        for _ in 0..RETRIES_MAX {
            let error = match LmdbSnapshot::begin(self.map_lock.read()) {
                Ok(snapshot) => return Ok(LongKeys::new(snapshot)),
                Err(error) => error,
            };
            match error {
                Error::MapResized => self.follow_map()?,
                Error::ReadersFull if !readers_cleared => {
                    // Once: slots that are still taken afterwards belong to living processes.
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

    /// Returns the number of the last commit of any process.
    pub fn commit_id(&self) -> u64 {
        let opened = self.map_lock.read();
        // The call itself fails only for missing arguments.
        opened
            .environment()
            .and_then(Environment::info)
            .map_or(0, |info| info.last_txnid() as u64)
    }

    pub fn info(&self) -> StoreInfo {
        StoreInfo {
            log_bytes: self.journal.log_bytes(),
            checkpoint_at: self.journal.checkpoint_at(),
            ..disk_info(self.directory.path(), self.map_lock.read().used_bytes())
        }
    }

    #[cfg(test)]
    pub fn raw_entries(&self) -> Result<usize, StoreError> {
        self.map_lock
            .read()
            .environment()
            .and_then(Environment::stat)
            .map(|stat| stat.entries())
            .map_err(store_error)
    }

    /// Runs one transaction. The map lock is held throughout: the map stays as it is until the
    /// commit is over. The journal's state is taken before LMDB's writer mutex, as everywhere.
    fn attempt(
        &self,
        body: &mut TransactionBody<'_>,
        disk: DiskState,
        is_pressed: bool,
    ) -> CommitAttempt {
        let opened: MapGuard<'_, OpenEnvironment> = self.map_lock.read();
        let mut state = self.journal.state();
        let transaction = match opened.environment().and_then(Environment::begin_rw_txn) {
            Ok(transaction) => transaction,
            Err(Error::MapResized) => return CommitAttempt::MapResized,
            Err(error) => return CommitAttempt::Ended(Err(self.classify_write(error, 0))),
        };
        let number = transaction_id(&transaction);
        match state.is_ready(&opened, number) {
            Ok(true) => {}
            Ok(false) => return CommitAttempt::Checkpoint,
            Err(error) => return CommitAttempt::Ended(Err(self.classify(error.into()))),
        }
        let operations = self.journal.operations(&mut state);
        let mut batch = LongKeys::new(LmdbBatch::new(transaction, opened.database, operations));
        let result = body(&mut batch);
        // Before the result: a job may have taken this failure for another one, and its later
        // changes are void.
        if batch.raw().map_full() {
            return CommitAttempt::MapFull;
        }
        if let Err(error) = result {
            return CommitAttempt::Ended(Err(error));
        }
        let (written_bytes, is_removal) = (batch.written_bytes() as u64, batch.is_removal());
        if !self.use_reserve(&opened, disk, written_bytes, is_removal) {
            return CommitAttempt::DiskFull {
                room_helps: false,
                is_removal,
            };
        }
        let (transaction, operations) = batch.into_raw().into_parts();
        match self.commit(&opened, &mut state, transaction, operations, is_pressed) {
            Ok(attempt) => attempt,
            Err(error) => {
                drop(state);
                drop(opened);
                self.void(number);
                self.commit_failed(error, disk, written_bytes, is_removal)
            }
        }
    }

    /// Makes the record durable, then commits in LMDB: what is visible to any process is on disk.
    /// An error is LMDB's, and the record is to be voided.
    fn commit(
        &self,
        opened: &OpenEnvironment,
        state: &mut JournalState,
        transaction: RwTransaction<'_>,
        mut operations: LoggedOperations,
        is_pressed: bool,
    ) -> Result<CommitAttempt, Error> {
        // A transaction without changes is no commit to LMDB either.
        if operations.is_empty() {
            return Ok(CommitAttempt::Ended(Ok(())));
        }
        let number = transaction_id(&transaction);
        let logged = match self
            .journal
            .append(state, number, &mut operations, is_pressed)
        {
            Ok(AppendResult::NoRoom) if !is_pressed => return Ok(CommitAttempt::Checkpoint),
            Ok(logged) => logged,
            Err(error) => return Ok(CommitAttempt::Ended(Err(self.classify(error.into())))),
        };
        transaction.commit()?;
        self.journal
            .committed(state, number, operations, opened.used_bytes());
        Ok(if logged == AppendResult::Appended {
            CommitAttempt::Ended(Ok(()))
        } else {
            CommitAttempt::Unlogged
        })
    }

    fn commit_failed(
        &self,
        error: Error,
        disk: DiskState,
        written_bytes: u64,
        is_removal: bool,
    ) -> CommitAttempt {
        match error {
            Error::MapFull => CommitAttempt::MapFull,
            // LMDB reports a short write as EIO.
            Error::Other(libc::EIO) if disk != DiskState::Unknown => CommitAttempt::DiskFull {
                room_helps: true,
                is_removal,
            },
            error => match self.classify_write(error, written_bytes) {
                // EFBIG is a limit of the file or of the process: more room on the disk does not
                // lift it.
                StoreError::NoSpace => CommitAttempt::DiskFull {
                    room_helps: error != Error::Other(libc::EFBIG),
                    is_removal,
                },
                error => CommitAttempt::Ended(Err(error)),
            },
        }
    }

    /// Removes the record of a failed commit from the log, before the failure is reported.
    fn void(&self, number: u64) {
        let mut voided = self.retry_resized(|| self.journal.void(&self.map_lock, number));
        // After a fatal failure no transaction begins in this environment, and without one another
        // process may be writing to the log.
        if matches!(voided, Err(CommitError::Lmdb(_))) {
            voided = self
                .reopen()
                .map_err(CommitError::from)
                .and_then(|()| self.journal.void(&self.map_lock, number));
        }
        if let Err(failure) = voided {
            log::error!(
                "a failed write may reappear after a power failure: {}",
                self.classify(failure)
            );
        }
    }

    /// Makes a checkpoint of the last commit.
    fn checkpoint(&self, urgency: CheckpointHaste) -> Result<(), StoreError> {
        self.retry_resized(|| self.journal.checkpoint(&self.map_lock, urgency))
            .map_err(|failure| self.classify(failure))
    }

    /// Makes a checkpoint at a moderate pace. Called on the checkpoint thread.
    pub fn checkpoint_paced(&self) {
        let result = if self.read_only.load(Ordering::Acquire) {
            Ok(())
        } else {
            self.checkpoint(CheckpointHaste::Paced)
        };
        self.log_failure("no checkpoint", result);
    }

    /// Releases a pin that holds up other processes.
    pub fn unpin_idle(&self) {
        let result = self
            .journal
            .unpin_idle(&self.map_lock)
            .map_err(|failure| self.classify(failure));
        self.log_failure("the pin stays", result);
    }

    /// Syncs the log where commits do not wait for it, and writes zeros ahead.
    pub fn maintain_log(&self) {
        let result = self
            .journal
            .maintain_log(&self.map_lock)
            .map_err(|error| self.classify(error.into()));
        self.log_failure("the log is not on disk", result);
    }

    fn log_failure(&self, action: &str, result: Result<(), StoreError>) {
        if let Err(error) = result {
            log::warn!("{action}: {error}");
        }
        self.distrust_if_failed();
    }

    /// Marks the checkpoint as untrusted after a fatal failure, so that the next process to open
    /// the store recovers it. Not called inside a transaction.
    fn distrust_if_failed(&self) {
        if self.read_only.load(Ordering::Acquire)
            && !self.is_distrusted.swap(true, Ordering::AcqRel)
        {
            self.journal.distrust();
        }
    }

    /// Ends the use of the store. The last process leaves a plain data file, without a log.
    pub fn shutdown(&self) {
        let is_sound = !self.read_only.load(Ordering::Acquire);
        if let Err(failure) = self.journal.shutdown(&self.map_lock, is_sound) {
            log::error!(
                "the store could not be closed: {}; it will be recovered when it is opened",
                self.classify(failure)
            );
            self.distrust_if_failed();
        }
    }

    /// Classifies a failure of the log or of a checkpoint.
    fn classify(&self, failure: CommitError) -> StoreError {
        match failure {
            CommitError::Lmdb(error) => self.classify_write(error, 0),
            CommitError::Disk(error) => {
                self.classify_write(Error::Other(error.raw_os_error().unwrap_or(libc::EIO)), 0)
            }
            CommitError::Store(error) => error,
        }
    }

    /// Returns true if the transaction may commit. Called inside a transaction that is about to
    /// commit: a removal that found the disk full gets the reserve; an addition needs a whole
    /// reserve, or as many free pages in the data file as the reserve lacks.
    fn use_reserve(
        &self,
        opened: &OpenEnvironment,
        disk: DiskState,
        written_bytes: u64,
        is_removal: bool,
    ) -> bool {
        match disk {
            DiskState::Recycling => return true,
            DiskState::Full { room_helps } if is_removal => {
                if room_helps {
                    self.reserve.release();
                }
                return true;
            }
            DiskState::Unknown | DiskState::Full { .. } => {}
        }
        if is_removal || written_bytes == 0 || self.reserve.missing_bytes() == 0 {
            return true;
        }
        self.reserve.reclaim();
        let missing_bytes = self.reserve.missing_bytes();
        missing_bytes == 0
            || opened.free_bytes()
                >= missing_bytes + written_bytes.saturating_mul(2) + ADDITION_SLACK_BYTES
    }

    /// Takes the reserve back after a commit that found the disk full, while no other process
    /// writes: the data file loses what failed commits left after its last page, and the reserve
    /// takes what it lacks.
    fn reclaim_reserve(&self) {
        // Without a transaction, the next writer takes the reserve back.
        self.without_writers(|used_bytes| {
            if let Err(error) = self.truncate_data_file(used_bytes) {
                log::debug!("the data file keeps what failed commits left: {error}");
            }
            self.reserve.reclaim();
        });
    }

    /// Runs `work` on the data file with its used bytes, inside a write transaction that writes
    /// nothing: it only keeps the writers of other processes off.
    fn without_writers(&self, work: impl FnOnce(u64)) {
        let opened = self.map_lock.read();
        if let Ok(transaction) = opened.environment().and_then(Environment::begin_rw_txn) {
            work(opened.used_bytes());
            transaction.abort();
        }
    }

    /// Cuts the data file after its last used page. Called inside a write transaction.
    fn truncate_data_file(&self, used_bytes: u64) -> io::Result<()> {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(self.directory.data_file())?;
        if used_bytes > 0 && file.metadata()?.len() > used_bytes {
            file.set_len(used_bytes)
        } else {
            Ok(())
        }
    }

    /// Allocates the holes of the data file from the reserve. Pages that a commit took and freed
    /// again are on the list of free pages without ever having been written: holes, for which a
    /// full disk has no room. LMDB takes the same page each time, so it would otherwise never
    /// commit again, however many other pages are free.
    fn fill_holes(&self) {
        self.without_writers(|used_bytes| {
            let data_file = self.directory.data_file();
            if let Err(error) = self.reserve.fill_holes(&data_file, used_bytes) {
                log::debug!("the data file keeps its holes: {error}");
            }
        });
    }

    /// Commits twice without changing anything. LMDB reuses a page that one commit freed in the
    /// second commit after it: on a full disk, the pages of the last delete would never become free
    /// if only the refused write were repeated. Each time the pin has to follow, as it holds the
    /// pages freed since the last checkpoint.
    fn recycle_pages(&self) {
        for _ in 0..2 {
            if self.checkpoint(CheckpointHaste::Anew).is_err()
                || !matches!(
                    self.attempt(&mut rewrite_first, DiskState::Recycling, true),
                    CommitAttempt::Ended(Ok(()))
                )
            {
                return;
            }
        }
        if let Err(error) = self.checkpoint(CheckpointHaste::Anew) {
            log::debug!("no checkpoint on a full disk: {error}");
        }
    }

    /// Classifies the failure of a transaction's begin or commit, or of a sync.
    pub fn classify_write(&self, error: Error, written_bytes: u64) -> StoreError {
        let full = || {
            disk_space(self.directory.path()).is_ok_and(|disk| {
                disk.free_bytes < written_bytes.saturating_mul(2) + LOW_SPACE_BYTES
            })
        };
        if error == Error::Other(libc::EIO) && full() {
            return StoreError::NoSpace;
        }
        if is_fatal(error) && !self.read_only.swap(true, Ordering::AcqRel) {
            log::error!(
                "a write of the store failed: {error}; it is read-only from now on, until a restart"
            );
        }
        store_error(error)
    }

    /// Doubles the map.
    fn grow_map(&self) -> Result<(), StoreError> {
        self.resize_map(|old_bytes| {
            let new_bytes = old_bytes
                .saturating_mul(2)
                .max(old_bytes.saturating_add(GROWTH_BYTES_MIN));
            log::debug!("the map grows from {old_bytes} to {new_bytes} bytes");
            new_bytes.next_multiple_of(MAP_STEP_BYTES)
        })
    }

    /// Follows the map size that another process has set; LMDB does so for a size of 0.
    fn follow_map(&self) -> Result<(), StoreError> {
        self.resize_map(|_| 0)
    }

    /// Runs `run`, which begins a transaction; runs it again if another process has grown the map.
    fn retry_resized(&self, run: impl Fn() -> Result<(), CommitError>) -> Result<(), CommitError> {
        match run() {
            Err(CommitError::Lmdb(Error::MapResized)) => self
                .follow_map()
                .map_err(CommitError::from)
                .and_then(|()| run()),
            done => done,
        }
    }

    fn resize_map(&self, new_bytes: impl FnOnce(usize) -> usize) -> Result<(), StoreError> {
        let mut opened = self.map_lock.try_write().ok_or_else(map_busy)?;
        let environment = opened.environment().map_err(store_error)?;
        let old_bytes = environment.info().map_err(store_error)?.map_size();
        let Err(error) = environment.set_map_size(new_bytes(old_bytes)) else {
            return Ok(());
        };
        // The old map is gone, and without one the next access would crash.
        log::error!("the map of the store could not change: {error}");
        opened.reopen(&self.directory, &self.options)?;
        Err(store_error(error))
    }

    /// Opens a new environment for reads after a fatal failure, when no transaction begins any
    /// more. Writes stay refused.
    pub fn reopen(&self) -> Result<(), StoreError> {
        self.read_only.store(true, Ordering::Release);
        self.map_lock
            .try_write()
            .ok_or_else(map_busy)?
            .reopen(&self.directory, &self.options)
    }

    /// Frees the slots of processes that died inside a read transaction, which would pin old pages
    /// forever.
    fn clear_stale_readers(&self) {
        let opened = self.map_lock.read();
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

/// The known state of the disk before a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskState {
    Unknown,
    /// The previous attempt found no room. `room_helps` is true if more room on the disk would
    /// help, at least for the data file.
    Full {
        room_helps: bool,
    },
    /// The disk is full, and this transaction only recycles free pages, see `recycle_pages`.
    Recycling,
}

/// The end of one transaction.
enum CommitAttempt {
    Ended(Result<(), StoreError>),
    MapFull,
    MapResized,
    /// A checkpoint has to be made first.
    Checkpoint,
    /// Committed, but without a record: durable only after a checkpoint.
    Unlogged,
    /// The disk has no room but the reserve, or the file may not grow.
    DiskFull {
        room_helps: bool,
        is_removal: bool,
    },
}

impl Backend for LmdbEnvironment {
    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
        self.lease.wait_clear(&self.directory)?;
        self.journal.pace.delay_commit();
        let result = self.transact_retrying(body);
        self.distrust_if_failed();
        result
    }

    fn on_thread_start(&self) {
        if self.options.real_time {
            set_real_time();
        }
    }

    fn can_commit_inline(&self) -> bool {
        // A snapshot would keep the map from growing.
        !MapLock::<OpenEnvironment>::is_held() && self.lease.is_settled()
    }
}

impl LmdbEnvironment {
    /// Makes the checkpoint that a commit waits for. Its file and the log's may have to be created;
    /// on a full disk the reserve has room for them.
    fn checkpoint_needed(&self) -> Result<(), StoreError> {
        match self.checkpoint(CheckpointHaste::Needed) {
            Err(StoreError::NoSpace) => {
                self.reserve.release();
                let made = self.checkpoint(CheckpointHaste::Needed);
                self.reserve.reclaim();
                made
            }
            made => made,
        }
    }

    fn transact_retrying(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
        let (mut disk, mut waits, mut is_pressed) = (DiskState::Unknown, 0, false);
        for _ in 0..RETRIES_MAX {
            if self.read_only.load(Ordering::Acquire) {
                return Err(StoreError::ReadOnly);
            }
            let mut attempt = self.attempt(body, disk, is_pressed);
            if matches!(attempt, CommitAttempt::Unlogged) {
                attempt = CommitAttempt::Ended(self.checkpoint(CheckpointHaste::Anew));
            }
            match attempt {
                CommitAttempt::Ended(result) => {
                    // Relaxed: the count sets an interval and orders nothing.
                    if self.commits.fetch_add(1, Ordering::Relaxed) % COMMITS_PER_READER_CHECK
                        == COMMITS_PER_READER_CHECK - 1
                    {
                        self.clear_stale_readers();
                    }
                    if matches!(disk, DiskState::Full { .. }) {
                        self.reclaim_reserve();
                    }
                    return result;
                }
                CommitAttempt::Checkpoint | CommitAttempt::Unlogged => {
                    self.checkpoint_needed()?;
                    is_pressed = true;
                }
                CommitAttempt::MapFull => self.grow_map()?,
                CommitAttempt::MapResized => self.follow_map()?,
                // Pages freed by earlier removals can be reused once the readers that still see
                // them end.
                CommitAttempt::DiskFull {
                    room_helps: true,
                    is_removal: true,
                } if disk != DiskState::Unknown && waits < READER_WAITS_MAX => {
                    waits += 1;
                    std::thread::sleep(READER_WAIT);
                    self.recycle_pages();
                }
                CommitAttempt::DiskFull { .. } if disk != DiskState::Unknown => {
                    self.reclaim_reserve();
                    return Err(StoreError::NoSpace);
                }
                CommitAttempt::DiskFull { room_helps, .. } => {
                    disk = DiskState::Full { room_helps };
                    // A killed process leaves its pin, under which no freed page can be reused.
                    self.clear_stale_readers();
                    self.fill_holes();
                    self.recycle_pages();
                }
            }
        }
        Err(store_error(Error::MapFull))
    }
}

fn map_busy() -> StoreError {
    StoreError::Io(
        "the map of the store has to change, but a thread keeps a snapshot open".to_owned(),
    )
}
