//! The shards of a stream merged into one: the service ends a shard after some hours, and has
//! several side by side; a follower of the stream reads one iterator. `client` reads streams by it.
//!
//! A shard is read from its beginning when its parent was read to its end, so that the changes of
//! an item are in their order. The iterator's text holds the position in every shard, with the
//! number of its last record: a shard's iterator, which the service forgets after 15 minutes, is
//! requested again behind that record, or from the beginning of the shard.

use serde::{Deserialize, Serialize};

use crate::model::api::{
    DescribeStreamRequest, DescribeStreamResponse, GetRecordsRequest, GetRecordsResponse,
    GetShardIteratorRequest, GetShardIteratorResponse, SequenceNumber, Shard, ShardPosition,
    ShardRange, StreamName, StreamRecord, StreamStatus,
};
use crate::model::error::StreamError;
use crate::model::{Error, TableName};

/// The id of the combined shard.
const COMBINED_ID: &str = "shardId-00000000000000000000-00000000";
/// The first character of an iterator over all shards; no service's iterator begins with it.
const COMBINED_MARK: char = '{';

/// A position in a stream.
#[derive(Serialize, Deserialize)]
struct StreamPosition {
    table: TableName,
    label: String,
    /// The time in milliseconds since the epoch before which records are skipped.
    since_ms: u64,
    shards: Vec<ShardCursor>,
}

/// The position in a shard that is read.
#[derive(Serialize, Deserialize)]
struct ShardCursor {
    id: String,
    /// `None` at the end of a shard with children that the service does not report yet.
    iterator: Option<String>,
    /// The number of the last record read.
    last: Option<String>,
    /// True if no record before the iterator is missing while there is no last one.
    is_from_start: bool,
}

impl ShardCursor {
    fn new(
        service: &dyn Streams,
        stream: &StreamName,
        id: &str,
        position: ShardPosition,
    ) -> Result<Self, Error> {
        let answer = service.get_shard_iterator(GetShardIteratorRequest {
            stream: stream.clone(),
            shard_id: id.to_owned(),
            position,
        })?;
        Ok(Self {
            id: id.to_owned(),
            iterator: Some(answer.shard_iterator),
            last: None,
            is_from_start: position == ShardPosition::TrimHorizon,
        })
    }

    /// Reads the next records, with another iterator if this one has expired.
    fn read(
        &mut self,
        service: &dyn Streams,
        stream: &StreamName,
        mut request: GetRecordsRequest,
    ) -> Result<Vec<StreamRecord>, Error> {
        let last = self.last.as_deref().map(SequenceNumber::parse_lenient);
        let again = match last {
            Some(Some(number)) => Some(ShardPosition::AfterSequenceNumber(number)),
            _ => self.is_from_start.then_some(ShardPosition::TrimHorizon),
        };
        let answer = match (service.get_records(request.clone()), again) {
            (Err(Error::Stream(StreamError::ExpiredIterator)), Some(position)) => {
                let iterator = Self::new(service, stream, &self.id, position)?.iterator;
                request.shard_iterator = iterator.unwrap_or_default();
                service.get_records(request)?
            }
            (answer, _) => answer?,
        };
        self.iterator = answer.next_shard_iterator;
        if let Some(record) = answer.records.last() {
            self.last = Some(record.sequence_number.to_string());
        }
        Ok(answer.records)
    }
}

impl StreamPosition {
    fn stream(&self) -> StreamName {
        StreamName {
            table_name: self.table.clone(),
            label: self.label.clone(),
        }
    }

    fn text(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|_| StreamError::Iterator.into())
    }
}

/// Streams with the real shards of the service.
pub trait Streams {
    fn describe_stream(
        &self,
        request: DescribeStreamRequest,
    ) -> Result<DescribeStreamResponse, Error>;
    fn get_shard_iterator(
        &self,
        request: GetShardIteratorRequest,
    ) -> Result<GetShardIteratorResponse, Error>;
    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error>;
}

/// Describes a stream with all its shards, page by page.
fn describe_all_shards(
    service: &dyn Streams,
    stream: &StreamName,
) -> Result<DescribeStreamResponse, Error> {
    let mut shards = Vec::new();
    loop {
        let start = shards.last().map(|shard: &Shard| shard.shard_id.clone());
        let request = DescribeStreamRequest {
            stream: stream.clone(),
            limit: None,
            exclusive_start_shard_id: start,
            children_of: None,
        };
        let mut answer = service.describe_stream(request)?;
        // An empty page with a continuation would be requested again forever.
        let has_more = answer.last_evaluated_shard_id.take().is_some() && !answer.shards.is_empty();
        shards.append(&mut answer.shards);
        if !has_more {
            return Ok(DescribeStreamResponse { shards, ..answer });
        }
    }
}

/// Describes a stream with one shard, and none after it.
///
/// # Errors
/// The service refuses the request or does not answer.
pub fn describe(
    service: &dyn Streams,
    request: &DescribeStreamRequest,
) -> Result<DescribeStreamResponse, Error> {
    let answer = describe_all_shards(service, &request.stream)?;
    // The combined shard stays open as long as any shard is open or may still come.
    let is_open = answer.status == StreamStatus::Enabled
        || answer
            .shards
            .iter()
            .any(|shard| shard.range.ending.is_none());
    let ranges = answer.shards.iter().map(|shard| shard.range);
    let starting = ranges.filter_map(|range| range.starting).min();
    let ending = answer
        .shards
        .iter()
        .filter_map(|shard| shard.range.ending)
        .max()
        .filter(|_| !is_open);
    let one = Shard {
        shard_id: COMBINED_ID.to_owned(),
        parent_shard_id: None,
        range: ShardRange { starting, ending },
    };
    // The combined shard is the only one, without successors and children.
    let is_behind = request.exclusive_start_shard_id.is_some() || request.children_of.is_some();
    let has_one = !answer.shards.is_empty() && !is_behind;
    let shards = has_one.then_some(one).into_iter().collect();
    Ok(DescribeStreamResponse { shards, ..answer })
}

/// Returns an iterator over all shards, or over one if the request names it.
///
/// # Errors
/// The service refuses the request or does not answer.
pub fn combined_iterator(
    service: &dyn Streams,
    request: GetShardIteratorRequest,
) -> Result<GetShardIteratorResponse, Error> {
    if request.shard_id != COMBINED_ID {
        return service.get_shard_iterator(request);
    }
    let shards = describe_all_shards(service, &request.stream)?.shards;
    let since_ms = if let ShardPosition::AtTimestamp(ms) = request.position {
        // The creation time of records has whole seconds.
        ms / 1000 * 1000
    } else {
        0
    };
    let shards = starting_shards(&shards, request.position)
        .into_iter()
        .map(|(id, position)| ShardCursor::new(service, &request.stream, id, position))
        .collect::<Result<_, Error>>()?;
    let place = StreamPosition {
        table: request.stream.table_name.clone(),
        label: request.stream.label.clone(),
        since_ms,
        shards,
    };
    Ok(GetShardIteratorResponse {
        shard_iterator: place.text()?,
    })
}

/// Returns the shards to begin with, and the position in each.
fn starting_shards(shards: &[Shard], position: ShardPosition) -> Vec<(&str, ShardPosition)> {
    let of = |wanted: &dyn Fn(&Shard) -> bool, position| -> Vec<(&str, ShardPosition)> {
        shards
            .iter()
            .filter(|shard| wanted(shard))
            .map(|shard| (shard.shard_id.as_str(), position))
            .collect()
    };
    match position {
        // A closed shard gets no more records, but its child may not be reported yet.
        ShardPosition::Latest => of(
            &|shard| {
                shards
                    .iter()
                    .all(|it| it.parent_shard_id.as_ref() != Some(&shard.shard_id))
            },
            ShardPosition::Latest,
        ),
        // The service has no iterator by time, so records are skipped here.
        ShardPosition::TrimHorizon | ShardPosition::AtTimestamp(_) => of(
            &|shard| parent(shards, shard).is_none(),
            ShardPosition::TrimHorizon,
        ),
        ShardPosition::AtSequenceNumber(number) | ShardPosition::AfterSequenceNumber(number) => {
            // The shards that contain the number are read from there. Later shards are read from
            // their beginning, unless they come up as children of a shard that is read.
            let mut begun = of(&|shard| contains(shard, number), position);
            if begun.is_empty() {
                // The service's refusal says what is wrong with the number.
                return shards
                    .first()
                    .map(|shard| (shard.shard_id.as_str(), position))
                    .into_iter()
                    .collect();
            }
            let is_read_later = |shard: &Shard| {
                parent(shards, shard).is_some_and(|parent| !is_before(parent, number))
            };
            let is_later = |shard: &Shard| shard.range.starting.is_none_or(|it| it > number);
            let is_next = |shard: &Shard| is_later(shard) && !is_read_later(shard);
            begun.extend(of(&is_next, ShardPosition::TrimHorizon));
            begun
        }
    }
}

fn parent<'s>(shards: &'s [Shard], shard: &Shard) -> Option<&'s Shard> {
    shards
        .iter()
        .find(|other| Some(&other.shard_id) == shard.parent_shard_id.as_ref())
}

fn is_before(shard: &Shard, number: SequenceNumber) -> bool {
    shard.range.ending.is_some_and(|ending| ending < number)
}

fn contains(shard: &Shard, number: SequenceNumber) -> bool {
    let has_begun = |starting| starting <= number;
    shard.range.starting.is_some_and(has_begun) && !is_before(shard, number)
}

/// Returns the next records of all shards, at most as many as requested.
///
/// # Errors
/// `Iterator` if the iterator is malformed; errors of the service.
pub fn combined_records(
    service: &dyn Streams,
    request: GetRecordsRequest,
) -> Result<GetRecordsResponse, Error> {
    if !request.shard_iterator.starts_with(COMBINED_MARK) {
        return service.get_records(request);
    }
    let mut place: StreamPosition =
        serde_json::from_str(&request.shard_iterator).map_err(|_| StreamError::Iterator)?;
    let mut records = Vec::new();
    let stream = place.stream();
    for cursor in &mut place.shards {
        let limit = request
            .limit
            .map(|limit| limit.saturating_sub(u32::try_from(records.len()).unwrap_or(u32::MAX)));
        // With the limit reached, a shard keeps its iterator for the next call.
        if let Some(shard_iterator) = cursor.iterator.clone().filter(|_| limit != Some(0)) {
            let one = GetRecordsRequest {
                shard_iterator,
                limit,
            };
            let read = cursor.read(service, &stream, one)?.into_iter();
            records.extend(read.filter(|record| record.created_ms >= place.since_ms));
        }
    }
    // The next call begins with another shard, so that a busy one does not starve the others.
    if !place.shards.is_empty() {
        place.shards.rotate_left(1);
    }
    follow_children(service, &mut place)?;
    records.sort_by_key(|record| record.sequence_number);
    let next_shard_iterator = (!place.shards.is_empty())
        .then(|| place.text())
        .transpose()?;
    Ok(GetRecordsResponse {
        records,
        next_shard_iterator,
    })
}

/// Replaces shards that were read to their end by their children.
fn follow_children(service: &dyn Streams, place: &mut StreamPosition) -> Result<(), Error> {
    if place.shards.iter().all(|cursor| cursor.iterator.is_some()) {
        return Ok(());
    }
    let stream = place.stream();
    let answer = describe_all_shards(service, &stream)?;
    let mut shards = Vec::new();
    for cursor in std::mem::take(&mut place.shards) {
        let children = answer.shards.iter().filter(|shard| {
            cursor.iterator.is_none() && shard.parent_shard_id.as_ref() == Some(&cursor.id)
        });
        let before = shards.len();
        for child in children {
            let position = ShardPosition::TrimHorizon;
            shards.push(ShardCursor::new(
                service,
                &stream,
                &child.shard_id,
                position,
            )?);
        }
        // A closed shard without visible children stays, because the service may not report its
        // child yet; in a disabled stream there will be none.
        let is_told = shards.len() > before;
        if cursor.iterator.is_some() || (!is_told && answer.status == StreamStatus::Enabled) {
            shards.push(cursor);
        }
    }
    place.shards = shards;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use super::*;
    use crate::model::Item;
    use crate::model::api::{ChangeOrigin, StreamEvent, StreamViewType};

    /// Shards with the numbers of their records, described one at a time; a page has two records.
    struct Family {
        shards: Mutex<Vec<(Shard, Vec<u64>)>>,
        status: StreamStatus,
    }

    fn stream() -> StreamName {
        StreamName {
            table_name: TableName::new("Orders").unwrap(),
            label: "x".to_owned(),
        }
    }

    fn shard(
        id: &str,
        parent: Option<&str>,
        first_sequence: u64,
        last_sequence: Option<u64>,
        records: &[u64],
    ) -> (Shard, Vec<u64>) {
        let shard = Shard {
            shard_id: id.to_owned(),
            parent_shard_id: parent.map(str::to_owned),
            range: ShardRange {
                starting: Some(SequenceNumber::from_version(first_sequence)),
                ending: last_sequence.map(SequenceNumber::from_version),
            },
        };
        (shard, records.to_vec())
    }

    /// Returns a record created in the second of its number.
    fn record(number: u64) -> StreamRecord {
        StreamRecord {
            event_id: String::new(),
            event: StreamEvent::Insert,
            origin: ChangeOrigin::Client,
            sequence_number: SequenceNumber::from_version(number),
            created_ms: number * 1000,
            view_type: StreamViewType::KeysOnly,
            keys: Item::default(),
            new_image: None,
            old_image: None,
            size_bytes: 0,
        }
    }

    impl Streams for Family {
        fn describe_stream(
            &self,
            request: DescribeStreamRequest,
        ) -> Result<DescribeStreamResponse, Error> {
            let shards = self.shards.lock().unwrap();
            let behind = |start: &String| {
                shards
                    .iter()
                    .position(|(shard, _)| shard.shard_id == *start)
                    .unwrap()
                    + 1
            };
            let place = request.exclusive_start_shard_id.as_ref().map_or(0, behind);
            let one = shards.get(place).map(|(shard, _)| shard.clone());
            Ok(DescribeStreamResponse {
                stream: request.stream,
                status: self.status,
                view_type: StreamViewType::KeysOnly,
                created_ms: 0,
                key_schema: Vec::new(),
                last_evaluated_shard_id: one
                    .as_ref()
                    .map(|shard| shard.shard_id.clone())
                    .filter(|_| place + 1 < shards.len()),
                shards: one.into_iter().collect(),
            })
        }

        fn get_shard_iterator(
            &self,
            request: GetShardIteratorRequest,
        ) -> Result<GetShardIteratorResponse, Error> {
            let shards = self.shards.lock().unwrap();
            let (shard, records) = shards
                .iter()
                .find(|(shard, _)| shard.shard_id == request.shard_id)
                .unwrap();
            let from = |first: &dyn Fn(SequenceNumber) -> bool| {
                records
                    .iter()
                    .filter(|&&number| !first(SequenceNumber::from_version(number)))
                    .count()
            };
            let at = match request.position {
                ShardPosition::TrimHorizon => 0,
                ShardPosition::Latest => records.len(),
                ShardPosition::AtSequenceNumber(number)
                | ShardPosition::AfterSequenceNumber(number)
                    if !contains(shard, number) =>
                {
                    return Err(StreamError::SequenceNumber.into());
                }
                ShardPosition::AtSequenceNumber(number) => from(&|other| other >= number),
                ShardPosition::AfterSequenceNumber(number) => from(&|other| other > number),
                // The service refuses this too.
                ShardPosition::AtTimestamp(_) => return Err(StreamError::Iterator.into()),
            };
            Ok(GetShardIteratorResponse {
                shard_iterator: format!("{}@{at}", shard.shard_id),
            })
        }

        fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
            let (id, at) = request.shard_iterator.split_once('@').unwrap();
            let at: usize = at.parse().unwrap();
            let shards = self.shards.lock().unwrap();
            let (shard, records) = shards
                .iter()
                .find(|(shard, _)| shard.shard_id == id)
                .unwrap();
            let page = request.limit.map_or(2, |limit| limit.min(2)) as usize;
            let given: Vec<_> = records
                .iter()
                .skip(at)
                .take(page)
                .map(|&number| record(number))
                .collect();
            let next = at + given.len();
            let is_over = next == records.len() && shard.range.ending.is_some();
            Ok(GetRecordsResponse {
                records: given,
                next_shard_iterator: (!is_over).then(|| format!("{id}@{next}")),
            })
        }
    }

    fn start(family: &Family, position: ShardPosition) -> Result<String, Error> {
        let request = DescribeStreamRequest {
            stream: stream(),
            limit: None,
            exclusive_start_shard_id: None,
            children_of: None,
        };
        let shard_id = describe(family, &request)?.shards[0].shard_id.clone();
        Ok(combined_iterator(
            family,
            GetShardIteratorRequest {
                stream: stream(),
                shard_id,
                position,
            },
        )?
        .shard_iterator)
    }

    /// Reads all records, at most three at once, until some pages are empty; returns them and the
    /// last iterator.
    fn read(family: &Family, iterator: Option<String>) -> (Vec<u64>, Option<String>) {
        let (mut numbers, mut next, mut empty) = (Vec::new(), iterator, 0);
        while empty < 3 {
            let Some(shard_iterator) = next.take() else {
                break;
            };
            let answer = combined_records(
                family,
                GetRecordsRequest {
                    shard_iterator,
                    limit: Some(3),
                },
            )
            .unwrap();
            assert!(answer.records.len() <= 3);
            empty = if answer.records.is_empty() {
                empty + 1
            } else {
                0
            };
            numbers.extend(
                answer
                    .records
                    .iter()
                    .map(|record| record.sequence_number.version()),
            );
            next = answer.next_shard_iterator;
        }
        (numbers, next)
    }

    fn family(status: StreamStatus) -> Family {
        let ending = (status == StreamStatus::Disabled).then_some(39);
        let shards = vec![
            shard("a", None, 10, Some(19), &[11, 12, 13]),
            shard("b", Some("a"), 20, ending, &[21, 23, 25, 27]),
            shard("c", Some("a"), 20, ending, &[22]),
            shard("d", Some("gone"), 5, Some(9), &[6]),
        ];
        Family {
            shards: Mutex::new(shards),
            status,
        }
    }

    #[test]
    fn shards_are_read_as_one() {
        let family = family(StreamStatus::Enabled);
        let check = |position, expected: &[u64]| {
            let (mut numbers, next) = read(&family, Some(start(&family, position).unwrap()));
            let place = |number: u64| {
                numbers
                    .iter()
                    .position(|other| *other == number)
                    .unwrap_or(0)
            };
            assert!(
                place(13) <= place(21) && place(21) <= place(27),
                "{numbers:?}"
            );
            numbers.sort_unstable();
            assert_eq!(
                (numbers.as_slice(), next.is_some()),
                (expected, true),
                "{position:?}"
            );
        };
        check(
            ShardPosition::TrimHorizon,
            &[6, 11, 12, 13, 21, 22, 23, 25, 27],
        );
        check(ShardPosition::Latest, &[]);
        check(
            ShardPosition::AtSequenceNumber(SequenceNumber::from_version(12)),
            &[12, 13, 21, 22, 23, 25, 27],
        );
        check(
            ShardPosition::AfterSequenceNumber(SequenceNumber::from_version(13)),
            &[21, 22, 23, 25, 27],
        );
        check(
            ShardPosition::AfterSequenceNumber(SequenceNumber::from_version(23)),
            &[25, 27],
        );
        check(
            ShardPosition::AtTimestamp(13_500),
            &[13, 21, 22, 23, 25, 27],
        );
        let unknown = start(
            &family,
            ShardPosition::AtSequenceNumber(SequenceNumber::from_version(1)),
        );
        assert_eq!(unknown, Err(StreamError::SequenceNumber.into()));
    }

    #[test]
    fn shards_that_come_later_are_read_too() {
        let family = family(StreamStatus::Enabled);
        let (numbers, next) = read(
            &family,
            Some(start(&family, ShardPosition::Latest).unwrap()),
        );
        assert_eq!(numbers, [0; 0]);
        family.shards.lock().unwrap()[1].1.push(28);
        let (numbers, next) = read(&family, next);
        assert_eq!(numbers, [28]);
        // The shard ends before the service reports its child.
        family.shards.lock().unwrap()[1].0.range.ending = Some(SequenceNumber::from_version(29));
        let (numbers, next) = read(&family, next);
        assert_eq!((numbers.len(), next.is_some()), (0, true));
        family
            .shards
            .lock()
            .unwrap()
            .push(shard("e", Some("b"), 30, None, &[31]));
        assert_eq!(read(&family, next).0, [31]);
    }

    #[test]
    fn the_latest_of_a_shard_that_has_ended_is_its_next_child() {
        let family = family(StreamStatus::Enabled);
        let ended = Some(SequenceNumber::from_version(29));
        for (shard, _) in family.shards.lock().unwrap().iter_mut().skip(1) {
            shard.range.ending = ended;
        }
        let next = start(&family, ShardPosition::Latest).unwrap();
        let child = shard("e", Some("b"), 30, None, &[31]);
        family.shards.lock().unwrap().push(child);
        assert_eq!(read(&family, Some(next)).0, [31]);
    }

    #[test]
    fn a_shard_without_a_record_may_have_no_beginning() {
        let mut empty = shard("a", None, 0, None, &[]);
        empty.0.range.starting = None;
        let family = Family {
            shards: Mutex::new(vec![empty]),
            status: StreamStatus::Enabled,
        };
        let five = SequenceNumber::from_version(5);
        for position in [ShardPosition::TrimHorizon, ShardPosition::Latest] {
            let next = start(&family, position).unwrap();
            assert_eq!(read(&family, Some(next)).0, [0; 0]);
        }
        let next = start(&family, ShardPosition::Latest).unwrap();
        family.shards.lock().unwrap()[0].1.push(6);
        assert_eq!(read(&family, Some(next)).0, [6]);
        let unknown = start(&family, ShardPosition::AtSequenceNumber(five));
        assert_eq!(unknown, Err(StreamError::SequenceNumber.into()));
        family.shards.lock().unwrap()[0].0.range.starting = Some(five);
        let next = start(&family, ShardPosition::AtSequenceNumber(five)).unwrap();
        assert_eq!(read(&family, Some(next)).0, [6]);
    }

    #[test]
    fn a_stream_that_was_disabled_ends() {
        let family = family(StreamStatus::Disabled);
        let (mut numbers, next) = read(
            &family,
            Some(start(&family, ShardPosition::TrimHorizon).unwrap()),
        );
        numbers.sort_unstable();
        assert_eq!(
            (numbers, next),
            (vec![6, 11, 12, 13, 21, 22, 23, 25, 27], None)
        );
    }
}
