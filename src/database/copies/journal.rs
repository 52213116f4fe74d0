//! The journal of a copy, from which an interrupted one resumes: the position of each segment, in
//! an append-only file of JSON lines, each durable before the next page is read.
//!
//! ```text
//! {"version":1,"from":"http://…/Orders","from_id":"…","segments":8,"makes":true}   what is copied; the table is made
//! {"to_id":"…"}                                                         the table that is written
//! {"segment":3,"after":{"id":{"S":"x"}},"counts":{…}}                   a page whose items are all there; after null: the last
//! ```
//! A line that was cut short by the end of a process is removed on open: its page is read again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codec::digest::{digest, hex};
use crate::codec::dynamodb_json;
use crate::model::Item;
use crate::model::limits::READ_UNIT_BYTES;

const VERSION: u32 = 1;

/// The limit of segments in which a table is scanned.
pub const SEGMENTS_MAX: u32 = 256;

/// The directory of the journals in the data directory.
const DIRECTORY: &str = "copies";
/// The first word of the name of a copy into the data directory.
pub const PULL: &str = "pull";

/// Returns the path of the journal in a data directory, for the copy that these words name.
#[must_use]
pub fn path(data: &Path, words: &[&str]) -> PathBuf {
    data.join(DIRECTORY).join(format!(
        "{}.ndjson",
        hex(&digest(words.join("\n").as_bytes()))
    ))
}

/// The work of a copy or comparison.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CopyCounts {
    /// Items read and, in a copy, put.
    pub items: u64,
    /// Read units of the reads.
    pub read_units: f64,
    /// Write units of the puts.
    pub write_units: f64,
    /// Items that the target refused.
    pub rejected: u64,
    /// Items that a sync put, and that it deleted.
    #[serde(default)]
    pub put: u64,
    #[serde(default)]
    pub deleted: u64,
}

impl CopyCounts {
    /// Returns the estimate of an eventually consistent Scan of this many bytes.
    #[must_use]
    pub fn of_scan(bytes: f64) -> Self {
        Self {
            read_units: bytes / READ_UNIT_BYTES as f64 / 2.0,
            ..Self::default()
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.rejected += other.rejected;
        self.put += other.put;
        self.deleted += other.deleted;
    }
}

/// The position at which a segment resumes.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SegmentPosition {
    #[default]
    Start,
    /// The segment resumes after this key.
    After(Item),
    End,
}

/// The identity of a copy, and its number of segments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyHeader {
    version: u32,
    /// The name of the source table in messages.
    pub from: String,
    /// `TableId` of the source: another table of the same name has another id.
    pub from_id: String,
    pub segments: u32,
    /// True if the copy creates the target table.
    pub makes: bool,
}

impl CopyHeader {
    #[must_use]
    pub fn new(from: String, from_id: String, segments: u32, makes: bool) -> Self {
        Self {
            version: VERSION,
            from,
            from_id,
            segments,
            makes,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum CopyJournalLine {
    Head(CopyHeader),
    Page {
        segment: u32,
        after: Option<Value>,
        counts: CopyCounts,
    },
    Target {
        to_id: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum CopyJournalError {
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("another process is copying this table; wait for it or end it")]
    Busy,
    #[error("{0} is not what this ddbfs wrote; remove it to begin anew")]
    Damaged(String),
}

/// The state of a copy in its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyState {
    pub head: CopyHeader,
    /// `TableId` of the target table, once it is known.
    pub to_id: Option<String>,
    pub positions: Vec<SegmentPosition>,
    pub counts: CopyCounts,
}

impl CopyState {
    fn new(head: CopyHeader) -> Self {
        let positions = vec![SegmentPosition::Start; head.segments as usize];
        Self {
            head,
            to_id: None,
            positions,
            counts: CopyCounts::default(),
        }
    }
}

/// An open journal; its lock excludes other copies of the same table.
#[derive(Debug)]
pub struct CopyJournal {
    path: PathBuf,
    file: Mutex<File>,
}

impl CopyJournal {
    /// Opens the journal at `path`, and returns its state; `None` if it is new.
    ///
    /// # Errors
    /// `Busy` if it is open elsewhere, `Damaged` if it is not a journal; errors of the file.
    pub fn open(path: &Path) -> Result<(Self, Option<CopyState>), CopyJournalError> {
        let failed = |source| io_error(path, source);
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CopyJournalError::Busy),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let whole = text
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(failed)?;
        // The file's name must be durable before anything is done that only the journal records.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)?;
        let state = parse_lines(&text[..whole])
            .ok_or_else(|| CopyJournalError::Damaged(path.display().to_string()))?;
        Ok((
            Self {
                path: path.to_owned(),
                file: Mutex::new(file),
            },
            state,
        ))
    }

    /// Truncates the journal, and begins a new copy.
    ///
    /// # Errors
    /// The journal cannot be truncated or written.
    pub fn begin(&self, head: CopyHeader) -> Result<CopyState, CopyJournalError> {
        self.file
            .lock()
            .set_len(0)
            .map_err(|source| io_error(&self.path, source))?;
        self.append(&CopyJournalLine::Head(head.clone()))?;
        Ok(CopyState::new(head))
    }

    /// Records the target table.
    ///
    /// # Errors
    /// The journal cannot be written or synced.
    pub fn record_target(&self, to_id: String) -> Result<(), CopyJournalError> {
        self.append(&CopyJournalLine::Target { to_id })
    }

    /// Records a page of which all items are acknowledged.
    ///
    /// # Errors
    /// The journal cannot be written or synced.
    pub fn record_page(
        &self,
        segment: u32,
        last_key: Option<&Item>,
        counts: CopyCounts,
    ) -> Result<(), CopyJournalError> {
        let after = last_key
            .map(typed_json)
            .transpose()
            .map_err(|error| io_error(&self.path, error.into()))?;
        self.append(&CopyJournalLine::Page {
            segment,
            after,
            counts,
        })
    }

    fn append(&self, line: &CopyJournalLine) -> Result<(), CopyJournalError> {
        let mut text =
            serde_json::to_vec(line).map_err(|error| io_error(&self.path, error.into()))?;
        text.push(b'\n');
        let mut file = self.file.lock();
        file.write_all(&text)
            .and_then(|()| file.sync_data())
            .map_err(|source| io_error(&self.path, source))
    }

    /// Removes the journal: the copy is complete, or is discarded.
    ///
    /// # Errors
    /// The file system refuses to remove the file.
    pub fn remove(self) -> Result<(), CopyJournalError> {
        fs::remove_file(&self.path).map_err(|source| io_error(&self.path, source))
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> CopyJournalError {
    CopyJournalError::Io {
        path: path.display().to_string(),
        source,
    }
}

/// Returns a key as typed JSON. An error must not become `null`, which marks the end of a segment.
fn typed_json(key: &Item) -> serde_json::Result<Value> {
    let mut text = Vec::new();
    dynamodb_json::write_item(key, &mut text);
    serde_json::from_slice(&text)
}

/// Parses whole lines; the outer `None` means that they are damaged.
fn parse_lines(text: &[u8]) -> Option<Option<CopyState>> {
    let mut state: Option<CopyState> = None;
    for line in text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match (serde_json::from_slice(line).ok()?, &mut state) {
            (CopyJournalLine::Head(head), None)
                if head.version == VERSION && (1..=SEGMENTS_MAX).contains(&head.segments) =>
            {
                state = Some(CopyState::new(head));
            }
            (CopyJournalLine::Target { to_id }, Some(state)) => state.to_id = Some(to_id),
            (
                CopyJournalLine::Page {
                    segment,
                    after,
                    counts,
                },
                Some(state),
            ) => {
                let place = match after {
                    None => SegmentPosition::End,
                    Some(key) => SegmentPosition::After(
                        dynamodb_json::parse(key.to_string().as_bytes()).ok()?,
                    ),
                };
                *state.positions.get_mut(segment as usize)? = place;
                state.counts.add(&counts);
            }
            (CopyJournalLine::Head(_), _) | (_, None) => return None,
        }
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::AttributeValue;

    #[test]
    fn a_journal_tells_after_a_kill_what_it_was_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journals/a");
        let key = Item::from([
            ("k", AttributeValue::B(vec![0, 255])),
            ("s", AttributeValue::N("-1.50".parse().unwrap())),
        ]);
        let counts = CopyCounts {
            items: 3,
            read_units: 1.5,
            write_units: 2.0,
            rejected: 1,
            ..CopyCounts::default()
        };
        {
            let (journal, state) = CopyJournal::open(&path).unwrap();
            assert_eq!(state, None);
            assert!(matches!(
                CopyJournal::open(&path),
                Err(CopyJournalError::Busy)
            ));
            journal
                .begin(CopyHeader::new("A".into(), "id".into(), 3, true))
                .unwrap();
            journal.record_target("to".into()).unwrap();
            journal.record_page(1, Some(&key), counts).unwrap();
            journal.record_page(2, None, counts).unwrap();
        }
        let mut text = fs::read(&path).unwrap();
        let whole = text.len();
        text.extend_from_slice(br#"{"segment":0,"after":nu"#);
        fs::write(&path, &text).unwrap();
        let (journal, state) = CopyJournal::open(&path).unwrap();
        let state = state.unwrap();
        assert_eq!(
            (state.head.segments, state.to_id.as_deref()),
            (3, Some("to"))
        );
        assert_eq!(
            state.positions,
            [
                SegmentPosition::Start,
                SegmentPosition::After(key),
                SegmentPosition::End
            ]
        );
        assert_eq!(
            state.counts,
            CopyCounts {
                items: 6,
                read_units: 3.0,
                write_units: 4.0,
                rejected: 2,
                ..CopyCounts::default()
            }
        );
        assert_eq!(fs::metadata(&path).unwrap().len(), whole as u64);
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_journal_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        for text in [
            "x\n",
            "{\"to_id\":\"a\"}\n",
            "{\"version\":2,\"from\":\"\",\"from_id\":\"\",\"segments\":1,\"makes\":true}\n",
        ] {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(CopyJournal::open(&path), Err(CopyJournalError::Damaged(_))),
                "{text}"
            );
        }
    }
}
