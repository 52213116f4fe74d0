//! GetRecords: the records of a shard behind the place of an iterator, and the iterator behind them (docs/dynamodb.md 17).

use std::ops::ControlFlow;

use crate::codec::record::Record;
use crate::engine::base::keys;
use crate::engine::runtime::Engine;
use crate::engine::streams::iterator::ShardIterator;
use crate::engine::streams::record::StoredRecord;
use crate::engine::streams::{self, Definition};
use crate::model::api::{GetRecordsRequest, GetRecordsResponse, SequenceNumber, StreamName, StreamRecord, Version};
use crate::model::error::{StoreError, StreamError};
use crate::model::limits::{STREAM_PAGE_BYTES_MAX, STREAM_RECORDS_MAX};
use crate::model::{Error, Item};
use crate::store::{Direction, Read};

impl Engine {
    /// The next records of a shard.
    ///
    /// # Errors
    /// [`StreamError`]; those of the store.
    pub fn get_records(&self, request: &GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        let now_ms = self.shared.options.clock.now_ms();
        let iterator = ShardIterator::decode(&request.shard_iterator, now_ms)?;
        let view = self.view()?;
        let definition = streams::known(view.read(), &iterator.stream)?;
        // 0 is TRIM_HORIZON: wherever the stream begins now.
        if iterator.position != 0 && iterator.position <= definition.trimmed {
            return Err(StreamError::Trimmed.into());
        }
        let limit = request.limit.unwrap_or(STREAM_RECORDS_MAX).clamp(1, STREAM_RECORDS_MAX) as usize;
        let mut page = Page { stream: &iterator.stream, definition: &definition, limit, records: Vec::new(), bytes: 0 };
        let has_more = page.read(view.read(), iterator.position)?;

        let position = match page.records.last() {
            Some(last) if has_more => Some(last.sequence_number.version() + 1),
            _ if definition.closed.is_some() => None,
            // Behind every version of this view, though the last record may be far before: what comes next has a later one.
            _ => Some(streams::behind(view.read())?.max(iterator.position)),
        };
        let records = page.records;
        let next = |position| ShardIterator { position, given_ms: now_ms, stream: iterator.stream }.encode();
        Ok(GetRecordsResponse { records, next_shard_iterator: position.map(next) })
    }
}

struct Page<'p> {
    stream: &'p StreamName,
    definition: &'p Definition,
    limit: usize,
    records: Vec<StreamRecord>,
    bytes: u64,
}

impl Page<'_> {
    /// Reads until the page is full; whether there are more records.
    fn read(&mut self, read: &dyn Read, position: Version) -> Result<bool, StoreError> {
        let mut outcome = Ok(false);
        read.walk(&keys::stream_records_from(self.definition.id, position), Direction::Forward, &mut |key, value| {
            let Some(version) = keys::version_of(key) else { return ControlFlow::Continue(()) };
            match self.add(version, value) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => {
                    outcome = Ok(true);
                    ControlFlow::Break(())
                }
                Err(error) => {
                    outcome = Err(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        outcome
    }

    /// Adds a record if there is room for it.
    fn add(&mut self, version: Version, bytes: &[u8]) -> Result<bool, StoreError> {
        let stored = StoredRecord::parse(bytes)?;
        let size_bytes = stored.size_bytes()?;
        let is_first = self.records.is_empty();
        if self.records.len() == self.limit || (!is_first && self.bytes + size_bytes > STREAM_PAGE_BYTES_MAX) {
            return Ok(false);
        }
        self.bytes += size_bytes;
        let sequence_number = SequenceNumber::of(version);
        self.records.push(StreamRecord {
            event_id: streams::event_id(self.stream, sequence_number),
            event: stored.event,
            origin: stored.origin,
            sequence_number,
            created_ms: stored.created_ms,
            view_type: self.definition.view_type,
            keys: item(stored.keys)?,
            new_image: stored.new_image.map(item).transpose()?,
            old_image: stored.old_image.map(item).transpose()?,
            size_bytes,
        });
        Ok(true)
    }
}

fn item(record: &[u8]) -> Result<Item, StoreError> {
    Record::parse(record)?.to_item()
}
