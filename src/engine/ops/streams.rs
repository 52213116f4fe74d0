//! DynamoDB Streams (docs/dynamodb.md 17): streams by name, also disabled ones that can still be
//! read; each with one shard from its beginning to its end, and the records after the position of
//! an iterator, which is valid for 15 minutes.

use crate::engine::{
    runtime::prelude::*,
    streams::{self, StreamDefinition, iterator::ShardIterator, record::StoredRecord, trim},
};
use crate::model::{
    api::{
        DescribeStreamRequest, DescribeStreamResponse, GetRecordsRequest, GetRecordsResponse,
        GetShardIteratorRequest, GetShardIteratorResponse, KeySchemaElement, ListStreamsRequest,
        ListStreamsResponse, SequenceNumber, Shard, ShardPosition, ShardRange, StreamName,
        StreamRecord, StreamStatus,
    },
    error::StreamError,
    limits::{LIST_STREAMS_MAX, STREAM_PAGE_BYTES_MAX, STREAM_RECORDS_MAX},
    schema::KeyType,
};

impl Engine {
    /// Returns a page of streams, also of deleted tables.
    pub fn list_streams(&self, request: &ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        let limit = request
            .limit
            .unwrap_or(LIST_STREAMS_MAX)
            .clamp(1, LIST_STREAMS_MAX) as usize;
        let view = self.view()?;
        let (streams, has_more) = match list_range(request) {
            Some(range) => walks::page(view.read(), &range, limit, |key, _| {
                let stream = keys::parse_stream(key);
                Ok(Some(
                    stream.ok_or(StoreError::Corrupt("the key of a stream"))?,
                ))
            })?,
            None => (Vec::new(), false),
        };
        let last_evaluated = streams.last().filter(|_| has_more).cloned();
        Ok(ListStreamsResponse {
            streams,
            last_evaluated,
        })
    }
}

/// Returns the range to list; `None` if the start is behind the table's streams.
fn list_range(request: &ListStreamsRequest) -> Option<KeyRange> {
    let range = match &request.table_name {
        Some(table) => keys::table_streams(table.as_str()),
        None => Space::Stream.all(),
    };
    let Some(start) = &request.exclusive_start else {
        return Some(range);
    };
    match &request.table_name {
        Some(table) if start.table_name > *table => return None,
        Some(table) if start.table_name < *table => return Some(range),
        _ => {}
    }
    Some(range.after(Some(keys::stream_key(start))))
}

impl Engine {
    /// Returns a stream's status and shards.
    ///
    /// # Errors
    /// Fails with a [`StreamError`](crate::model::error::StreamError) for an unknown stream or
    /// shard; also errors of the store.
    pub fn describe_stream(
        &self,
        request: &DescribeStreamRequest,
    ) -> Result<DescribeStreamResponse, Error> {
        let definition = streams::find_definition(self.view()?.read(), &request.stream)?;
        if let Some(shard) = &request.children_of {
            streams::check_shard(&definition, shard)?;
        }
        // There is only one shard: none comes after it or after an unknown one, and it has no
        // children.
        let is_behind = request.exclusive_start_shard_id.is_some() || request.children_of.is_some();
        Ok(DescribeStreamResponse {
            stream: request.stream.clone(),
            status: if definition.closed.is_some() {
                StreamStatus::Disabled
            } else {
                StreamStatus::Enabled
            },
            view_type: definition.view_type,
            created_ms: definition.created_ms,
            key_schema: key_schema(&definition),
            shards: if is_behind {
                Vec::new()
            } else {
                vec![shard(&definition)]
            },
            last_evaluated_shard_id: None,
        })
    }
}

fn key_schema(definition: &StreamDefinition) -> Vec<KeySchemaElement> {
    let element = |name: &String, key_type| KeySchemaElement {
        attribute_name: name.clone(),
        key_type,
    };
    let sort = definition
        .sort
        .iter()
        .map(|name| element(name, KeyType::Range));
    std::iter::once(element(&definition.partition, KeyType::Hash))
        .chain(sort)
        .collect()
}

fn shard(definition: &StreamDefinition) -> Shard {
    Shard {
        shard_id: streams::shard_id(definition),
        parent_shard_id: None,
        range: ShardRange {
            starting: Some(SequenceNumber::from_version(definition.first)),
            ending: definition
                .closed
                .map(|(last, _)| SequenceNumber::from_version(last)),
        },
    }
}

impl Engine {
    /// Returns an iterator at a position in a shard.
    ///
    /// # Errors
    /// Fails with a [`StreamError`] for a position that the shard does not have; also errors of the
    /// store.
    pub fn get_shard_iterator(
        &self,
        request: &GetShardIteratorRequest,
    ) -> Result<GetShardIteratorResponse, Error> {
        let view = self.view()?;
        let definition = streams::find_definition(view.read(), &request.stream)?;
        streams::check_shard(&definition, &request.shard_id)?;
        let behind = streams::next_position(view.read())?;
        let position = match request.position {
            ShardPosition::TrimHorizon => 0,
            ShardPosition::Latest => behind.max(definition.first),
            ShardPosition::AtSequenceNumber(at) => readable_version(&definition, at, behind)?,
            ShardPosition::AfterSequenceNumber(after) => {
                readable_version(&definition, after, behind)? + 1
            }
            ShardPosition::AtTimestamp(ms) => first_since(view.read(), &definition, ms, behind)?,
        };
        let given_ms = self.shared.now_ms();
        let iterator = ShardIterator {
            stream: request.stream.clone(),
            position,
            given_ms,
        };
        Ok(GetShardIteratorResponse {
            shard_iterator: iterator.encode(),
        })
    }
}

/// Returns the version of a sequence number that the shard still has, or could have had.
fn readable_version(
    definition: &StreamDefinition,
    sequence: SequenceNumber,
    end: Version,
) -> Result<Version, StreamError> {
    let version = sequence.version();
    if version >= end {
        return Err(StreamError::SequenceNumber);
    }
    if version < definition.first || version <= definition.trimmed {
        return Err(StreamError::Trimmed);
    }
    Ok(version)
}

/// Returns the sequence number of the first record of a time or later. A binary search; records are
/// in the order of their time.
fn first_since(
    read: &dyn Read,
    definition: &StreamDefinition,
    ms: u64,
    end: Version,
) -> Result<Version, StoreError> {
    let (mut low, mut high) = (definition.first.max(definition.trimmed + 1), end);
    while low < high {
        let middle = low + (high - low) / 2;
        match trim::first_at(read, definition.id, middle)? {
            Some((version, created_ms)) if created_ms < ms => low = version + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

impl Engine {
    /// Returns the next records of a shard.
    ///
    /// # Errors
    /// Fails with a [`StreamError`] for an invalid or expired iterator; also errors of the store.
    pub fn get_records(&self, request: &GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        let now_ms = self.shared.now_ms();
        let iterator = ShardIterator::decode(&request.shard_iterator, now_ms)?;
        let view = self.view()?;
        let definition = streams::find_definition(view.read(), &iterator.stream)?;
        // 0 is TRIM_HORIZON: the present begin of the stream.
        if iterator.position != 0 && iterator.position <= definition.trimmed {
            return Err(StreamError::Trimmed.into());
        }
        let limit = request
            .limit
            .unwrap_or(STREAM_RECORDS_MAX)
            .clamp(1, STREAM_RECORDS_MAX) as usize;
        let mut page = RecordPage {
            stream: &iterator.stream,
            definition: &definition,
            limit,
            records: Vec::new(),
            bytes: 0,
        };
        let has_more = page.read(view.read(), iterator.position)?;

        let position = match page.records.last() {
            Some(last) if has_more => Some(last.sequence_number.version() + 1),
            _ if definition.closed.is_some() => None,
            // The next position is after every version of this view, though the last record of the
            // stream may be far before it: later records have later versions.
            _ => Some(streams::next_position(view.read())?.max(iterator.position)),
        };
        let records = page.records;
        let next = |position| {
            ShardIterator {
                position,
                given_ms: now_ms,
                stream: iterator.stream,
            }
            .encode()
        };
        Ok(GetRecordsResponse {
            records,
            next_shard_iterator: position.map(next),
        })
    }
}

struct RecordPage<'p> {
    stream: &'p StreamName,
    definition: &'p StreamDefinition,
    limit: usize,
    records: Vec<StreamRecord>,
    bytes: u64,
}

impl RecordPage<'_> {
    /// Reads until the page is full; returns true if there are more records.
    fn read(&mut self, read: &dyn Read, position: Version) -> Result<bool, StoreError> {
        let mut has_more = false;
        try_walk(
            read,
            &keys::stream_records_from(self.definition.id, position),
            Direction::Forward,
            |key, value| {
                let version = keys::parse_version(key)
                    .ok_or(StoreError::Corrupt("the key of a stream record"))?;
                has_more = !self.add(version, value)?;
                Ok(continue_if(!has_more))
            },
        )?;
        Ok(has_more)
    }

    /// Adds a record if it fits; returns true if it does.
    fn add(&mut self, version: Version, bytes: &[u8]) -> Result<bool, StoreError> {
        let stored = StoredRecord::parse(bytes)?;
        let size_bytes = stored.size_bytes()?;
        let is_first = self.records.is_empty();
        if self.records.len() == self.limit
            || (!is_first && self.bytes + size_bytes > STREAM_PAGE_BYTES_MAX)
        {
            return Ok(false);
        }
        self.bytes += size_bytes;
        let sequence_number = SequenceNumber::from_version(version);
        self.records.push(StreamRecord {
            event_id: streams::event_id(self.stream, sequence_number),
            event: stored.event,
            origin: stored.origin,
            sequence_number,
            created_ms: stored.created_ms,
            view_type: self.definition.view_type,
            keys: decode_item(stored.keys)?,
            new_image: stored.new_image.map(decode_item).transpose()?,
            old_image: stored.old_image.map(decode_item).transpose()?,
            size_bytes,
        });
        Ok(true)
    }
}

fn decode_item(record: &[u8]) -> Result<Item, StoreError> {
    Record::parse(record)?.to_item()
}
