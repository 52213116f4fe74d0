//! A place in a stream, read page by page through the operations of the API.

use crate::fs::prelude::*;
use crate::model::api::{
    DescribeStreamRequest, GetRecordsRequest, GetShardIteratorRequest, SequenceNumber, ShardPosition, StreamName, StreamRecord,
};
use crate::model::error::StreamError;

/// See the module.
#[derive(Debug)]
pub struct Records {
    stream: StreamName,
    shard_id: String,
    /// `None` at the end of a stream that was disabled.
    iterator: Option<String>,
    /// Where to go on when the iterator expired.
    place: ShardPosition,
}

impl Records {
    /// Records of a stream from a position.
    ///
    /// # Errors
    /// There is no such stream, or no such position.
    pub fn at(db: &dyn Browse, stream: StreamName, position: ShardPosition) -> Result<Self, FsError> {
        let request =
            DescribeStreamRequest { stream: stream.clone(), limit: None, exclusive_start_shard_id: None, children_of: None };
        let shard = db.describe_stream(request)?.shards.into_iter().next().ok_or(FsError::NotFound)?;
        let place = match position {
            // Not for ever the latest: from now on.
            ShardPosition::Latest => ShardPosition::AtTimestamp(now_ms()),
            position => position,
        };
        let mut records = Self { stream, shard_id: shard.shard_id, iterator: None, place };
        records.iterator = Some(records.iterator_at(db, position)?);
        Ok(records)
    }

    fn iterator_at(&self, db: &dyn Browse, position: ShardPosition) -> Result<String, FsError> {
        let request = GetShardIteratorRequest { stream: self.stream.clone(), shard_id: self.shard_id.clone(), position };
        Ok(db.get_shard_iterator(request)?.shard_iterator)
    }

    /// The next records, at most `limit`; none when there are no more now.
    ///
    /// # Errors
    /// The stream is gone, or the records behind this place were removed.
    pub fn next(&mut self, db: &dyn Browse, limit: u32) -> Result<Vec<StreamRecord>, FsError> {
        loop {
            let Some(iterator) = self.iterator.clone() else { return Ok(Vec::new()) };
            let answer = match db.get_records(GetRecordsRequest { shard_iterator: iterator.clone(), limit: Some(limit) }) {
                // Nobody asked for a while: the machine slept.
                Err(Error::Stream(StreamError::ExpiredIterator)) => {
                    self.iterator = Some(self.iterator_at(db, self.place)?);
                    continue;
                }
                answer => answer?,
            };
            if let Some(last) = answer.records.last() {
                self.place = ShardPosition::AfterSequenceNumber(last.sequence_number);
            }
            self.iterator = answer.next_shard_iterator;
            return Ok(answer.records);
        }
    }

    /// Is this the end of a stream that was disabled?
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.iterator.is_none()
    }

    #[must_use]
    pub fn stream(&self) -> &StreamName {
        &self.stream
    }
}

/// The position after the record that a text names; 0 is before all.
///
/// # Errors
/// The text is no sequence number.
pub fn after(text: &str) -> Result<ShardPosition, FsError> {
    if !text.is_empty() && text.bytes().all(|byte| byte == b'0') {
        return Ok(ShardPosition::TrimHorizon);
    }
    SequenceNumber::of_text(text).map(ShardPosition::AfterSequenceNumber).ok_or_else(|| FsError::Clause {
        message: format!("{text} is no sequence number"),
        hint: "it is the \"seq\" of a line of log.ndjson, 21 digits; 0 is the oldest change that is kept".to_owned(),
    })
}
