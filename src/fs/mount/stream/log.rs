//! `<Table>/stream/log.ndjson`: today's changes (UTC), a line each. The file only grows; at midnight its name stands for a new,
//! empty one with another inode number, as if rotated, and who has the old one open reads it to its end. So does a new stream.
//! Records are kept for 24 hours, so none of today's is ever missing; older ones are in `since/`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | `st_size` is exact, and the lines have no fixed length | a `Log` counts the bytes of each new record once, when somebody looks |
//! | a read may begin anywhere | a mark every `MARK_RECORDS` records: offset and sequence number |
//! | memory | marks only; logs that nobody has open are forgotten and counted again |

use super::line;
use super::records::Records;
use crate::fs::prelude::*;
use crate::model::api::{SequenceNumber, ShardPosition, StreamName};

pub const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Records of one page while counting.
const PAGE_RECORDS: u32 = 1_000;
/// Records from one mark to the next: as many may be rendered in vain to begin a read.
const MARK_RECORDS: u32 = 64;
/// Logs whose marks are kept.
const LOGS_MAX: usize = 256;

/// One file: of one stream and one day.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogName {
    pub stream: StreamName,
    /// Days since the epoch.
    pub day: u64,
}

/// The logs that somebody looked at.
#[derive(Debug, Default)]
pub struct Logs {
    known: Mutex<HashMap<LogName, Arc<Mutex<Log>>>>,
}

impl Logs {
    /// The log of that name, known or not.
    pub fn get(&self, name: &LogName) -> Arc<Mutex<Log>> {
        let mut known = self.known.lock();
        if known.len() >= LOGS_MAX {
            known.retain(|_, log| Arc::strong_count(log) > 1);
        }
        Arc::clone(known.entry(name.clone()).or_insert_with(|| Arc::new(Mutex::new(Log::new(name.clone())))))
    }
}

/// What is known of one file.
#[derive(Debug)]
pub struct Log {
    name: LogName,
    /// Behind the last record counted; `None` before the first look and after the day's end.
    records: Option<Records>,
    /// The day is over and every record counted.
    is_sealed: bool,
    count: u64,
    pub bytes: u64,
    /// Time of the last record, milliseconds since the epoch; of the day's start before any.
    pub modified_ms: u64,
    /// (offset, sequence number) of a record, ascending.
    marks: Vec<(u64, SequenceNumber)>,
}

impl Log {
    fn new(name: LogName) -> Self {
        let modified_ms = name.day * DAY_MS;
        Self { name, records: None, is_sealed: false, count: 0, bytes: 0, modified_ms, marks: Vec::new() }
    }

    /// Counts the records that are new.
    ///
    /// # Errors
    /// The stream is gone.
    pub fn look(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        if self.is_sealed {
            return Ok(());
        }
        let mut records = match self.records.take() {
            Some(records) => records,
            None => Records::at(db, self.name.stream.clone(), ShardPosition::AtTimestamp(self.name.day * DAY_MS))?,
        };
        let end_ms = (self.name.day + 1) * DAY_MS;
        let mut text = Vec::new();
        loop {
            let page = records.next(db, PAGE_RECORDS)?;
            for record in &page {
                if record.created_ms >= end_ms {
                    self.is_sealed = true;
                    return Ok(());
                }
                if self.count.is_multiple_of(MARK_RECORDS.into()) {
                    self.marks.push((self.bytes, record.sequence_number));
                }
                text.clear();
                line::write(record, &mut text);
                self.count += 1;
                self.bytes += text.len() as u64;
                self.modified_ms = record.created_ms;
            }
            if page.is_empty() {
                self.records = Some(records);
                return Ok(());
            }
        }
    }

    /// Bytes from `offset` on, to the end that was counted.
    ///
    /// # Errors
    /// The stream is gone.
    pub fn read(&mut self, db: &dyn Browse, offset: u64, size: usize) -> Result<Vec<u8>, FsError> {
        self.look(db)?;
        let end = offset.saturating_add(size as u64).min(self.bytes);
        let place = self.marks.partition_point(|(at, _)| *at <= offset);
        let Some(&(mut at, sequence)) = place.checked_sub(1).and_then(|place| self.marks.get(place)) else {
            return Ok(Vec::new());
        };
        if offset >= end {
            return Ok(Vec::new());
        }
        let mut records = Records::at(db, self.name.stream.clone(), ShardPosition::AtSequenceNumber(sequence))?;
        let (mut out, mut text) = (Vec::new(), Vec::new());
        while at < end {
            let page = records.next(db, MARK_RECORDS)?;
            if page.is_empty() {
                break;
            }
            for record in page {
                text.clear();
                line::write(&record, &mut text);
                let part = |place: u64| usize::try_from(place.clamp(at, at + text.len() as u64) - at).unwrap_or(usize::MAX);
                out.extend_from_slice(text.get(part(offset)..part(end)).unwrap_or_default());
                at += text.len() as u64;
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
