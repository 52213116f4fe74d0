//! GetRecords: an iterator and a limit in; records and the next iterator out (docs/dynamodb.md 17).

use super::error::WireError;
use super::members;
use super::shape::{Member, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{GetRecordsRequest, GetRecordsResponse, Origin, StreamEvent, StreamRecord};
use crate::model::arn::REGION;
use crate::model::limits::STREAM_RECORDS_MAX;

/// `eventVersion` of every record.
const EVENT_VERSION: &str = "1.1";

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
    let event = match record.event {
        StreamEvent::Insert => "INSERT",
        StreamEvent::Modify => "MODIFY",
        StreamEvent::Remove => "REMOVE",
    };
    write::string(&record.event_id, object.member("eventID"));
    write::string(event, object.member("eventName"));
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
    write::string(record.view_type.text(), object.member("StreamViewType"));
    object.end();
}
