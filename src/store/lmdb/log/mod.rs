//! The write-ahead log before LMDB: each commit is a record, synced with one sequential write
//! before LMDB's pages are. `record` is the format of a record, `files` the files, `replay` the
//! reader; `journal` is the only writer.
//!
//! A record carries the number of LMDB's transaction, and begins where the record of the previous
//! number ends, or at the beginning of the next generation. Possible failures, and their solutions:
//!
//! - A power cut may tear a record, with or without whole later ones after it: records have a CRC, and
//!   numbers without gaps.
//! - Files are reused: a record has its position, with the generation, and the epoch of its log, which a
//!   recovery changes. So old bytes after the end, of an earlier generation or log, are not taken for
//!   the next record.
//! - A record of a commit that failed, or of a process killed before its commit, must not be replayed,
//!   and no later record may follow it: its place is voided and synced before another record of its
//!   number is written anywhere, and before a commit is made without a record.
//! - A hole left by a power cut looks like one left by damage: a record says what was on disk before it
//!   was written. If some of that is missing, it was damaged; anything else may never have been
//!   there.
//! - Generations change where the appending process decides: all of a generation is on disk before the
//!   next is begun.
//! - Any process may write zeros ahead: at the end of a file as the system knows it at that moment, never
//!   at a position.

mod files;
mod record;
mod replay;

#[cfg(test)]
pub(super) mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(super) use self::files::{LOG_FILES, LogFiles, sync_logs};
use self::record::{DurableNumbers, KEPT_BYTES_MAX, RecordId, SECTOR_BYTES};
pub(super) use self::record::{LogPosition, LoggedOperation, LoggedOperations, RecordPayload};
pub(super) use self::replay::LogReader;
use super::super::StoreError;

/// The longest generation: no void may make a file longer than positions can express.
const LIMIT_BYTES_MAX: u64 = 1 << 30;

/// The log of this process, used under LMDB's writer mutex: between the begin and the end of a
/// write transaction.
#[derive(Debug)]
pub(super) struct WriteAheadLog {
    files: Arc<LogFiles>,
    limit: u64,
    epoch: u64,
    tail: LogPosition,
    /// The number of the record that ends at the tail, and its position if that is known.
    last_number: u64,
    last_position: Option<LogPosition>,
    /// The last known checkpoint on disk, and the last record that was on disk with all before it,
    /// as other records say.
    durable: DurableNumbers,
    /// The begin and end of a record that was appended and is neither committed nor void.
    pending: Option<(LogPosition, LogPosition)>,
    buffer: Vec<u8>,
}

impl WriteAheadLog {
    /// Opens or creates the files. The record of number `last` + 1 will begin at `tail`. A
    /// generation ends with the record that reaches `limit` bytes.
    ///
    /// # Errors
    /// The files are refused, or the system cannot open them.
    pub fn open(
        dir: &Path,
        limit: u64,
        epoch: u64,
        tail: LogPosition,
        last_number: u64,
    ) -> Result<Self, StoreError> {
        let limit = limit.min(LIMIT_BYTES_MAX);
        let files = Arc::new(LogFiles::open(dir, limit, tail.generation())?);
        let durable = DurableNumbers {
            log: last_number,
            checkpoint: 0,
        };
        Ok(Self {
            files,
            limit,
            epoch,
            tail,
            last_number,
            last_position: None,
            durable,
            pending: None,
            buffer: Vec::new(),
        })
    }

    /// Notes that a checkpoint of this number is on disk.
    pub fn set_checkpoint(&mut self, number: u64) {
        self.durable.checkpoint = self.durable.checkpoint.max(number);
    }

    /// Returns the position of the record before the tail, if it is known.
    pub fn last_at(&self) -> Option<LogPosition> {
        self.last_position
    }

    /// Sets the position of the record before the tail, after opening.
    pub fn set_last_position(&mut self, position: Option<LogPosition>) {
        self.last_position = position;
    }

    /// Returns the files, which other threads sync and write zeros to.
    pub fn files(&self) -> Arc<LogFiles> {
        Arc::clone(&self.files)
    }

    /// Returns the position of the next record, unless a new generation begins.
    pub fn tail(&self) -> LogPosition {
        self.tail
    }

    /// Returns the number of the record that ends at the tail.
    pub fn last(&self) -> u64 {
        self.last_number
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the bytes of the records since a position, approximately.
    pub fn bytes_since(&self, position: LogPosition) -> u64 {
        let generations = self.tail.generation().saturating_sub(position.generation());
        (generations * self.limit + self.tail.offset()).saturating_sub(position.offset())
    }

    /// Moves the tail after the records of other processes, up to the one of number `next` - 1.
    /// Returns false at a gap: the tail is then after the last record before it. A newer checkpoint
    /// may lie after the gap; if not, this commit and those of others have to become durable
    /// without the log.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn catch_up(&mut self, next: u64) -> io::Result<bool> {
        while self
            .last_number
            .checked_add(1)
            .is_some_and(|number| number < next)
        {
            if !self.catch_up_one()? {
                break;
            }
        }
        // A large record of another process must not keep its memory.
        self.buffer.truncate(SECTOR_BYTES);
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        Ok(self.last_number + 1 == next)
    }

    fn catch_up_one(&mut self) -> io::Result<bool> {
        self.pending = None;
        for position in [self.tail, self.tail.next_generation()] {
            let name = self.next_id(position);
            if let Some((head, _)) = self.files.read(name, &mut self.buffer)? {
                (self.tail, self.last_number, self.last_position) =
                    (head.end(), name.number, Some(position));
                self.durable.log = self.durable.log.max(head.on_disk.log);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the id of the next record, if it is at this position.
    fn next_id(&self, position: LogPosition) -> RecordId {
        RecordId {
            position,
            epoch: self.epoch,
            number: self.last_number + 1,
        }
    }

    /// Writes the record of the commit `number`, which is about to be made; it is not on disk
    /// before the files are synced. `checkpoint` is the log position of a checkpoint on disk.
    /// Returns false if there is no room: records since the checkpoint are in the way, the
    /// operations are too large, the disk is full, or [`Self::catch_up`] found a gap.
    ///
    /// # Errors
    /// A write or a sync failed; the content of the log is then unknown.
    pub fn append(
        &mut self,
        number: u64,
        operations: &mut LoggedOperations,
        checkpoint: LogPosition,
    ) -> io::Result<bool> {
        self.pending = None;
        if number != self.last_number + 1 {
            return Ok(false);
        }
        // A process with another limit may have appended to either.
        self.void_stale(self.tail)?;
        self.void_stale(self.tail.next_generation())?;
        let switches = self.tail.offset() >= self.limit;
        // The next generation overwrites the file of the previous one, so the checkpoint has to be
        // in this one.
        let is_free = !switches || checkpoint >= self.tail.generation_begin();
        let fits = |bytes: &u64| is_free && *bytes <= self.limit;
        let Some(record_bytes) = operations.record_bytes().filter(fits) else {
            return Ok(false);
        };
        let position = if switches {
            self.tail.next_generation()
        } else {
            self.tail
        };
        if switches {
            // `LogFiles::sync` syncs the current generation only.
            self.files.sync_generation(self.tail.generation())?;
        }
        let name = self.next_id(position);
        let on_disk = DurableNumbers {
            log: self.durable.log.max(self.files.synced()),
            ..self.durable
        };
        match operations.with_record(name, on_disk, |record| self.files.write(position, record)) {
            Ok(()) => {
                self.files.set_generation(position.generation());
                self.pending = Some((position, position.after(record_bytes)));
                Ok(true)
            }
            Err(error) if is_full(&error) => {
                // A part of the record may be written.
                self.void_stale(position)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Notes that the commit of the appended record was made.
    pub fn committed(&mut self, number: u64) {
        // Otherwise `catch_up` finds the record.
        if let Some((position, end)) = self
            .pending
            .take()
            .filter(|_| number == self.last_number + 1)
        {
            (self.tail, self.last_number, self.last_position) = (end, number, Some(position));
            self.files.set_committed(number);
        }
    }

    /// Removes the appended record from the log, on disk, as its commit failed. Called before the
    /// failure is reported.
    ///
    /// # Errors
    /// The write or the sync failed; the record may come back when the store recovers.
    pub fn void(&mut self) -> io::Result<()> {
        self.pending
            .take()
            .map_or(Ok(()), |(position, _)| self.void_at(position))
    }

    /// Ensures that a position has no record of a commit that was not made: of this number or a
    /// greater one.
    fn void_stale(&self, position: LogPosition) -> io::Result<()> {
        let is_void = |name: RecordId| {
            (name.position, name.epoch) != (position, self.epoch) || name.number <= self.last_number
        };
        if self.files.id_at(position)?.is_none_or(is_void) {
            Ok(())
        } else {
            self.void_at(position)
        }
    }

    fn void_at(&self, position: LogPosition) -> io::Result<()> {
        // The first sector has the header, without which there is no record.
        self.files.write(position, &[0; SECTOR_BYTES])?;
        self.files.sync_generation(position.generation())
    }
}

/// True if the disk or the file has no room for more of the log.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
    )
}
