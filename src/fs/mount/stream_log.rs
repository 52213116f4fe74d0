//! A table's stream, read through the operations of the API: a position in it ([`StreamReader`]), a
//! change as a line ([`write_line`]), and today's changes as a file that only grows
//! ([`StreamLog`]).
//!
//! `<Table>/stream/log.ndjson` has today's changes (UTC), a line each. At midnight its name stands
//! for a new, empty file with another inode number, as if rotated, and open files are read to the
//! old end. The same happens with a new stream. Records are kept for 24 hours, so none of today's
//! is ever missing; older ones are in `since/`.
//!
//! | difficulty | solved by |
//! |---|---|
//! | `st_size` is exact, and the lines have no fixed length | a `StreamLog` counts the bytes of each new record once, at the next access |
//! | a read may begin anywhere | a mark every `MARK_RECORDS` records: offset and sequence number |
//! | memory | marks only; logs that are not open are forgotten and counted again |

use crate::codec::calendar;
use crate::fs::prelude::*;
use crate::model::{
    api::{
        ChangeOrigin, DescribeStreamRequest, GetRecordsRequest, GetShardIteratorRequest,
        SequenceNumber, ShardPosition, StreamEvent, StreamName, StreamRecord,
    },
    error::{StoreError, StreamError},
};

/// Appends a change as a line of JSON, with its newline:
///
/// ```text
/// {"seq":"1000…","time":"2026-01-02T03:04:05.678Z","op":"MODIFY","key":{…},"new":{…},"old":{…}}
/// ```
/// Items are plain JSON. `new` and `old` are there when the stream's view type keeps them and the
/// item existed; `"by":"ttl"` when the item's time to live was over. `seq` is text: it has 21
/// digits, more than a JSON number can be trusted with.
pub fn write_line(record: &StreamRecord, out: &mut Vec<u8>) {
    let op = match record.event {
        StreamEvent::Insert => "INSERT",
        StreamEvent::Modify => "MODIFY",
        StreamEvent::Remove => "REMOVE",
    };
    let time = calendar::iso(record.created_ms);
    out.extend_from_slice(
        format!(
            r#"{{"seq":"{}","time":"{time}","op":"{op}""#,
            record.sequence_number
        )
        .as_bytes(),
    );
    match record.origin {
        ChangeOrigin::Client => {}
        ChangeOrigin::TimeToLive => out.extend_from_slice(br#","by":"ttl""#),
    }
    let items = [
        ("key", Some(&record.keys)),
        ("new", record.new_image.as_ref()),
        ("old", record.old_image.as_ref()),
    ];
    for (name, item) in items {
        if let Some(item) = item {
            out.extend_from_slice(format!(r#","{name}":"#).as_bytes());
            write_item(item, out);
        }
    }
    out.extend_from_slice(b"}\n");
}

fn write_item(item: &Item, out: &mut Vec<u8>) {
    plain_json::write_line(item, &[], out);
    // Removes the item's own newline.
    out.pop();
}

pub const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Records of one page while counting.
const PAGE_RECORDS: u32 = 1_000;
/// Records from one mark to the next: a read renders up to so many before its offset, and drops
/// them.
const MARK_RECORDS: u32 = 64;

/// The most pages without records in a row that are read before the next record.
const EMPTY_PAGES_MAX: u32 = 100;
/// The maximum number of logs with marks.
const LOGS_MAX: usize = 256;

/// The file of one stream and one day.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogName {
    pub stream: StreamName,
    /// Days since the epoch.
    pub day: u64,
}

/// The logs that were accessed.
#[derive(Debug, Default)]
pub struct StreamLogs {
    known: Mutex<HashMap<LogName, Arc<Mutex<StreamLog>>>>,
}

impl StreamLogs {
    /// Returns the log of that name, creating it if necessary.
    pub fn get(&self, name: &LogName) -> Arc<Mutex<StreamLog>> {
        let mut known = self.known.lock();
        if known.len() >= LOGS_MAX {
            known.retain(|_, log| Arc::strong_count(log) > 1);
        }
        Arc::clone(
            known
                .entry(name.clone())
                .or_insert_with(|| Arc::new(Mutex::new(StreamLog::new(name.clone())))),
        )
    }
}

/// The log file of one day of a stream: the count of its records, and marks into it, but no text.
#[derive(Debug)]
pub struct StreamLog {
    name: LogName,
    /// The position after the last record counted; `None` before the first access and after the
    /// day's end.
    records: Option<StreamReader>,
    /// True if the day is over and every record counted.
    is_sealed: bool,
    count: u64,
    pub bytes: u64,
    /// Time of the last record, or of the day's start before any, in milliseconds since the epoch.
    pub modified_ms: u64,
    /// Offset and sequence number of records, ascending.
    marks: Vec<(u64, SequenceNumber)>,
}

impl StreamLog {
    fn new(name: LogName) -> Self {
        let modified_ms = name.day * DAY_MS;
        Self {
            name,
            records: None,
            is_sealed: false,
            count: 0,
            bytes: 0,
            modified_ms,
            marks: Vec::new(),
        }
    }

    /// Counts the new records.
    ///
    /// # Errors
    /// [`FsError::NotFound`] and stream errors when the stream is gone.
    pub fn refresh(&mut self, db: &dyn Browse) -> Result<(), FsError> {
        if self.is_sealed {
            return Ok(());
        }
        // The position stays in place when a page fails: from the day's start the same records
        // would be counted twice.
        let records = match &mut self.records {
            Some(records) => records,
            none => none.insert(StreamReader::open(
                db,
                self.name.stream.clone(),
                ShardPosition::AtTimestamp(self.name.day * DAY_MS),
            )?),
        };
        let end_ms = (self.name.day + 1) * DAY_MS;
        let mut text = Vec::new();
        loop {
            let page = records.next(db, PAGE_RECORDS)?;
            for record in &page {
                if record.created_ms >= end_ms {
                    (self.is_sealed, self.records) = (true, None);
                    return Ok(());
                }
                if self.count.is_multiple_of(MARK_RECORDS.into()) {
                    self.marks.push((self.bytes, record.sequence_number));
                }
                text.clear();
                write_line(record, &mut text);
                self.count += 1;
                self.bytes += text.len() as u64;
                self.modified_ms = record.created_ms;
            }
            if page.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns the bytes from `offset` on, to the end that was counted.
    ///
    /// # Errors
    /// [`FsError::NotFound`] and stream errors when the stream is gone.
    pub fn read(&mut self, db: &dyn Browse, offset: u64, size: usize) -> Result<Vec<u8>, FsError> {
        self.refresh(db)?;
        let end = offset.saturating_add(size as u64).min(self.bytes);
        let place = self.marks.partition_point(|(at, _)| *at <= offset);
        let Some(&(mut at, sequence)) =
            place.checked_sub(1).and_then(|place| self.marks.get(place))
        else {
            return Ok(Vec::new());
        };
        if offset >= end {
            return Ok(Vec::new());
        }
        let mut records = StreamReader::open(
            db,
            self.name.stream.clone(),
            ShardPosition::AtSequenceNumber(sequence),
        )?;
        let (mut out, mut text) = (Vec::new(), Vec::new());
        let mut empty_pages = 0;
        while at < end {
            let page = records.next(db, MARK_RECORDS)?;
            // A short read would be the end of the file. A service may return pages without records
            // before the next record.
            if page.is_empty() {
                empty_pages += 1;
                if empty_pages < EMPTY_PAGES_MAX && !records.is_ended() {
                    continue;
                }
                return Err(FsError::Database(
                    StoreError::Corrupt("a stream lacks records that it had").into(),
                ));
            }
            empty_pages = 0;
            for record in page {
                text.clear();
                write_line(&record, &mut text);
                let part = |place: u64| {
                    usize::try_from(place.saturating_sub(at))
                        .map_or(text.len(), |part| part.min(text.len()))
                };
                out.extend_from_slice(&text[part(offset)..part(end)]);
                at += text.len() as u64;
            }
        }
        Ok(out)
    }
}

/// A position in a stream, read page by page.
#[derive(Debug)]
pub struct StreamReader {
    stream: StreamName,
    shard_id: String,
    /// The shard iterator; `None` at the end of a stream that was disabled.
    iterator: Option<String>,
    /// The position to continue from when the iterator expired.
    position: ShardPosition,
}

impl StreamReader {
    /// Opens a stream at a position.
    ///
    /// # Errors
    /// [`FsError::NotFound`] and stream errors when there is no such stream or position.
    pub fn open(
        db: &dyn Browse,
        stream: StreamName,
        position: ShardPosition,
    ) -> Result<Self, FsError> {
        let request = DescribeStreamRequest {
            stream: stream.clone(),
            limit: None,
            exclusive_start_shard_id: None,
            children_of: None,
        };
        let shard = db
            .describe_stream(request)?
            .shards
            .into_iter()
            .next()
            .ok_or(FsError::NotFound)?;
        let place = match position {
            // The latest position is fixed at the start, not at each retry.
            ShardPosition::Latest => ShardPosition::AtTimestamp(now_ms()),
            position => position,
        };
        let mut records = Self {
            stream,
            shard_id: shard.shard_id,
            iterator: None,
            position: place,
        };
        records.iterator = Some(records.iterator_at(db, position)?);
        Ok(records)
    }

    fn iterator_at(&self, db: &dyn Browse, position: ShardPosition) -> Result<String, FsError> {
        let request = GetShardIteratorRequest {
            stream: self.stream.clone(),
            shard_id: self.shard_id.clone(),
            position,
        };
        Ok(db.get_shard_iterator(request)?.shard_iterator)
    }

    /// Returns the next records, at most `limit`; none when there are no more now.
    ///
    /// # Errors
    /// Stream errors when the stream is gone, or the records after this position were removed.
    pub fn next(&mut self, db: &dyn Browse, limit: u32) -> Result<Vec<StreamRecord>, FsError> {
        loop {
            let Some(iterator) = self.iterator.clone() else {
                return Ok(Vec::new());
            };
            let answer = match db.get_records(GetRecordsRequest {
                shard_iterator: iterator.clone(),
                limit: Some(limit),
            }) {
                // The iterator was not used for long, such as while the machine slept.
                Err(Error::Stream(StreamError::ExpiredIterator)) => {
                    self.iterator = Some(self.iterator_at(db, self.position)?);
                    continue;
                }
                answer => answer?,
            };
            if let Some(last) = answer.records.last() {
                self.position = ShardPosition::AfterSequenceNumber(last.sequence_number);
            }
            self.iterator = answer.next_shard_iterator;
            return Ok(answer.records);
        }
    }

    /// True at the end of a stream that was disabled.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.iterator.is_none()
    }

    #[must_use]
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }
}

/// Returns the position after the record of this sequence number; 0 is before all.
///
/// # Errors
/// [`FsError::Clause`] for a text that is no sequence number.
pub fn position_after(text: &str) -> Result<ShardPosition, FsError> {
    if !text.is_empty() && text.bytes().all(|byte| byte == b'0') {
        return Ok(ShardPosition::TrimHorizon);
    }
    SequenceNumber::parse(text).map(ShardPosition::AfterSequenceNumber).ok_or_else(|| FsError::Clause {
        message: format!("{text} is no sequence number"),
        hint: "it is the \"seq\" of a line of log.ndjson, 21 digits; 0 is the oldest change that is kept".to_owned(),
    })
}

#[cfg(test)]
mod line_tests {
    use super::*;
    use crate::model::AttributeValue;
    use crate::model::api::{SequenceNumber, StreamViewType};

    #[test]
    fn a_change_is_one_line() {
        let key = Item::from([("pk", AttributeValue::S("u\n1".to_owned()))]);
        let record = StreamRecord {
            event_id: String::new(),
            event: StreamEvent::Remove,
            origin: ChangeOrigin::TimeToLive,
            sequence_number: SequenceNumber::from_version(7),
            created_ms: 1_000,
            view_type: StreamViewType::OldImage,
            keys: key.clone(),
            new_image: None,
            old_image: Some(key),
            size_bytes: 1,
        };
        let mut line = Vec::new();
        write_line(&record, &mut line);
        let expected = r#"{"seq":"100000000000000000007","time":"1970-01-01T00:00:01.000Z","op":"REMOVE","by":"ttl","key":{"pk":"u\n1"},"old":{"pk":"u\n1"}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), format!("{expected}\n"));
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
