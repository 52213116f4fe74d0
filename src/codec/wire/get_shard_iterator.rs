//! GetShardIterator: a shard and a place in it, named in one of five ways, in; an iterator out (docs/dynamodb.md 17).

use serde_json::{Value, json};

use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::{members, stream_arn};
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{GetShardIteratorRequest, GetShardIteratorResponse, SequenceNumber, ShardPosition};
use crate::model::error::StreamError;

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
