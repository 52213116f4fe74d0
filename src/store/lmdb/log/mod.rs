//! The log in front of LMDB: each commit is a record, synced with one sequential write before LMDB's pages are.
//!
//! A record carries the number of LMDB's transaction, and begins where the record of the number before ends, or at the beginning of the
//! next generation. What could go wrong, and what answers it:
//!
//! - A record may be torn by a power cut, with or without later ones whole behind it: its CRC, and numbers without gaps.
//! - Files are used again: a record says its position, generation included, and the epoch of its log, which a recovery changes. So what
//!   stands behind the end, of a generation or a log before, is not taken for what follows it.
//! - A record of a commit that failed, or of a process killed before its commit, must not be replayed, and no later record may follow
//!   it: its place is voided and synced before another record of its number is written anywhere, and before a commit goes without
//!   a record.
//! - A hole that a power cut leaves looks as one that damage leaves: a record says what was on disk before it was written. What is missing
//!   of that was damaged; the rest may never have been there.
//! - Generations change where the appending process decides: all of a generation is on disk before the next is begun.
//! - Zeros are written ahead by whoever has time: at the end of a file as the system knows it at that moment, never at a position.

mod files;
mod record;
mod replay;

#[cfg(test)]
pub(super) mod tests;
#[cfg(test)]
mod witness;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(super) use self::files::{LOG_FILES, LogFiles, sync_logs};
use self::record::{KEPT_BYTES_MAX, Name, OnDisk, SECTOR_BYTES};
pub(super) use self::record::{Operation, Operations, Payload, Position};
pub(super) use self::replay::Reader;
use super::super::StoreError;

/// No void may make a file longer than positions can say.
const LIMIT_BYTES_MAX: u64 = 1 << 30;

/// The log of this process, used under LMDB's writer mutex: between the begin and the end of a write transaction.
#[derive(Debug)]
pub(super) struct Log {
    files: Arc<LogFiles>,
    limit: u64,
    epoch: u64,
    tail: Position,
    /// The number of the record that ends at the tail, and where it begins, if that is known.
    last: u64,
    last_at: Option<Position>,
    /// The last checkpoint on disk that is known of, and the last record that was on disk with all before it as others say.
    on_disk: OnDisk,
    /// What was appended and is neither committed nor void: where it begins, where it ends.
    appended: Option<(Position, Position)>,
    buffer: Vec<u8>,
}

impl Log {
    /// Opens or makes the files. The record of number `last` + 1 will begin at `tail`. A generation ends with the record that reaches
    /// `limit` bytes.
    ///
    /// # Errors
    /// The files are refused, or the system does not give them.
    pub fn open(
        dir: &Path,
        limit: u64,
        epoch: u64,
        tail: Position,
        last: u64,
    ) -> Result<Self, StoreError> {
        let limit = limit.min(LIMIT_BYTES_MAX);
        let files = Arc::new(LogFiles::open(dir, limit, tail.generation())?);
        let on_disk = OnDisk {
            log: last,
            checkpoint: 0,
        };
        Ok(Self {
            files,
            limit,
            epoch,
            tail,
            last,
            last_at: None,
            on_disk,
            appended: None,
            buffer: Vec::new(),
        })
    }

    /// A checkpoint of this number is on disk.
    pub fn set_checkpoint(&mut self, number: u64) {
        self.on_disk.checkpoint = self.on_disk.checkpoint.max(number);
    }

    /// Where the record before the tail begins, if one is known to stand there.
    pub fn last_at(&self) -> Option<Position> {
        self.last_at
    }

    /// Of a log that was opened at its tail.
    pub fn set_last_at(&mut self, position: Option<Position>) {
        self.last_at = position;
    }

    /// What other threads sync, and write zeros ahead to.
    pub fn files(&self) -> Arc<LogFiles> {
        Arc::clone(&self.files)
    }

    /// Where the next record begins, if the generation goes on.
    pub fn tail(&self) -> Position {
        self.tail
    }

    /// The number of the record that ends at the tail.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Bytes of the records since a position, about.
    pub fn bytes_since(&self, position: Position) -> u64 {
        let generations = self.tail.generation().saturating_sub(position.generation());
        (generations * self.limit + self.tail.offset()).saturating_sub(position.offset())
    }

    /// Goes behind the records of other processes, up to the one of number `next` - 1. False at a gap: the tail is behind the last record
    /// before it. A newer checkpoint may lie behind the gap; if not, this commit and those of others have to
    /// become durable without the log.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn follow(&mut self, next: u64) -> io::Result<bool> {
        while self.last.checked_add(1).is_some_and(|number| number < next) {
            if !self.follow_one()? {
                break;
            }
        }
        self.buffer.truncate(SECTOR_BYTES);
        self.buffer.shrink_to(KEPT_BYTES_MAX);
        Ok(self.last + 1 == next)
    }

    fn follow_one(&mut self) -> io::Result<bool> {
        self.appended = None;
        for position in [self.tail, self.tail.next_generation()] {
            let name = self.name(position);
            if let Some((head, _)) = self.files.read(name, &mut self.buffer)? {
                (self.tail, self.last, self.last_at) = (head.end(), name.number, Some(position));
                self.on_disk.log = self.on_disk.log.max(head.on_disk.log);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The record that comes next, if it is at this position.
    fn name(&self, position: Position) -> Name {
        Name {
            position,
            epoch: self.epoch,
            number: self.last + 1,
        }
    }

    /// Writes the record of the commit that is about to be made, `number`; it is not on disk before the files are synced.
    /// `checkpoint` is the position of a checkpoint that is on disk. False when there is no room: records since the checkpoint are in
    /// the way, the operations are too large, the disk is full, or `follow` found a gap.
    ///
    /// # Errors
    /// A write or a sync failed; what is in the log is not known.
    pub fn append(
        &mut self,
        number: u64,
        operations: &mut Operations,
        checkpoint: Position,
    ) -> io::Result<bool> {
        self.appended = None;
        if number != self.last + 1 {
            return Ok(false);
        }
        // A process with another limit may have appended to either.
        self.vacate(self.tail)?;
        self.vacate(self.tail.next_generation())?;
        let switches = self.tail.offset() >= self.limit;
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
            self.files.sync_generation(self.tail.generation())?;
        }
        let name = self.name(position);
        let on_disk = OnDisk {
            log: self.on_disk.log.max(self.files.synced()),
            ..self.on_disk
        };
        match operations.with_record(name, on_disk, |record| self.files.write(position, record)) {
            Ok(()) => {
                self.files.set_generation(position.generation());
                self.appended = Some((position, position.after(record_bytes)));
                Ok(true)
            }
            Err(error) if is_full(&error) => {
                self.vacate(position)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The commit of what was appended was made.
    pub fn committed(&mut self, number: u64) {
        // Anything else `follow` will find.
        if let Some((position, end)) = self.appended.take().filter(|_| number == self.last + 1) {
            (self.tail, self.last, self.last_at) = (end, number, Some(position));
            self.files.set_committed(number);
        }
    }

    /// The commit of what was appended failed: takes the record out of the log, on disk. To be called before anybody is told.
    ///
    /// # Errors
    /// The write or the sync failed; the record may come back when the store recovers.
    pub fn void(&mut self) -> io::Result<()> {
        self.appended
            .take()
            .map_or(Ok(()), |(position, _)| self.void_at(position))
    }

    /// Sees to it that a place has no record of a commit that was not made: of this number or a greater one.
    fn vacate(&self, position: Position) -> io::Result<()> {
        let is_void = |name: Name| {
            (name.position, name.epoch) != (position, self.epoch) || name.number <= self.last
        };
        if self.files.name_at(position)?.is_none_or(is_void) {
            Ok(())
        } else {
            self.void_at(position)
        }
    }

    fn void_at(&self, position: Position) -> io::Result<()> {
        self.files.write(position, &[0; SECTOR_BYTES])?;
        self.files.sync_generation(position.generation())
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
    )
}
