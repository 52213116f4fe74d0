//! The journal: makes a commit survive a power cut, by its record in the write-ahead log and by
//! checkpoints.
//!
//! A commit is a record in the log, synced, before LMDB commits without a sync; so what is visible
//! is on disk. LMDB's own pages on disk may be of any commit; a checkpoint says which commit is
//! whole there, and where in the log the later ones begin. Two rules make that true:
//!
//! - **A process writes only while it holds a snapshot that is not newer than the checkpoint on disk**
//!   (a pin): LMDB reuses no page that was freed since, so no page of the checkpoint's commit. The
//!   pins of other processes do not count, as those may be killed. A process without a pin (it has
//!   only read so far, or lost its environment) makes a checkpoint of its own first.
//! - **The order of a checkpoint:** take the pin, meta page and log position in one write transaction;
//!   sync the data file; write the checkpoint; only then release the previous pin. At any moment a
//!   whole checkpoint is on disk and protected.
//!
//! Lock order: `checkpoint_lock`, the checkpoint byte (other processes), the map lock, `state`,
//! LMDB's writer mutex.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lmdb::Error;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::checkpoint_file::{Checkpoint, CheckpointFile};
use super::directory::DataDirectory;
use super::identity::{IDENTITY_BYTES, identity};
use super::locks::{FileLocks, LockByte};
use super::log::{LogFiles, LogPosition, LoggedOperations, WriteAheadLog, is_full};
use super::map_lock::MapLock;
use super::open_environment::OpenEnvironment;
use super::options::LmdbOptions;
use super::pace::{CheckpointPace, STEP_BYTES};
use super::pages;
use super::recovery::mark_clean;
use super::system::disk_space;
use super::transaction::transaction_id;
use super::usage::FileUsage;
use crate::store::memory_limit::limit_share;
use crate::store::{Durability, StoreError};

/// The least size of a log generation on a small disk.
const LIMIT_BYTES_MIN: u64 = 1024 * 1024;

/// The part of the memory limit that a record may take. A larger commit is made without a record,
/// as one that is too large for the log.
const RECORD_LIMIT_PARTS: u64 = 16;

/// The part of a small file system that a log generation may take.
const DISK_PART: u64 = 32;

/// A checkpoint is due when the data file has grown by this many generations: pages freed since the
/// last checkpoint cannot be reused.
const GROWTH_FACTOR: u64 = 2;

/// The time between two syncs of the log, if commits do not wait for it.
const SYNC_PAUSE: Duration = Duration::from_millis(50);

/// The time without a commit after which a checkpoint is made.
const IDLE_TIME: Duration = Duration::from_millis(500);

/// The time between two checks of an idle process whether its pin holds up others.
const UNPIN_PERIOD: Duration = Duration::from_secs(10);

/// The reason why a commit or a checkpoint failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum CommitError {
    Lmdb(#[from] Error),
    /// An error of the log, the data file or the checkpoint file.
    Disk(#[from] io::Error),
    Store(#[from] StoreError),
}

/// The result of appending a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppendResult {
    /// The record is in the log, and on disk if that was asked for.
    Appended,
    /// The log is full; a checkpoint may make room.
    NoRoom,
    /// The record fits no log.
    TooLarge,
}

/// The urgency of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointHaste {
    /// Beside commits: pages are written out little by little first, so that commits do not wait
    /// for the disk.
    Paced,
    /// An immediate checkpoint, unless another thread makes one meanwhile.
    Needed,
    /// An immediate checkpoint, and always a new one.
    Anew,
}

/// The reason why the checkpoint thread wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointWake {
    /// A checkpoint is due.
    Due,
    /// A period has passed.
    Tick,
    Closed,
}

/// The log and the checkpoints of a process.
#[derive(Debug)]
pub(super) struct CommitJournal {
    locks: Arc<FileLocks>,
    checkpoint_file: CheckpointFile,
    data: File,
    dir: PathBuf,
    generation_bytes: u64,
    durability: Durability,
    /// Allows one checkpoint at a time in this process.
    checkpoint_lock: Mutex<()>,
    state: Mutex<JournalState>,
    /// True if a thread waits for a checkpoint: the one in progress must not pause.
    is_urgent: AtomicBool,
    /// True if something was logged since the last checkpoint, so that an idle process makes one.
    is_logged: AtomicBool,
    /// True if the log needs a sync or zeros ahead.
    needs_upkeep: AtomicBool,
    /// True if there is a pin.
    has_pin: AtomicBool,
    is_due: AtomicBool,
    /// The numbers of commits and of checkpoints of this process.
    commits: AtomicU64,
    checkpoints: AtomicU64,
    pub pace: CheckpointPace,
    checkpoint_at: Mutex<Option<Instant>>,
    is_closed: Mutex<bool>,
    condvar: Condvar,
}

/// The part of the journal that commits use.
#[derive(Debug)]
pub(super) struct JournalState {
    log: Option<WriteAheadLog>,
    /// A buffer to reuse.
    operations: Option<LoggedOperations>,
    /// The log position in this process's last checkpoint, and the size of the data file then.
    checkpoint_at: LogPosition,
    used_bytes: u64,
}

impl JournalState {
    /// Returns true if the commit `number` may be logged now; otherwise a checkpoint has to be made
    /// first.
    pub fn is_ready(&mut self, opened: &OpenEnvironment, number: u64) -> io::Result<bool> {
        match &mut self.log {
            Some(log) if opened.is_pinned() => log.catch_up(number),
            _ => Ok(false),
        }
    }
}

/// The content of a checkpoint, taken in one write transaction.
struct PreparedCheckpoint {
    checkpoint: Checkpoint,
    files: Arc<LogFiles>,
    /// The log to use after this checkpoint; `None` if it is the same as before.
    log: Option<WriteAheadLog>,
    used_bytes: u64,
}

impl CommitJournal {
    /// Opens the journal of a store that this process is about to use. `locks` holds its presence.
    pub fn open(
        directory: &DataDirectory,
        locks: Arc<FileLocks>,
        options: &LmdbOptions,
    ) -> io::Result<Self> {
        let dir = directory.path().to_path_buf();
        let disk_bytes = disk_space(&dir)?.total_bytes;
        let generation_bytes = options
            .log_bytes
            .min((disk_bytes / DISK_PART).max(LIMIT_BYTES_MIN));
        Ok(Self {
            locks,
            checkpoint_file: CheckpointFile::new(&dir),
            data: OpenOptions::new()
                .read(true)
                .write(true)
                .open(directory.data_file())?,
            generation_bytes,
            dir,
            durability: options.durability,
            checkpoint_lock: Mutex::default(),
            state: Mutex::new(JournalState {
                log: None,
                operations: None,
                checkpoint_at: LogPosition::new(0, 0),
                used_bytes: 0,
            }),
            is_urgent: AtomicBool::new(false),
            is_logged: AtomicBool::new(false),
            needs_upkeep: AtomicBool::new(false),
            has_pin: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            checkpoints: AtomicU64::new(0),
            pace: CheckpointPace::new(generation_bytes),
            checkpoint_at: Mutex::default(),
            is_closed: Mutex::default(),
            condvar: Condvar::new(),
        })
    }

    /// Locks the state; held from before the begin of a write transaction until its end.
    pub fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock()
    }

    /// Returns an empty buffer for the operations of a transaction.
    pub fn operations(&self, state: &mut JournalState) -> LoggedOperations {
        state.operations.take().map_or_else(
            || LoggedOperations::new(limit_share(self.generation_bytes, RECORD_LIMIT_PARTS)),
            |mut operations| {
                operations.clear();
                operations
            },
        )
    }

    /// Appends the record of the transaction that is about to commit, and syncs it. A commit that
    /// will be made without a record (`is_pressed`, or too large) is noted in the checkpoint file:
    /// its absence from the log is then no damage.
    pub fn append(
        &self,
        state: &mut JournalState,
        number: u64,
        operations: &mut LoggedOperations,
        is_pressed: bool,
    ) -> io::Result<AppendResult> {
        let checkpoint = state.checkpoint_at;
        let Some(log) = &mut state.log else {
            return Ok(AppendResult::NoRoom);
        };
        let fits = operations
            .record_bytes()
            .is_some_and(|bytes| bytes <= self.generation_bytes);
        if !log.append(number, operations, checkpoint)? {
            if is_pressed || !fits {
                self.checkpoint_file.note_unlogged(log.epoch(), number)?;
            }
            return Ok(if fits {
                AppendResult::NoRoom
            } else {
                AppendResult::TooLarge
            });
        }
        if self.durability == Durability::Power
            && let Err(error) = log.files().sync()
        {
            // The record may or may not be on disk: it must not come back, as its commit is not
            // made.
            let voided = log.void();
            log::debug!("the record of a failed commit is voided: {voided:?}");
            return Err(error);
        }
        Ok(AppendResult::Appended)
    }

    /// Notes that the transaction was committed.
    pub fn committed(
        &self,
        state: &mut JournalState,
        number: u64,
        operations: LoggedOperations,
        used_bytes: u64,
    ) {
        state.operations = Some(operations);
        self.commits.fetch_add(1, Ordering::Relaxed);
        let Some(log) = &mut state.log else { return };
        let before = log.tail();
        log.committed(number);
        let log_bytes = log.bytes_since(state.checkpoint_at);
        self.pace.set_log_bytes(log_bytes);
        let is_due = self.pace.is_due()
            || used_bytes.saturating_sub(state.used_bytes) > self.generation_bytes * GROWTH_FACTOR;
        // Only the thread that sets a flag wakes the others.
        let wakes = [
            is_due && !self.is_due.swap(true, Ordering::AcqRel),
            !self.is_logged.swap(true, Ordering::AcqRel),
            (self.durability == Durability::Kill
                || before.0 / STEP_BYTES != log.tail().0 / STEP_BYTES)
                && !self.needs_upkeep.swap(true, Ordering::AcqRel),
        ];
        if wakes.contains(&true) {
            self.wake();
        }
    }

    fn wake(&self) {
        // Taken so that no thread is between its check and its wait.
        drop(self.is_closed.lock());
        self.condvar.notify_all();
    }

    /// Removes the record of a failed commit from the log, before the failure is reported.
    pub fn void(&self, gate: &MapLock<OpenEnvironment>, number: u64) -> Result<(), CommitError> {
        let opened = gate.read();
        let mut state = self.state();
        let transaction = opened.environment()?.begin_rw_txn()?;
        // Under another number, another process's record is in its place by now.
        if transaction_id(&transaction) == number
            && let Some(log) = &mut state.log
        {
            log.void()?;
        }
        Ok(())
    }

    /// Makes a checkpoint of the last commit.
    pub fn checkpoint(
        &self,
        gate: &MapLock<OpenEnvironment>,
        urgency: CheckpointHaste,
    ) -> Result<(), CommitError> {
        let made = self.checkpoints.load(Ordering::Acquire);
        self.is_urgent
            .store(urgency != CheckpointHaste::Paced, Ordering::Release);
        let _turn = self.checkpoint_lock.lock();
        self.is_urgent.store(false, Ordering::Release);
        self.is_due.store(false, Ordering::Release);
        // Another thread made one while this one waited for its turn.
        if urgency == CheckpointHaste::Needed && made != self.checkpoints.load(Ordering::Acquire) {
            return Ok(());
        }
        let is_logged = self.is_logged();
        let made = self.checkpoint_locked(gate, urgency);
        if made.is_err() && is_logged {
            // The failed checkpoint has cleared the flag, but the log still has commits that a
            // checkpoint must bring to the data file.
            self.is_logged.store(true, Ordering::Release);
        }
        made
    }

    fn checkpoint_locked(
        &self,
        gate: &MapLock<OpenEnvironment>,
        urgency: CheckpointHaste,
    ) -> Result<(), CommitError> {
        let _held = self.locks.lock(LockByte::Checkpoint)?;
        if urgency == CheckpointHaste::Paced {
            self.pace.write_paced(&self.data, || {
                self.is_urgent.load(Ordering::Acquire) || *self.is_closed.lock()
            })?;
        }
        let mut point = self.prepare(gate)?;
        let number = point.checkpoint.number;
        let written = self.write_prepared(&mut point);
        let opened = gate.read();
        if let Err(failure) = written {
            opened.unpin_last();
            return Err(failure);
        }
        let mut state = self.state();
        debug_assert!(
            point.checkpoint.position >= state.checkpoint_at,
            "the log went back"
        );
        // Not earlier: until now the previous checkpoint counted.
        opened.unpin_before(number);
        (state.checkpoint_at, state.used_bytes) = (point.checkpoint.position, point.used_bytes);
        if let Some(log) = point.log {
            state.log = Some(log);
        }
        if let Some(log) = &mut state.log {
            log.set_checkpoint(number);
        }
        self.pace.set_log_bytes(
            state
                .log
                .as_ref()
                .map_or(0, |log| log.bytes_since(state.checkpoint_at)),
        );
        self.pace.set_checkpointed(&opened);
        *self.checkpoint_at.lock() = Some(Instant::now());
        self.has_pin.store(true, Ordering::Release);
        self.checkpoints.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Syncs the pages and the log, then writes the checkpoint that refers to them.
    fn write_prepared(&self, point: &mut PreparedCheckpoint) -> Result<(), CommitError> {
        self.data.sync_data()?;
        point.checkpoint.lengths = point.files.sync_lengths()?;
        self.write_checkpoint(&point.checkpoint)?;
        // The data file says that it needs the log before the first commit that relies on it.
        let usage = FileUsage::read(&self.data).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                let text = format!("data.mdb in {:?} is damaged: {error}.", self.dir);
                CommitError::Store(StoreError::Damaged(text))
            }
            _ => CommitError::Disk(error),
        })?;
        if usage != Some(FileUsage::InUse) {
            FileUsage::InUse.write(&self.data)?;
        }
        Ok(())
    }

    fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), CommitError> {
        self.checkpoint_file
            .write(checkpoint)
            .map_err(|error| match error {
                // It is unknown which slot is on disk: fatal, as a failed sync of the data is.
                StoreError::Io(text) => CommitError::Disk(io::Error::other(text)),
                error => error.into(),
            })
    }

    /// Takes the content of the next checkpoint, and the pin that protects it.
    fn prepare(&self, gate: &MapLock<OpenEnvironment>) -> Result<PreparedCheckpoint, CommitError> {
        let opened = gate.read();
        let mut state = self.state();
        self.is_due.store(false, Ordering::Release);
        self.is_logged.store(false, Ordering::Release);
        // No process commits while it is open, and it writes nothing. Its begin also cleans up
        // after a process that was killed inside a write transaction.
        let transaction = opened.environment()?.begin_rw_txn()?;
        let next = transaction_id(&transaction);
        let meta_page = pages::meta_page_of(&self.data, next - 1)
            .map_err(|damage| StoreError::Io(format!("data.mdb {damage}")))?;
        let followed = state
            .log
            .as_mut()
            .map(|log| log.catch_up(next))
            .transpose()?;
        let found = if followed == Some(true) {
            None
        } else {
            Some(self.find_log(next)?)
        };
        let Some(log) = found.as_ref().or(state.log.as_ref()) else {
            return Err(StoreError::Corrupt("no log").into());
        };
        let checkpoint = Checkpoint {
            number: next - 1,
            position: log.tail(),
            epoch: log.epoch(),
            identity: identity(&self.data)?.unwrap_or([0; IDENTITY_BYTES]),
            is_trusted: true,
            is_strict: self.is_strict()?,
            meta_page,
            last_position: log.last_at(),
            lengths: [0; 2],
            notes_unlogged: true,
        };
        let files = log.files();
        let number = opened.pin()?;
        if number != next - 1 {
            opened.unpin_last();
            return Err(StoreError::Corrupt("a snapshot of another commit than the last").into());
        }
        Ok(PreparedCheckpoint {
            checkpoint,
            files,
            log: found,
            used_bytes: opened.used_bytes(),
        })
    }

    /// True if every process that writes after the next checkpoint syncs each record before its
    /// commit. A process that opens the store later makes a checkpoint of its own before it writes.
    fn is_strict(&self) -> Result<bool, CommitError> {
        let is_power = self.durability == Durability::Power;
        Ok(is_power
            && (self
                .checkpoint_file
                .read()?
                .is_none_or(|before| before.is_strict)
                || self.locks.is_alone()?))
    }

    /// Returns the log with its tail before the record `next`: at the end of the records since the
    /// last checkpoint, of any process. Returns a new log if there is no checkpoint, or if a commit
    /// was made without a record.
    fn find_log(&self, next: u64) -> Result<WriteAheadLog, CommitError> {
        let newest = self.checkpoint_file.read()?;
        if let Some(checkpoint) = &newest {
            let Checkpoint {
                epoch,
                position,
                number,
                ..
            } = *checkpoint;
            let mut log =
                WriteAheadLog::open(&self.dir, self.generation_bytes, epoch, position, number)?;
            log.set_last_position(checkpoint.last_position);
            if log.catch_up(next)? {
                return Ok(log);
            }
        }
        // A new epoch, as no other process knows of this log: records that others have written or
        // will write must not be taken for its own.
        let epoch = RandomState::new().hash_one((Instant::now(), next));
        let position = newest.map_or(LogPosition::new(1, 0), |checkpoint| {
            checkpoint.position.next_generation()
        });
        Ok(WriteAheadLog::open(
            &self.dir,
            self.generation_bytes,
            epoch,
            position,
            next - 1,
        )?)
    }

    /// Marks the checkpoint as untrusted. After a failed write or sync it is unknown which pages of
    /// the page cache are on disk: the next process to open the store goes back to the last
    /// checkpoint and the log.
    pub fn distrust(&self) {
        let distrusted = || -> Result<(), CommitError> {
            let _turn = self.checkpoint_lock.lock();
            let _held = self.locks.lock(LockByte::Checkpoint)?;
            if let Some(mut checkpoint) = self
                .checkpoint_file
                .read()?
                .filter(|checkpoint| checkpoint.is_trusted)
            {
                checkpoint.is_trusted = false;
                self.checkpoint_file.write(&checkpoint)?;
            }
            Ok(())
        };
        if let Err(failure) = distrusted() {
            log::error!(
                "the checkpoint of the store could not be marked as untrusted: {failure:?}"
            );
        }
    }

    /// Ends this process's use of the store. The last process turns it into a plain data file,
    /// without a log.
    pub fn shutdown(
        &self,
        gate: &MapLock<OpenEnvironment>,
        is_sound: bool,
    ) -> Result<(), CommitError> {
        let _turn = self.checkpoint_lock.lock();
        gate.read().unpin_all();
        let log = self.state().log.take();
        if self.durability == Durability::Kill
            && let Some(log) = log
        {
            log.files().sync()?;
        }
        let _opening = self.locks.lock(LockByte::Opening)?;
        if !self.checkpoint_file.exists() || !self.locks.try_lock(LockByte::Presence)? {
            return Ok(());
        }
        let closed = if is_sound
            && self
                .checkpoint_file
                .read()?
                .is_some_and(|checkpoint| checkpoint.is_trusted)
        {
            mark_clean(&self.data, &self.checkpoint_file, &self.dir).map_err(CommitError::from)
        } else {
            Ok(())
        };
        // This process may still have open snapshots.
        self.locks.lock_presence()?;
        closed
    }

    /// True if a checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// Waits until the checkpoint thread has something to do.
    pub fn wait_for_work(&self) -> CheckpointWake {
        let mut is_closed = self.is_closed.lock();
        if !*is_closed && !self.is_due() {
            if self.is_logged() {
                self.condvar.wait_for(&mut is_closed, IDLE_TIME);
            } else if self.has_pin.load(Ordering::Acquire) {
                self.condvar.wait_for(&mut is_closed, UNPIN_PERIOD);
            } else {
                self.condvar.wait(&mut is_closed);
            }
        }
        match *is_closed {
            true => CheckpointWake::Closed,
            false if self.is_due() => CheckpointWake::Due,
            false => CheckpointWake::Tick,
        }
    }

    /// Ends the background threads.
    pub fn close(&self) {
        *self.is_closed.lock() = true;
        self.condvar.notify_all();
    }

    /// True if something was logged since the last checkpoint.
    pub fn is_logged(&self) -> bool {
        self.is_logged.load(Ordering::Acquire)
    }

    /// Returns the number of commits of this process.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Waits until the log thread has something to do; returns false once the journal is closed.
    pub fn wait_for_log(&self) -> bool {
        let mut is_closed = self.is_closed.lock();
        while !*is_closed && !self.needs_upkeep.load(Ordering::Acquire) {
            self.condvar.wait(&mut is_closed);
        }
        if self.durability == Durability::Kill && !*is_closed {
            // Waits so that many commits share a sync.
            let until = Instant::now() + SYNC_PAUSE;
            while !*is_closed && !self.condvar.wait_until(&mut is_closed, until).timed_out() {}
        }
        !*is_closed
    }

    /// Syncs the log if commits do not wait for that, and then writes more zeros ahead in it.
    pub fn maintain_log(&self, gate: &MapLock<OpenEnvironment>) -> io::Result<()> {
        self.pace.update_due(&gate.read());
        self.needs_upkeep.store(false, Ordering::Release);
        let Some((files, offset)) = self
            .state()
            .log
            .as_ref()
            .map(|log| (log.files(), log.tail().offset()))
        else {
            return Ok(());
        };
        if self.durability == Durability::Kill {
            files.sync()?;
        }
        // Twice what was needed so far: a process that writes little has little. A full disk has no
        // room, and commits do without.
        let wanted_bytes = if offset < STEP_BYTES {
            0
        } else {
            2 * offset + LIMIT_BYTES_MIN
        };
        match files.preallocate(wanted_bytes) {
            Ok(true) => self.needs_upkeep.store(true, Ordering::Release),
            Ok(false) => {}
            Err(error) if is_full(&error) => {}
            // The system reports a failed write to one sync only: this error may be about a record.
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Releases the pin of a process that does not write, if it holds up others.
    pub fn unpin_idle(&self, gate: &MapLock<OpenEnvironment>) -> Result<(), CommitError> {
        let _turn = self.checkpoint_lock.lock();
        let opened = gate.read();
        let mut state = self.state();
        if self.is_logged() {
            return Ok(());
        }
        let is_last = match (&state.log, opened.environment()?.info()) {
            (Some(log), Ok(info)) => log.last() == info.last_txnid() as u64,
            _ => false,
        };
        // Another process has committed, or may: its freed pages wait for this pin.
        if !is_last || !self.locks.is_alone()? {
            opened.unpin_all();
            self.has_pin.store(false, Ordering::Release);
            state.operations = None;
        }
        Ok(())
    }

    pub fn log_bytes(&self) -> u64 {
        self.pace.log_bytes()
    }

    pub fn checkpoint_at(&self) -> Option<Instant> {
        *self.checkpoint_at.lock()
    }
}
