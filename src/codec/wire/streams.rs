//! The JSON form of DynamoDB Streams: ListStreams, DescribeStream, GetShardIterator and GetRecords
//! (docs/dynamodb.md 17), with the parts that the declarations in `model::api::streams` do not
//! generate.

use super::declared::*;
use super::response;
use super::write::{self};
use crate::codec::dynamodb_json;
use crate::model::api::streams::{ShardRange, streams};
use crate::model::api::*;
use crate::model::arn::{self, REGION};
use crate::model::error::StreamError;
use crate::model::limits::{LIST_STREAMS_MAX, STREAM_RECORDS_MAX};

streams!(wire);

/// `eventVersion` of every record.
const EVENT_VERSION: &str = "1.1";
/// The principal that deletes expired items.
const TTL_PRINCIPAL: &str = "dynamodb.amazonaws.com";

/// A stream by its ARN; region and account are ignored.
#[derive(Debug)]
pub struct Arn;

impl Form<StreamName> for Arn {
    const SHAPE: Shape = Shape::String;
    const RULES: &'static [Rule] = &[Rule::LengthMin(37), Rule::LengthMax(1024)];

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<StreamName>, WireError> {
        let Some(text) = json.as_str() else {
            return Ok(None);
        };
        match arn::parse_stream(text) {
            None if sender == Sender::Client => Err(WireError::Request(StreamError::Arn.into())),
            None => Err(response::unreadable(format_args!("{text:?} names no stream")).into()),
            stream => Ok(stream),
        }
    }

    fn write(value: &StreamName, out: &mut Vec<u8>) {
        write::string(&arn::stream(value), out);
    }

    fn put(value: &StreamName, name: &str, object: &mut ObjectWriter<'_>) {
        match object.context.home.as_str() {
            "" => Self::write(value, object.member(name)),
            home => object.text(name, arn::stream_with_prefix(home, value)),
        }
    }
}

/// A stream in a list.
impl Field for StreamName {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "Stream",
        members: &[],
    });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
        required::<_, Arn>(response::members(json)?, "StreamArn", sender).map(Some)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        Arn::put(self, "StreamArn", &mut object);
        object.text("TableName", self.table_name.as_str());
        object.text("StreamLabel", &self.label);
        object.end();
    }
}

impl Field for SequenceNumber {
    const SHAPE: Shape = Shape::String;

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(json.as_str().and_then(Self::parse_lenient))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write::string(&self.to_string(), out);
    }
}

forms! {
    /// The status in a response: one on its way to disabled counts as disabled; any other as
    /// enabled.
    ReportedStatus of StreamStatus, Shape::String, &[], |json, _| {
        Ok(matches!(json.as_str(), Some("DISABLED" | "DISABLING")).then_some(StreamStatus::Disabled))
    };
}

/// The filter for the children of one shard.
#[derive(Debug)]
pub struct ChildShards;

impl Form<String> for ChildShards {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "ShardFilter",
        members: &[
            Member::new("Type", Shape::String).rules(&[Rule::OneOf(&["CHILD_SHARDS"])]),
            Member::new("ShardId", Shape::String)
                .rules(&[Rule::LengthMin(28), Rule::LengthMax(65)]),
        ],
    });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<String>, WireError> {
        let Some(filter) = Members::of(json) else {
            return Ok(None);
        };
        let shard = filter.owned("ShardId").filter(|_| filter.has("Type"));
        shard
            .map(Some)
            .ok_or(WireError::Request(StreamError::ShardFilter.into()))
    }

    fn write(value: &String, out: &mut Vec<u8>) {
        let mut filter = ObjectWriter::start(out);
        filter.text("Type", "CHILD_SHARDS");
        filter.text("ShardId", value);
        filter.end();
    }
}

/// A position in a shard: `ShardIteratorType` with its members.
#[derive(Debug)]
pub struct Position;

impl Group<ShardPosition> for Position {
    const MEMBERS: &'static [Member] = &[
        Member::new("ShardIteratorType", Shape::String)
            .required()
            .rules(&[Rule::OneOf(&[
                "TRIM_HORIZON",
                "LATEST",
                "AT_SEQUENCE_NUMBER",
                "AFTER_SEQUENCE_NUMBER",
                "AT_TIMESTAMP",
            ])]),
        Member::new("SequenceNumber", Shape::String)
            .rules(&[Rule::LengthMin(21), Rule::LengthMax(40)]),
        Member::new("Timestamp", Shape::Long),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<ShardPosition, WireError> {
        position(members).map_err(|error| WireError::Request(Error::Stream(error)))
    }

    fn write(position: &ShardPosition, object: &mut ObjectWriter<'_>) {
        let kind = match position {
            ShardPosition::TrimHorizon => "TRIM_HORIZON",
            ShardPosition::Latest => "LATEST",
            ShardPosition::AtSequenceNumber(_) => "AT_SEQUENCE_NUMBER",
            ShardPosition::AfterSequenceNumber(_) => "AFTER_SEQUENCE_NUMBER",
            ShardPosition::AtTimestamp(_) => "AT_TIMESTAMP",
        };
        object.text("ShardIteratorType", kind);
        match position {
            ShardPosition::TrimHorizon | ShardPosition::Latest => {}
            ShardPosition::AtSequenceNumber(number)
            | ShardPosition::AfterSequenceNumber(number) => {
                number.write(object.member("SequenceNumber"));
            }
            ShardPosition::AtTimestamp(ms) => Seconds::put(ms, "Timestamp", object),
        }
    }
}

fn position(members: Members<'_>) -> Result<ShardPosition, StreamError> {
    match members.string("ShardIteratorType") {
        Some("AT_SEQUENCE_NUMBER") => {
            sequence_number(members, "AT_SEQUENCE_NUMBER").map(ShardPosition::AtSequenceNumber)
        }
        Some("AFTER_SEQUENCE_NUMBER") => sequence_number(members, "AFTER_SEQUENCE_NUMBER")
            .map(ShardPosition::AfterSequenceNumber),
        Some("AT_TIMESTAMP") => timestamp(members).map(ShardPosition::AtTimestamp),
        Some("LATEST") => check_absent(members, "LATEST", &["SequenceNumber", "Timestamp"])
            .map(|()| ShardPosition::Latest),
        _ => check_absent(members, "TRIM_HORIZON", &["SequenceNumber", "Timestamp"])
            .map(|()| ShardPosition::TrimHorizon),
    }
}

fn sequence_number(
    members: Members<'_>,
    iterator_type: &'static str,
) -> Result<SequenceNumber, StreamError> {
    check_absent(members, iterator_type, &["Timestamp"])?;
    let text = members.string("SequenceNumber");
    let text = text.ok_or(StreamError::MemberMissing {
        member: "SequenceNumber",
        iterator_type,
    })?;
    SequenceNumber::parse(text).ok_or(StreamError::SequenceNumber)
}

/// Reads the time; one before the epoch is the epoch.
fn timestamp(members: Members<'_>) -> Result<u64, StreamError> {
    let iterator_type = "AT_TIMESTAMP";
    check_absent(members, iterator_type, &["SequenceNumber"])?;
    members
        .time_ms("Timestamp")
        .ok_or(StreamError::MemberMissing {
            member: "Timestamp",
            iterator_type,
        })
}

fn check_absent(
    members: Members<'_>,
    iterator_type: &'static str,
    unwanted: &[&'static str],
) -> Result<(), StreamError> {
    match unwanted.iter().find(|member| members.has(member)) {
        Some(member) => Err(StreamError::MemberUnwanted {
            member,
            iterator_type,
        }),
        None => Ok(()),
    }
}

/// A record with the members common to all.
impl Field for StreamRecord {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "Record",
        members: &[],
    });

    /// Reads a record; its times are whole seconds.
    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Some(read_record(json)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        object.text("eventID", &self.event_id);
        object.text("eventName", self.event.as_str());
        object.text("eventVersion", EVENT_VERSION);
        object.text("eventSource", "aws:dynamodb");
        object.text("awsRegion", REGION);
        write_change(self, object.member("dynamodb"));
        match self.origin {
            ChangeOrigin::Client => {}
            ChangeOrigin::TimeToLive => {
                let identity = br#"{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}"#;
                object.member("userIdentity").extend_from_slice(identity);
            }
        }
        object.end();
    }
}

/// Writes the member `dynamodb`.
fn write_change(record: &StreamRecord, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::whole(
        record.created_ms / 1000,
        object.member("ApproximateCreationDateTime"),
    );
    object.item("Keys", &record.keys);
    for (name, image) in [
        ("NewImage", &record.new_image),
        ("OldImage", &record.old_image),
    ] {
        if let Some(image) = image {
            dynamodb_json::write_item(image, object.member(name));
        }
    }
    object.text("SequenceNumber", record.sequence_number.to_string());
    write::whole(record.size_bytes, object.member("SizeBytes"));
    object.text("StreamViewType", record.view_type.as_str());
    object.end();
}

fn read_record(json: Json<'_>) -> Result<StreamRecord, Error> {
    let members = response::members(json)?;
    let change = response::structure(members, "dynamodb")?;
    let identity = members.structure("userIdentity");
    // The model's spelling, and that of the service's documents.
    let principal = identity.and_then(|identity| {
        identity
            .string("PrincipalId")
            .or(identity.string("principalId"))
    });
    let number = change
        .string("SequenceNumber")
        .and_then(SequenceNumber::parse_lenient);
    let image = |name: &str| response::item(change, name);
    let event_id = members.owned("eventID");
    let view_type = change.word("StreamViewType");
    Ok(StreamRecord {
        event_id: event_id.ok_or_else(|| response::missing("eventID"))?,
        event: members
            .word("eventName")
            .ok_or_else(|| response::missing("eventName"))?,
        origin: if principal == Some(TTL_PRINCIPAL) {
            ChangeOrigin::TimeToLive
        } else {
            ChangeOrigin::Client
        },
        sequence_number: number.ok_or_else(|| response::missing("SequenceNumber"))?,
        created_ms: change.time_ms("ApproximateCreationDateTime").unwrap_or(0),
        view_type: view_type.ok_or_else(|| response::missing("StreamViewType"))?,
        keys: image("Keys")?.ok_or_else(|| response::missing("Keys"))?,
        new_image: image("NewImage")?,
        old_image: image("OldImage")?,
        size_bytes: response::count(change, "SizeBytes")?,
    })
}
