//! GetRecords: an iterator and a limit in; records and the next iterator out (docs/dynamodb.md 17).

use super::answer;
use super::error::WireError;
use super::members;
use super::shape::{Member, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::Word;
use crate::model::api::{GetRecordsRequest, GetRecordsResponse, Origin, SequenceNumber, StreamRecord};
use crate::model::arn::REGION;
use crate::model::limits::STREAM_RECORDS_MAX;
use crate::model::settings::StreamViewType;

/// `eventVersion` of every record.
const EVENT_VERSION: &str = "1.1";
/// Who deletes items whose time is over.
const SERVICE: &str = "dynamodb.amazonaws.com";

pub static SHAPE: Structure = Structure {
    name: "GetRecordsInput",
    members: &[
        Member::new("ShardIterator", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(2048)]),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(STREAM_RECORDS_MAX as i64)]),
    ],
};

/// Reads a body.
///
/// # Errors
/// Types and constraints.
pub fn request(json: Json<'_>) -> Result<GetRecordsRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    Ok(GetRecordsRequest { shard_iterator: members.owned("ShardIterator").unwrap_or_default(), limit: members.count("Limit") })
}

/// Appends the body.
pub fn response(response: &GetRecordsResponse, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Some(next) = &response.next_shard_iterator {
        write::string(next, object.member("NextShardIterator"));
    }
    let records = object.member("Records");
    records.push(b'[');
    for (position, record) in response.records.iter().enumerate() {
        if position > 0 {
            records.push(b',');
        }
        write_record(record, records);
    }
    records.push(b']');
    object.end();
}

/// One record with its newline-free JSON object.
pub fn write_record(record: &StreamRecord, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::string(&record.event_id, object.member("eventID"));
    write::string(record.event.word(), object.member("eventName"));
    write::string(EVENT_VERSION, object.member("eventVersion"));
    write::string("aws:dynamodb", object.member("eventSource"));
    write::string(REGION, object.member("awsRegion"));
    write_change(record, object.member("dynamodb"));
    match record.origin {
        Origin::Client => {}
        Origin::TimeToLive => {
            let identity = br#"{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}"#;
            object.member("userIdentity").extend_from_slice(identity);
        }
    }
    object.end();
}

/// The member `dynamodb`.
fn write_change(record: &StreamRecord, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::whole(record.created_ms / 1000, object.member("ApproximateCreationDateTime"));
    dynamodb_json::write_item(&record.keys, object.member("Keys"));
    for (name, image) in [("NewImage", &record.new_image), ("OldImage", &record.old_image)] {
        if let Some(image) = image {
            dynamodb_json::write_item(image, object.member(name));
        }
    }
    write::string(&record.sequence_number.to_string(), object.member("SequenceNumber"));
    write::whole(record.size_bytes, object.member("SizeBytes"));
    write::string(record.view_type.word(), object.member("StreamViewType"));
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &GetRecordsRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("ShardIterator", &request.shard_iterator);
    object.count("Limit", request.limit);
    object.end();
}

/// Reads the body of an answer. Times are whole seconds.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<GetRecordsResponse, Error> {
    let members = answer::members(json)?;
    let records = members.list("Records").unwrap_or_default().map(read_record);
    Ok(GetRecordsResponse { records: records.collect::<Result<_, _>>()?, next_shard_iterator: members.owned("NextShardIterator") })
}

fn read_record(json: Json<'_>) -> Result<StreamRecord, Error> {
    let members = answer::members(json)?;
    let change = answer::structure(members, "dynamodb")?;
    let identity = members.structure("userIdentity");
    // The model's spelling, and that of the service's documents.
    let principal = identity.and_then(|identity| identity.string("PrincipalId").or(identity.string("principalId")));
    let number = change.string("SequenceNumber").and_then(SequenceNumber::of_digits);
    Ok(StreamRecord {
        event_id: members.owned("eventID").unwrap_or_default(),
        event: members.word("eventName").ok_or_else(|| answer::missing("eventName"))?,
        origin: if principal == Some(SERVICE) { Origin::TimeToLive } else { Origin::Client },
        sequence_number: number.ok_or_else(|| answer::missing("SequenceNumber"))?,
        created_ms: change.time_ms("ApproximateCreationDateTime").unwrap_or(0),
        view_type: change.word("StreamViewType").unwrap_or(StreamViewType::KeysOnly),
        keys: answer::item(change, "Keys")?.unwrap_or_default(),
        new_image: answer::item(change, "NewImage")?,
        old_image: answer::item(change, "OldImage")?,
        size_bytes: answer::whole(change, "SizeBytes"),
    })
}
