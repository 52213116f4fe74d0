//! GetShardIterator: a shard and a place in it, named in one of five ways, in; an iterator out (docs/dynamodb.md 17).

use serde_json::{Value, json};

use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use super::{answer, members, stream_arn};
use crate::codec::json::document::Json;
use crate::model::api::{GetShardIteratorRequest, GetShardIteratorResponse, SequenceNumber, ShardPosition};
use crate::model::error::StreamError;
use crate::model::{Error, arn};

pub static SHAPE: Structure = Structure {
    name: "GetShardIteratorInput",
    members: &[
        stream_arn::member("StreamArn").required(),
        stream_arn::shard_id("ShardId").required(),
        Member::new("ShardIteratorType", Shape::String).required().rules(&[Rule::OneOf(&[
            "TRIM_HORIZON",
            "LATEST",
            "AT_SEQUENCE_NUMBER",
            "AFTER_SEQUENCE_NUMBER",
            "AT_TIMESTAMP",
        ])]),
        Member::new("SequenceNumber", Shape::String).rules(&[Rule::LengthMin(21), Rule::LengthMax(40)]),
        Member::new("Timestamp", Shape::Long),
    ],
};

/// Reads a body.
///
/// # Errors
/// Types, constraints, the ARN, members that the type of iterator needs or does not take.
pub fn request(json: Json<'_>) -> Result<GetShardIteratorRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    Ok(GetShardIteratorRequest {
        stream: stream_arn::read(members, "StreamArn")?,
        shard_id: members.owned("ShardId").unwrap_or_default(),
        position: position(members).map_err(|error| WireError::Request(Error::Stream(error)))?,
    })
}

fn position(members: Members<'_>) -> Result<ShardPosition, StreamError> {
    match members.string("ShardIteratorType") {
        Some("AT_SEQUENCE_NUMBER") => sequence_number(members, "AT_SEQUENCE_NUMBER").map(ShardPosition::AtSequenceNumber),
        Some("AFTER_SEQUENCE_NUMBER") => sequence_number(members, "AFTER_SEQUENCE_NUMBER").map(ShardPosition::AfterSequenceNumber),
        Some("AT_TIMESTAMP") => timestamp(members).map(ShardPosition::AtTimestamp),
        Some("LATEST") => without(members, "LATEST", &["SequenceNumber", "Timestamp"]).map(|()| ShardPosition::Latest),
        _ => without(members, "TRIM_HORIZON", &["SequenceNumber", "Timestamp"]).map(|()| ShardPosition::TrimHorizon),
    }
}

fn sequence_number(members: Members<'_>, iterator_type: &'static str) -> Result<SequenceNumber, StreamError> {
    without(members, iterator_type, &["Timestamp"])?;
    let text = members.string("SequenceNumber");
    let text = text.ok_or(StreamError::MemberMissing { member: "SequenceNumber", iterator_type })?;
    SequenceNumber::of_text(text).ok_or(StreamError::SequenceNumber)
}

/// Seconds since the epoch, possibly with a fraction, as milliseconds.
fn timestamp(members: Members<'_>) -> Result<u64, StreamError> {
    let iterator_type = "AT_TIMESTAMP";
    without(members, iterator_type, &["SequenceNumber"])?;
    let seconds = members.get("Timestamp").and_then(Json::as_f64);
    let seconds = seconds.ok_or(StreamError::MemberMissing { member: "Timestamp", iterator_type })?;
    // `as` saturates, which is the rule wanted: times before the epoch are the epoch.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milliseconds = (seconds * 1000.0).round() as u64;
    Ok(milliseconds)
}

fn without(members: Members<'_>, iterator_type: &'static str, unwanted: &[&'static str]) -> Result<(), StreamError> {
    match unwanted.iter().find(|member| members.has(member)) {
        Some(member) => Err(StreamError::MemberUnwanted { member, iterator_type }),
        None => Ok(()),
    }
}

/// The body as a tree.
#[must_use]
pub fn to_json(response: &GetShardIteratorResponse) -> Value {
    json!({ "ShardIterator": response.shard_iterator })
}

/// Appends the body of a request; the stream is in `home`, see [`arn::home`].
pub fn write_request(request: &GetShardIteratorRequest, home: &str, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("StreamArn", arn::stream_in(home, &request.stream));
    object.text("ShardId", &request.shard_id);
    let kind = match request.position {
        ShardPosition::TrimHorizon => "TRIM_HORIZON",
        ShardPosition::Latest => "LATEST",
        ShardPosition::AtSequenceNumber(_) => "AT_SEQUENCE_NUMBER",
        ShardPosition::AfterSequenceNumber(_) => "AFTER_SEQUENCE_NUMBER",
        ShardPosition::AtTimestamp(_) => "AT_TIMESTAMP",
    };
    object.text("ShardIteratorType", kind);
    match request.position {
        ShardPosition::TrimHorizon | ShardPosition::Latest => {}
        ShardPosition::AtSequenceNumber(number) | ShardPosition::AfterSequenceNumber(number) => {
            object.text("SequenceNumber", number.to_string());
        }
        // Exact: milliseconds of any date that matters are far below 2^53.
        ShardPosition::AtTimestamp(ms) => write::double(ms as f64 / 1000.0, object.member("Timestamp")),
    }
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<GetShardIteratorResponse, Error> {
    let shard_iterator = answer::text(answer::members(json)?, "ShardIterator")?.to_owned();
    Ok(GetShardIteratorResponse { shard_iterator })
}
