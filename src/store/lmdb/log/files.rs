//! The two files of the write-ahead log: reads and writes by position, zeros written ahead, syncs.
//! `record` is the format, the parent module the rules.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::directory;
use super::super::file_bytes::read_up_to;
use super::record::{LogPosition, RecordHeader, RecordId, SECTOR_BYTES};
#[cfg(test)]
use super::tests::trace::{LogEvent, record};
use crate::store::StoreError;

/// The names of the files. Generation g is in the file g % 2.
pub const LOG_FILES: [&str; 2] = ["log.0", "log.1"];

/// Bytes of zeros written at a time.
const ZEROS_BYTES: usize = 1024 * 1024;

static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];

/// Returns the index of a generation's file.
pub(super) fn file_index(generation: u64) -> usize {
    usize::from(generation % 2 == 1)
}

/// The two files, open. Threads share it.
#[derive(Debug)]
pub struct LogFiles {
    files: [File; 2],
    /// The same files opened to append: zeros go to the end of the file, whatever other processes
    /// write there, so they never overwrite a record.
    appenders: [File; 2],
    /// The generation of the last record; its file is the one to sync.
    generation: AtomicU64,
    /// The length up to which zeros are written ahead.
    limit: u64,
    /// The last known lengths of the files, which never get shorter.
    lengths: [AtomicU64; 2],
    /// The last record of this process that was committed, and the last one known to be on disk
    /// with all before it.
    committed: AtomicU64,
    synced: AtomicU64,
}

impl LogFiles {
    /// Opens the files. Missing ones are created, with zeros at their beginning as far as the disk
    /// has room, and survive a power cut.
    pub fn open(dir: &Path, limit: u64, generation: u64) -> Result<Self, StoreError> {
        let was_there = LOG_FILES.iter().all(|name| dir.join(name).exists());
        let [first, second] = LOG_FILES;
        let appenders = [
            directory::open_file(dir, first)?,
            directory::open_file(dir, second)?,
        ];
        let failed = |error: io::Error| StoreError::Io(format!("{dir:?}: {error}"));
        let open = |name: &str| directory::open_to_write(&dir.join(name)).map_err(failed);
        let files = Self {
            files: [open(first)?, open(second)?],
            appenders,
            generation: AtomicU64::new(generation),
            limit,
            lengths: Default::default(),
            committed: AtomicU64::new(0),
            synced: AtomicU64::new(0),
        };
        if !was_there {
            files.create(dir).map_err(failed)?;
        }
        Ok(files)
    }

    fn create(&self, dir: &Path) -> io::Result<()> {
        for which in 0..2 {
            // A log without room is no failure: commits are then made without records.
            if self.files[which].metadata()?.len() == 0
                && let Err(error) = self.append_zeros(which)
            {
                log::debug!("no room for the log: {error}");
            }
            self.files[which].sync_all()?;
        }
        File::open(dir)?.sync_all()
    }

    fn file(&self, generation: u64) -> &File {
        &self.files[file_index(generation)]
    }

    fn append_zeros(&self, file_index: usize) -> io::Result<()> {
        let bytes = usize::try_from(self.limit)
            .unwrap_or(ZEROS_BYTES)
            .min(ZEROS_BYTES);
        #[cfg(test)]
        record(LogEvent::Write(
            file_index,
            self.files[file_index].metadata()?.len() as usize,
            ZEROS[..bytes].to_vec(),
        ));
        io::Write::write_all(&mut &self.appenders[file_index], &ZEROS[..bytes])
    }

    /// Writes and syncs the next zeros ahead in a file that is shorter than `wanted_bytes` and the
    /// limit; returns true if there may be more to write. Any thread of any process may do so at
    /// any time.
    ///
    /// # Errors
    /// The disk has no room, or fails.
    pub fn preallocate(&self, wanted_bytes: u64) -> io::Result<bool> {
        // First in the file that no commit waits for.
        let current = file_index(self.generation.load(Ordering::Acquire));
        for which in [1 - current, current] {
            let bytes = self.files[which].metadata()?.len();
            if bytes < wanted_bytes.min(self.limit) {
                // One sync for several megabytes, once the file has some.
                (0..=(bytes / ZEROS_BYTES as u64).min(3))
                    .try_for_each(|_| self.append_zeros(which))?;
                self.files[which].sync_all()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until the written records are on disk.
    pub fn sync(&self) -> io::Result<()> {
        let committed = self.committed.load(Ordering::Acquire);
        self.sync_generation(self.generation.load(Ordering::Acquire))?;
        self.synced.fetch_max(committed, Ordering::AcqRel);
        Ok(())
    }

    /// Notes that the commit of a record of this process was made.
    pub(super) fn set_committed(&self, number: u64) {
        self.committed.store(number, Ordering::Release);
    }

    /// Returns the last record that is on disk with all before it, as far as this process knows.
    pub(super) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Returns the lengths of both files, and syncs them.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync_lengths(&self) -> io::Result<[u64; 2]> {
        let mut lengths = [0; 2];
        for (generation, length) in (0..).zip(&mut lengths) {
            // Measured before the sync: bytes added after it may be lost.
            *length = self.file(generation).metadata()?.len();
            self.sync_generation(generation)?;
        }
        Ok(lengths)
    }

    pub(super) fn sync_generation(&self, generation: u64) -> io::Result<()> {
        #[cfg(test)]
        record(LogEvent::Sync(file_index(generation)));
        self.file(generation).sync_data()
    }

    /// Writes a record, or zeros over one.
    pub(super) fn write(&self, position: LogPosition, bytes: &[u8]) -> io::Result<()> {
        let (file, which) = (
            self.file(position.generation()),
            file_index(position.generation()),
        );
        let end = position.offset() + bytes.len() as u64;
        if self.lengths[which].load(Ordering::Relaxed) < end {
            let length = file.metadata()?.len();
            self.lengths[which].store(length, Ordering::Relaxed);
            // A sync of a file that did not grow need not write its metadata (fdatasync(2)).
            if length < end
                && let Err(error) = self.append_zeros(which)
            {
                log::debug!("no zeros ahead in the log: {error}");
            }
        }
        #[cfg(test)]
        record(LogEvent::Write(
            which,
            position.offset() as usize,
            bytes.to_vec(),
        ));
        file.write_all_at(bytes, position.offset())
    }

    /// Notes that a record was written to this generation.
    pub(super) fn set_generation(&self, generation: u64) {
        self.generation.store(generation, Ordering::Release);
    }

    /// Returns the id in the record header at a position, if there is a header.
    pub(super) fn id_at(&self, position: LogPosition) -> io::Result<Option<RecordId>> {
        let mut head = [0; SECTOR_BYTES];
        let bytes = read_up_to(
            self.file(position.generation()),
            &mut head,
            position.offset(),
        )?;
        Ok(head
            .get(..bytes)
            .and_then(RecordHeader::parse)
            .map(|head| head.id))
    }

    /// Reads the record with the id `name` into `buffer`, if it is whole and at its position.
    pub(super) fn read<'b>(
        &self,
        name: RecordId,
        buffer: &'b mut Vec<u8>,
    ) -> io::Result<Option<ReadRecord<'b>>> {
        read_record(self.file(name.position.generation()), name, buffer)
    }
}

/// Syncs the log's files, whatever process wrote to them.
pub fn sync_logs(dir: &Path) -> io::Result<()> {
    for generation in 0..2 {
        File::open(dir.join(LOG_FILES[file_index(generation)]))?.sync_data()?;
        #[cfg(test)]
        record(LogEvent::Sync(file_index(generation)));
    }
    Ok(())
}

/// A whole record: its header and its payload.
pub(super) type ReadRecord<'b> = (RecordHeader, &'b [u8]);

/// Reads the record with the id `name`; `None` if the file has no whole one at its position.
pub(super) fn read_record<'b>(
    file: &File,
    name: RecordId,
    buffer: &'b mut Vec<u8>,
) -> io::Result<Option<ReadRecord<'b>>> {
    let found = read_any_record(file, name.position.offset(), buffer)?;
    Ok(found.filter(|(head, _)| head.id == name))
}

/// Reads a record with any id; `None` if the file has no whole one at this offset.
pub(super) fn read_any_record<'b>(
    file: &File,
    offset: u64,
    buffer: &'b mut Vec<u8>,
) -> io::Result<Option<ReadRecord<'b>>> {
    buffer.resize(SECTOR_BYTES, 0);
    let bytes = read_up_to(file, buffer, offset)?;
    let Some(head) = buffer.get(..bytes).and_then(RecordHeader::parse) else {
        return Ok(None);
    };
    // Checked before memory is allocated for it.
    if file.metadata()?.len().saturating_sub(offset) < head.unpadded_bytes() as u64 {
        return Ok(None);
    }
    buffer.resize(head.unpadded_bytes().max(SECTOR_BYTES), 0);
    read_up_to(file, &mut buffer[bytes..], offset + bytes as u64)?;
    Ok(head.payload(buffer).map(|payload| (head, payload)))
}
