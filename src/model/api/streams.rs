//! Requests and responses of DynamoDB Streams, the change data capture of a table: ListStreams,
//! DescribeStream, GetShardIterator, GetRecords (docs/dynamodb.md 17). `engine/streams/` keeps the
//! records; `codec/wire/streams.rs` completes the JSON form.

use std::fmt;

use super::common::Version;
use super::declare::{declare, operation_rows};
use super::tables::KeySchemaElement;
use crate::model::api_enum::api_enums;
use crate::model::schema::StreamViewType;
use crate::model::{Item, TableName};

operation_rows! { $ stream_operations
    Read Custom GetRecords get_records(GetRecordsRequest) -> GetRecordsResponse [of_streams(), long()];
    Read Custom GetShardIterator get_shard_iterator(GetShardIteratorRequest) -> GetShardIteratorResponse [of_streams()];
    Read Custom DescribeStream describe_stream(DescribeStreamRequest) -> DescribeStreamResponse [of_streams()];
    Read Custom ListStreams list_streams(ListStreamsRequest) -> ListStreamsResponse [of_streams()];
}

/// A stream, as its ARN identifies it. A table has a new one each time its stream is enabled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamName {
    pub table_name: TableName,
    /// The time at which it was enabled: `2026-01-02T03:04:05.678`.
    pub label: String,
}

/// The position of a record in its stream. Its text has 21 digits or more, so that texts of one
/// length sort as their numbers. Numbers of this engine are a 1 followed by the version that the
/// change gave its item; numbers of other services have up to 38 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(u128);

/// The digits before the 20 digits of any version.
const SEQUENCE_BASE: u128 = 100_000_000_000_000_000_000;

impl SequenceNumber {
    #[must_use]
    pub const fn from_version(version: Version) -> Self {
        // `From` is no function of constants; no bit is lost.
        Self(SEQUENCE_BASE + version as u128)
    }

    /// Returns the version of the number, or the nearest version for a number that no record of
    /// this engine can have.
    #[must_use]
    pub fn version(self) -> Version {
        Version::try_from(self.0.saturating_sub(SEQUENCE_BASE)).unwrap_or(Version::MAX)
    }

    /// Parses a text of 21 to 40 digits; returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() < 21 {
            None
        } else {
            Self::parse_lenient(text)
        }
    }

    /// Parses a text of any number of digits; a number out of range becomes the nearest one.
    #[must_use]
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Self(text.parse().unwrap_or(u128::MAX)))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:021}", self.0)
    }
}

api_enums! {
    /// The change of a record's item.
    #[derive(Hash)]
    StreamEvent {
        Insert = "INSERT",
        Modify = "MODIFY",
        Remove = "REMOVE",
    }
}

/// The origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChangeOrigin {
    /// A request.
    #[default]
    Client,
    /// Expiry by time to live: `userIdentity` is the service.
    TimeToLive,
}

/// A record of one change of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRecord {
    /// `eventID`: 32 hexadecimal digits.
    pub event_id: String,
    pub event: StreamEvent,
    pub origin: ChangeOrigin,
    pub sequence_number: SequenceNumber,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    pub view_type: StreamViewType,
    pub keys: Item,
    pub new_image: Option<Item>,
    pub old_image: Option<Item>,
    /// DynamoDB bytes of keys and images.
    pub size_bytes: u64,
}

api_enums! {
    /// The API's other two states last no longer than a commit.
    #[derive(Default)]
    StreamStatus {
        #[default]
        Enabled = "ENABLED",
        Disabled = "DISABLED",
    }
}

/// `ShardIteratorType` with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardPosition {
    /// The oldest kept record.
    TrimHorizon,
    /// The position after the newest record.
    Latest,
    AtSequenceNumber(SequenceNumber),
    AfterSequenceNumber(SequenceNumber),
    /// The first record of this time or later, milliseconds since the epoch.
    AtTimestamp(u64),
}

declare! { $ streams
    #[derive(Eq, Default)]
    ListStreamsRequest = "ListStreamsInput" {
        /// Only this table's; the table need not exist any more.
        optional table_name: TableName as Name,
        /// 1 to 100; default 100.
        optional limit: u32 [ValueMin(1), ValueMax(LIST_STREAMS_MAX as i64)],
        /// Streams after this one; it need not exist.
        optional exclusive_start: StreamName as Arn = "ExclusiveStartStreamArn",
    }

    #[derive(Eq)]
    ListStreamsResponse {
        /// Sorted by table name, then by label.
        always streams: Vec<StreamName>,
        /// Present exactly when more remain.
        optional last_evaluated: StreamName as Arn = "LastEvaluatedStreamArn",
    }

    #[derive(Eq)]
    DescribeStreamRequest = "DescribeStreamInput" {
        required stream: StreamName as Arn = "StreamArn",
        /// 1 to 100; default 100.
        optional limit: u32 [ValueMin(1), ValueMax(LIST_STREAMS_MAX as i64)],
        /// Shards after this one.
        optional exclusive_start_shard_id: String [LengthMin(28), LengthMax(65)],
        /// `ShardFilter` of type `CHILD_SHARDS`: only the children of this shard.
        optional children_of: String as ChildShards = "ShardFilter",
    }

    #[derive(Eq)]
    DescribeStreamResponse in "StreamDescription" {
        required stream: StreamName as Arn = "StreamArn",
        + "StreamLabel" = |it| Some(it.stream.label.clone()),
        always status: StreamStatus as ReportedStatus = "StreamStatus",
        required view_type: StreamViewType = "StreamViewType",
        /// Milliseconds since the epoch.
        always created_ms: u64 as Seconds = "CreationRequestDateTime",
        + "TableName" = |it| Some(it.stream.table_name.clone()),
        /// The table's keys, also after the table is deleted.
        always key_schema: Vec<KeySchemaElement>,
        always shards: Vec<Shard>,
        /// Present exactly when more remain.
        optional last_evaluated_shard_id: String,
    }

    /// A part of a stream.
    #[derive(Eq)]
    Shard {
        required shard_id: String,
        /// The shard that it continues, if it is still described; shards of this engine have none.
        optional parent_shard_id: String,
        required range: ShardRange = "SequenceNumberRange",
    }

    /// The sequence numbers of a shard.
    #[derive(Copy, Eq)]
    ShardRange {
        /// `None` before its first record, at some services.
        optional starting: SequenceNumber = "StartingSequenceNumber",
        /// `None` while the shard is open.
        optional ending: SequenceNumber = "EndingSequenceNumber",
    }

    #[derive(Eq)]
    GetShardIteratorRequest = "GetShardIteratorInput" {
        required stream: StreamName as Arn = "StreamArn",
        required shard_id: String [LengthMin(28), LengthMax(65)],
        group position: ShardPosition as Position,
    }

    #[derive(Eq)]
    GetShardIteratorResponse {
        /// An opaque text of the service.
        required shard_iterator: String,
    }

    #[derive(Eq)]
    GetRecordsRequest = "GetRecordsInput" {
        /// The iterator of GetShardIterator or of the last GetRecords.
        required shard_iterator: String [LengthMin(1), LengthMax(2048)],
        /// 1 to 1000; default 1000.
        optional limit: u32 [ValueMin(1), ValueMax(STREAM_RECORDS_MAX as i64)],
    }

    GetRecordsResponse {
        /// `None` at the end of a closed shard.
        optional next_shard_iterator: String,
        always records: Vec<StreamRecord>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_are_texts_of_21_digits() {
        let check = |text: &str, expected: Option<Version>| {
            assert_eq!(
                SequenceNumber::parse(text).map(SequenceNumber::version),
                expected,
                "{text}"
            );
        };
        assert_eq!(
            SequenceNumber::from_version(7).to_string(),
            "100000000000000000007"
        );
        check("100000000000000000007", Some(7));
        check(
            &SequenceNumber::from_version(Version::MAX).to_string(),
            Some(Version::MAX),
        );
        check("0000100000000000000000007", Some(7));
        check("000000000000000000007", Some(0));
        check("200000000000000000007", Some(Version::MAX));
        check("199999999999999999999", Some(Version::MAX));
        check(&"9".repeat(40), Some(Version::MAX));
        check("7", None);
        let of_service = "4421584500000000017450439091";
        assert_eq!(
            SequenceNumber::parse(of_service)
                .map(|number| number.to_string())
                .as_deref(),
            Some(of_service)
        );
        check("10000000000000000000x", None);
    }
}
