//! The reader of the write-ahead log: the records after a checkpoint, for recovery and checks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::super::file_bytes::read_up_to;
use super::files::{LOG_FILES, file_index, read_any_record, read_record};
use super::record::{LogPosition, RecordHeader, RecordId, RecordPayload, SECTOR_BYTES};
use crate::store::StoreError;

/// Bytes of a file that are scanned at a time.
const SCAN_BYTES: usize = 1024 * 1024;

/// The log's files, opened for reading.
#[derive(Debug)]
pub struct LogReader {
    dir: PathBuf,
    files: [Option<File>; 2],
}

/// Traces of records in the files beyond the consecutive ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StrayRecords {
    /// The greatest number of a whole record after the last consecutive one.
    pub last: Option<u64>,
    /// True if a stray record proves damage: it is not at its own position, or says that the
    /// missing record was on disk.
    pub is_proof: bool,
    /// The last checkpoint that a whole record mentions.
    pub checkpoint: u64,
}

impl LogReader {
    /// Opens the files that exist.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let open = |name: &str| match File::open(dir.join(name)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::Io(format!("{:?}: {error}", dir.join(name)))),
        };
        let [first, second] = LOG_FILES;
        Ok(Self {
            dir: dir.to_owned(),
            files: [open(first)?, open(second)?],
        })
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError::Io(format!("{:?}: {error}", self.dir))
    }

    /// Returns the first missing file.
    pub fn missing(&self) -> Option<&'static str> {
        LOG_FILES
            .into_iter()
            .zip(&self.files)
            .find_map(|(name, file)| file.is_none().then_some(name))
    }

    /// Returns the name of a file that is shorter than its length in `lengths`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn shortened(&self, lengths: [u64; 2]) -> Result<Option<&'static str>, StoreError> {
        for ((file, name), length) in self.files.iter().zip(LOG_FILES).zip(lengths) {
            let metadata = file
                .as_ref()
                .map(File::metadata)
                .transpose()
                .map_err(|error| self.failed(&error))?;
            if metadata.is_some_and(|metadata| metadata.len() < length) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn file(&self, position: LogPosition) -> Option<&File> {
        self.files[file_index(position.generation())].as_ref()
    }

    /// Returns true if a record of this number begins at a position, whole or not.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn has_record(
        &self,
        position: LogPosition,
        epoch: u64,
        number: u64,
    ) -> Result<bool, StoreError> {
        let Some(file) = self.file(position) else {
            return Ok(false);
        };
        let mut sector = [0; SECTOR_BYTES];
        let bytes = read_up_to(file, &mut sector, position.offset())
            .map_err(|error| self.failed(&error))?;
        let head = sector.get(..bytes).and_then(RecordHeader::parse);
        Ok(head.is_some_and(|head| {
            head.id
                == RecordId {
                    position,
                    epoch,
                    number,
                }
        }))
    }

    /// Visits the records after a checkpoint in their order, up to the first that is missing or not
    /// whole.
    ///
    /// `visit` gets each record's number and its operations. Returns the end of the last record
    /// (`from` if there is none), and its number (`after`). Writes nothing, so that it can be
    /// repeated.
    ///
    /// # Errors
    /// A file of the log cannot be read, or `visit` fails.
    pub fn replay(
        &self,
        from: LogPosition,
        epoch: u64,
        after: u64,
        visit: &mut dyn FnMut(u64, RecordPayload<'_>) -> Result<(), StoreError>,
    ) -> Result<(LogPosition, u64), StoreError> {
        let (mut tail, mut last, mut buffer) = (from, after, Vec::new());
        'records: loop {
            // At the end of the last record, or at the beginning of the next generation.
            for position in [tail, tail.next_generation()] {
                let Some(file) = self.file(position) else {
                    continue;
                };
                // An older record at this position has another epoch or number.
                let name = RecordId {
                    position,
                    epoch,
                    number: last.saturating_add(1),
                };
                let record =
                    read_record(file, name, &mut buffer).map_err(|error| self.failed(&error))?;
                if let Some((head, payload)) = record {
                    visit(name.number, RecordPayload(payload))?;
                    (tail, last) = (head.end(), name.number);
                    continue 'records;
                }
            }
            return Ok((tail, last));
        }
    }

    /// Scans both files for records of an epoch after the last one that [`LogReader::replay`]
    /// found.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn stray_records(&self, epoch: u64, last: u64) -> Result<StrayRecords, StoreError> {
        let mut traces = StrayRecords::default();
        for (which, file) in self.files.iter().enumerate() {
            let Some(file) = file else { continue };
            traces
                .scan(file, which, epoch, last)
                .map_err(|error| self.failed(&error))?;
        }
        Ok(traces)
    }
}

impl StrayRecords {
    fn scan(&mut self, file: &File, nth: usize, epoch: u64, last: u64) -> io::Result<()> {
        let (mut chunk, mut record) = (vec![0; SCAN_BYTES], Vec::new());
        let mut at = 0;
        loop {
            let bytes = read_up_to(file, &mut chunk, at)?;
            // Records begin at sectors.
            for (sector, begin) in chunk[..bytes]
                .chunks(SECTOR_BYTES)
                .zip((at..).step_by(SECTOR_BYTES))
            {
                let news = |head: &RecordHeader| {
                    head.id.number > last || head.on_disk.checkpoint > self.checkpoint
                };
                // Only a record that adds something is read as a whole.
                if RecordHeader::parse(sector)
                    .is_some_and(|head| head.id.epoch == epoch && news(&head))
                    && let Some((head, _)) = read_any_record(file, begin, &mut record)?
                {
                    self.add(
                        &head,
                        (
                            file_index(head.id.position.generation()),
                            head.id.position.offset(),
                        ) == (nth, begin),
                        last,
                    );
                }
            }
            if bytes < SCAN_BYTES {
                return Ok(());
            }
            at += bytes as u64;
        }
    }

    fn add(&mut self, head: &RecordHeader, is_in_place: bool, last: u64) {
        self.checkpoint = self.checkpoint.max(head.on_disk.checkpoint);
        if head.id.number > last {
            self.last = self.last.max(Some(head.id.number));
            self.is_proof |= !is_in_place || head.on_disk.log > last;
        }
    }
}
