//! The journal: makes a commit survive a power cut, by its record in the write-ahead log and by
//! checkpoints.
//!
//! A commit is a record in the log, synced, before LMDB commits without a sync; so what is visible
//! is on disk. LMDB's own pages on disk may be of any commit; a checkpoint says which commit is
//! whole there, and where in the log the later ones begin. Two rules make that true:
//!
//! - **A process writes only while it holds a snapshot that is not newer than the checkpoint on disk**
//! (a pin): LMDB reuses no page that was freed since, so no page of the checkpoint's commit. The
//! pins of other processes do not count, as those may be killed. A process without a pin (it has
//! only read so far, or lost its environment) makes a checkpoint of its own first.
//! - **The order of a checkpoint:** take the pin, meta page and log position in one write transaction;
//! sync the data file; write the checkpoint; only then release the previous pin. At any moment a
//! whole checkpoint is on disk and protected.
//!
//! Lock order: `turn`, the checkpoint byte (other processes), the map lock, `state`, LMDB's writer
//! mutex.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lmdb::Error;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::directory::DataDirectory;
use super::gate::Gate;
use super::identity::{IDENTITY_BYTES, identity};
use super::locks::{Byte, Locks};
use super::log::{Log, LogFiles, Operations, Position, is_full};
use super::opened::Opened;
use super::options::LmdbOptions;
use super::pace::{Pace, STEP_BYTES};
use super::pages;
use super::recovery::become_plain;
use super::slots::{Checkpoint, Slots};
use super::system::disk_space;
use super::transaction::transaction_id;
use super::usage::Usage;
use crate::store::memory_limit::part_of_limit;
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
const GROWTH: u64 = 2;

/// The time between two syncs of the log, if commits do not wait for it.
const SYNC_PAUSE: Duration = Duration::from_millis(50);

/// The time without a commit after which a checkpoint is made.
const QUIET: Duration = Duration::from_millis(500);

/// The time between two checks of an idle process whether its pin holds up others.
const IDLE_LOOK: Duration = Duration::from_secs(10);

/// The reason why a commit or a checkpoint failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum Failure {
    Lmdb(#[from] Error),
    /// An error of the log, the data file or the checkpoint file.
    Disk(#[from] io::Error),
    Store(#[from] StoreError),
}

/// The result of appending a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logged {
    /// The record is in the log, and on disk if that was asked for.
    Yes,
    /// The log is full; a checkpoint may make room.
    NoRoom,
    /// The record fits no log.
    TooLarge,
}

/// The urgency of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
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
pub(super) enum Wake {
    /// A checkpoint is due.
    Due,
    /// A period has passed.
    Tick,
    Closed,
}

/// The log and the checkpoints of a process.
#[derive(Debug)]
pub(super) struct Journal {
    locks: Arc<Locks>,
    slots: Slots,
    data: File,
    dir: PathBuf,
    limit: u64,
    durability: Durability,
    /// Allows one checkpoint at a time in this process.
    turn: Mutex<()>,
    state: Mutex<State>,
    /// True if a thread waits for a checkpoint: the one in progress must not pause.
    is_urgent: AtomicBool,
    /// True if something was logged since the last checkpoint, so that an idle process makes one.
    is_logged: AtomicBool,
    /// True if the log needs a sync or zeros ahead.
    is_untidy: AtomicBool,
    /// True if there is a pin.
    has_joined: AtomicBool,
    is_due: AtomicBool,
    /// The numbers of commits and of checkpoints of this process.
    commits: AtomicU64,
    made: AtomicU64,
    pub pace: Pace,
    checkpoint_at: Mutex<Option<Instant>>,
    is_closed: Mutex<bool>,
    changed: Condvar,
}

/// The part of the journal that commits use.
#[derive(Debug)]
pub(super) struct State {
    log: Option<Log>,
    /// A buffer to reuse.
    operations: Option<Operations>,
    /// The log position in this process's last checkpoint, and the size of the data file then.
    checkpoint: Position,
    used_bytes: u64,
}

impl State {
    /// Returns true if the commit `number` may be logged now; otherwise a checkpoint has to be made
    /// first.
    pub fn is_ready(&mut self, opened: &Opened, number: u64) -> io::Result<bool> {
        match &mut self.log {
            Some(log) if opened.is_pinned() => log.follow(number),
            _ => Ok(false),
        }
    }
}

/// The content of a checkpoint, taken in one write transaction.
struct Point {
    checkpoint: Checkpoint,
    files: Arc<LogFiles>,
    /// The log, if it is another than before.
    log: Option<Log>,
    used_bytes: u64,
}

impl Journal {
    /// Opens the journal of a store that this process is about to use. `locks` holds its presence.
    pub fn open(
        directory: &DataDirectory,
        locks: Arc<Locks>,
        options: &LmdbOptions,
    ) -> io::Result<Self> {
        let dir = directory.path().to_path_buf();
        let disk_bytes = disk_space(&dir)?.total_bytes;
        let limit = options
            .log_bytes
            .min((disk_bytes / DISK_PART).max(LIMIT_BYTES_MIN));
        Ok(Self {
            locks,
            slots: Slots::new(&dir),
            data: OpenOptions::new()
                .read(true)
                .write(true)
                .open(directory.data_file())?,
            limit,
            dir,
            durability: options.durability,
            turn: Mutex::default(),
            state: Mutex::new(State {
                log: None,
                operations: None,
                checkpoint: Position::new(0, 0),
                used_bytes: 0,
            }),
            is_urgent: AtomicBool::new(false),
            is_logged: AtomicBool::new(false),
            is_untidy: AtomicBool::new(false),
            has_joined: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            made: AtomicU64::new(0),
            pace: Pace::new(limit),
            checkpoint_at: Mutex::default(),
            is_closed: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Locks the state; held from before the begin of a write transaction until its end.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns an empty buffer for the operations of a transaction.
    pub fn operations(&self, state: &mut State) -> Operations {
        state.operations.take().map_or_else(
            || Operations::new(part_of_limit(self.limit, RECORD_LIMIT_PARTS)),
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
        state: &mut State,
        number: u64,
        operations: &mut Operations,
        is_pressed: bool,
    ) -> io::Result<Logged> {
        let checkpoint = state.checkpoint;
        let Some(log) = &mut state.log else {
            return Ok(Logged::NoRoom);
        };
        let fits = operations
            .record_bytes()
            .is_some_and(|bytes| bytes <= self.limit);
        if !log.append(number, operations, checkpoint)? {
            if is_pressed || !fits {
                self.slots.note_unlogged(log.epoch(), number)?;
            }
            return Ok(if fits {
                Logged::NoRoom
            } else {
                Logged::TooLarge
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
        Ok(Logged::Yes)
    }

    /// Notes that the transaction was committed.
    pub fn committed(
        &self,
        state: &mut State,
        number: u64,
        operations: Operations,
        used_bytes: u64,
    ) {
        state.operations = Some(operations);
        self.commits.fetch_add(1, Ordering::Relaxed);
        let Some(log) = &mut state.log else { return };
        let before = log.tail();
        log.committed(number);
        let log_bytes = log.bytes_since(state.checkpoint);
        self.pace.set_log_bytes(log_bytes);
        let is_due =
            self.pace.is_due() || used_bytes.saturating_sub(state.used_bytes) > self.limit * GROWTH;
        // Only the thread that sets a flag wakes the others.
        let wakes = [
            is_due && !self.is_due.swap(true, Ordering::AcqRel),
            !self.is_logged.swap(true, Ordering::AcqRel),
            (self.durability == Durability::Kill
                || before.0 / STEP_BYTES != log.tail().0 / STEP_BYTES)
                && !self.is_untidy.swap(true, Ordering::AcqRel),
        ];
        if wakes.contains(&true) {
            self.wake();
        }
    }

    fn wake(&self) {
        // Taken so that no thread is between its check and its wait.
        drop(self.is_closed.lock());
        self.changed.notify_all();
    }

    /// Removes the record of a failed commit from the log, before the failure is reported.
    pub fn void(&self, gate: &Gate<Opened>, number: u64) -> Result<(), Failure> {
        let opened = gate.enter();
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
    pub fn checkpoint(&self, gate: &Gate<Opened>, haste: Haste) -> Result<(), Failure> {
        let made = self.made.load(Ordering::Acquire);
        self.is_urgent
            .store(haste != Haste::Paced, Ordering::Release);
        let _turn = self.turn.lock();
        self.is_urgent.store(false, Ordering::Release);
        self.is_due.store(false, Ordering::Release);
        // Another thread made one while this one waited for its turn.
        if haste == Haste::Needed && made != self.made.load(Ordering::Acquire) {
            return Ok(());
        }
        let is_logged = self.is_logged();
        let made = self.checkpoint_in_turn(gate, haste);
        if made.is_err() && is_logged {
            // The log still has it, and it still has to reach the disk.
            self.is_logged.store(true, Ordering::Release);
        }
        made
    }

    fn checkpoint_in_turn(&self, gate: &Gate<Opened>, haste: Haste) -> Result<(), Failure> {
        let _held = self.locks.hold(Byte::Checkpoint)?;
        if haste == Haste::Paced {
            self.pace.write_ahead(&self.data, || {
                self.is_urgent.load(Ordering::Acquire) || *self.is_closed.lock()
            })?;
        }
        let mut point = self.point(gate)?;
        let number = point.checkpoint.number;
        let written = self.write_point(&mut point);
        let opened = gate.enter();
        if let Err(failure) = written {
            opened.unpin_last();
            return Err(failure);
        }
        let mut state = self.state();
        debug_assert!(
            point.checkpoint.position >= state.checkpoint,
            "the log went back"
        );
        // Not earlier: until now the previous checkpoint counted.
        opened.unpin_before(number);
        (state.checkpoint, state.used_bytes) = (point.checkpoint.position, point.used_bytes);
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
                .map_or(0, |log| log.bytes_since(state.checkpoint)),
        );
        self.pace.checkpointed(&opened);
        *self.checkpoint_at.lock() = Some(Instant::now());
        self.has_joined.store(true, Ordering::Release);
        self.made.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Syncs the pages and the log, then writes the checkpoint that refers to them.
    fn write_point(&self, point: &mut Point) -> Result<(), Failure> {
        self.data.sync_data()?;
        point.checkpoint.lengths = point.files.durable_lengths()?;
        self.write_slot(&point.checkpoint)?;
        // Before the first commit that needs the log.
        let usage = Usage::read(&self.data).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                let text = format!("data.mdb in {:?} is damaged: {error}.", self.dir);
                Failure::Store(StoreError::Damaged(text))
            }
            _ => Failure::Disk(error),
        })?;
        if usage != Some(Usage::InUse) {
            Usage::InUse.write(&self.data)?;
        }
        Ok(())
    }

    fn write_slot(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.slots.write(checkpoint).map_err(|error| match error {
            // It is unknown which slot is on disk: fatal, as a failed sync of the data is.
            StoreError::Io(text) => Failure::Disk(io::Error::other(text)),
            error => error.into(),
        })
    }

    /// Takes the content of the next checkpoint, and the pin that protects it.
    fn point(&self, gate: &Gate<Opened>) -> Result<Point, Failure> {
        let opened = gate.enter();
        let mut state = self.state();
        self.is_due.store(false, Ordering::Release);
        self.is_logged.store(false, Ordering::Release);
        // No process commits while it is open, and it writes nothing. Its begin also cleans up
        // after a process that was killed inside a write transaction.
        let transaction = opened.environment()?.begin_rw_txn()?;
        let next = transaction_id(&transaction);
        let head = pages::head_of(&self.data, next - 1)
            .map_err(|damage| StoreError::Io(format!("data.mdb {damage}")))?;
        let followed = state.log.as_mut().map(|log| log.follow(next)).transpose()?;
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
            head,
            last_at: log.last_at(),
            lengths: [0; 2],
            notes_unlogged: true,
        };
        let files = log.files();
        let number = opened.pin()?;
        if number != next - 1 {
            opened.unpin_last();
            return Err(StoreError::Corrupt("a snapshot of another commit than the last").into());
        }
        Ok(Point {
            checkpoint,
            files,
            log: found,
            used_bytes: opened.used_bytes(),
        })
    }

    /// True if every process that writes after the next checkpoint syncs each record before its
    /// commit. A newcomer makes a checkpoint of its own before it writes.
    fn is_strict(&self) -> Result<bool, Failure> {
        let is_power = self.durability == Durability::Power;
        Ok(is_power
            && (self.slots.read()?.is_none_or(|before| before.is_strict)
                || self.locks.is_alone()?))
    }

    /// Returns the log with its tail before the record `next`: at the end of the records since the
    /// last checkpoint, of any process. Returns a new log if there is no checkpoint, or if a commit
    /// was made without a record.
    fn find_log(&self, next: u64) -> Result<Log, Failure> {
        let newest = self.slots.read()?;
        if let Some(checkpoint) = &newest {
            let Checkpoint {
                epoch,
                position,
                number,
                ..
            } = *checkpoint;
            let mut log = Log::open(&self.dir, self.limit, epoch, position, number)?;
            log.set_last_at(checkpoint.last_at);
            if log.follow(next)? {
                return Ok(log);
            }
        }
        // A new epoch, as no other process knows of this log: records that others have written or
        // will write must not be taken for its own.
        let epoch = RandomState::new().hash_one((Instant::now(), next));
        let position = newest.map_or(Position::new(1, 0), |checkpoint| {
            checkpoint.position.next_generation()
        });
        Ok(Log::open(&self.dir, self.limit, epoch, position, next - 1)?)
    }

    /// Marks the checkpoint as untrusted. After a failed write or sync it is unknown which pages of
    /// the page cache are on disk: the next process to open the store goes back to the last
    /// checkpoint and the log.
    pub fn distrust(&self) {
        let distrusted = || -> Result<(), Failure> {
            let _turn = self.turn.lock();
            let _held = self.locks.hold(Byte::Checkpoint)?;
            if let Some(mut checkpoint) = self
                .slots
                .read()?
                .filter(|checkpoint| checkpoint.is_trusted)
            {
                checkpoint.is_trusted = false;
                self.slots.write(&checkpoint)?;
            }
            Ok(())
        };
        if let Err(failure) = distrusted() {
            log::error!("the checkpoint of the store could not be marked: {failure:?}");
        }
    }

    /// Ends this process's use of the store. The last process makes it a plain data file, without a
    /// log.
    pub fn end(&self, gate: &Gate<Opened>, is_sound: bool) -> Result<(), Failure> {
        let _turn = self.turn.lock();
        gate.enter().unpin_all();
        let log = self.state().log.take();
        if self.durability == Durability::Kill
            && let Some(log) = log
        {
            log.files().sync()?;
        }
        let _opening = self.locks.hold(Byte::Opening)?;
        if !self.slots.exist() || !self.locks.be_alone(Byte::Presence)? {
            return Ok(());
        }
        let ended = if is_sound
            && self
                .slots
                .read()?
                .is_some_and(|checkpoint| checkpoint.is_trusted)
        {
            become_plain(&self.data, &self.slots, &self.dir).map_err(Failure::from)
        } else {
            Ok(())
        };
        // This process may still have open snapshots.
        self.locks.be_present()?;
        ended
    }

    /// True if a checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// Waits until the checkpoint thread has something to do.
    pub fn wait(&self) -> Wake {
        let mut is_closed = self.is_closed.lock();
        if !*is_closed && !self.is_due() {
            if self.is_logged() {
                self.changed.wait_for(&mut is_closed, QUIET);
            } else if self.has_joined.load(Ordering::Acquire) {
                self.changed.wait_for(&mut is_closed, IDLE_LOOK);
            } else {
                self.changed.wait(&mut is_closed);
            }
        }
        match *is_closed {
            true => Wake::Closed,
            false if self.is_due() => Wake::Due,
            false => Wake::Tick,
        }
    }

    /// Ends the background threads.
    pub fn close(&self) {
        *self.is_closed.lock() = true;
        self.changed.notify_all();
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
        while !*is_closed && !self.is_untidy.load(Ordering::Acquire) {
            self.changed.wait(&mut is_closed);
        }
        if self.durability == Durability::Kill && !*is_closed {
            // Waits so that many commits share a sync.
            let until = Instant::now() + SYNC_PAUSE;
            while !*is_closed && !self.changed.wait_until(&mut is_closed, until).timed_out() {}
        }
        !*is_closed
    }

    /// Syncs the log if commits do not wait for that, and then writes more zeros ahead in it.
    pub fn keep_up(&self, gate: &Gate<Opened>) -> io::Result<()> {
        self.pace.follow(&gate.enter());
        self.is_untidy.store(false, Ordering::Release);
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
        match files.zero_ahead(wanted_bytes) {
            Ok(true) => self.is_untidy.store(true, Ordering::Release),
            Ok(false) => {}
            Err(error) if is_full(&error) => {}
            // Its sync may have been told of a record's failure, which no later sync is told of.
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Releases the pin of a process that does not write, if it holds up others.
    pub fn leave(&self, gate: &Gate<Opened>) -> Result<(), Failure> {
        let _turn = self.turn.lock();
        let opened = gate.enter();
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
            self.has_joined.store(false, Ordering::Release);
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
