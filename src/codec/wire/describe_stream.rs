//! DescribeStream: the ARN of a stream in; its definition and shards out (docs/dynamodb.md 17).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write::ObjectWriter;
use super::{answer, members, stream_arn, table_description, table_members};
use crate::codec::json::document::Json;
use crate::model::Word;
use crate::model::api::{DescribeStreamRequest, DescribeStreamResponse, SequenceNumber, Shard, StreamStatus};
use crate::model::error::StreamError;
use crate::model::limits::LIST_STREAMS_MAX;
use crate::model::{Error, arn};

static SHARD_FILTER: Structure = Structure {
    name: "ShardFilter",
    members: &[Member::new("Type", Shape::String).rules(&[Rule::OneOf(&["CHILD_SHARDS"])]), stream_arn::shard_id("ShardId")],
};

pub static SHAPE: Structure = Structure {
    name: "DescribeStreamInput",
    members: &[
        stream_arn::member("StreamArn").required(),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(LIST_STREAMS_MAX as i64)]),
        stream_arn::shard_id("ExclusiveStartShardId"),
        Member::new("ShardFilter", Shape::Structure(&SHARD_FILTER)),
    ],
};

/// Reads a body.
///
/// # Errors
/// Types, constraints, the ARN.
pub fn request(json: Json<'_>) -> Result<DescribeStreamRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    Ok(DescribeStreamRequest {
        stream: stream_arn::read(members, "StreamArn")?,
        limit: members.count("Limit"),
        exclusive_start_shard_id: members.owned("ExclusiveStartShardId"),
        children_of: members.structure("ShardFilter").map(children_of).transpose()?,
    })
}

fn children_of(filter: Members<'_>) -> Result<String, WireError> {
    let shard = filter.owned("ShardId").filter(|_| filter.has("Type"));
    shard.ok_or(WireError::Request(StreamError::ShardFilter.into()))
}

/// The body as a tree: `{"StreamDescription": …}`.
#[must_use]
pub fn to_json(response: &DescribeStreamResponse) -> Value {
    let mut out = Map::new();
    let mut add = |name: &str, value: Value| {
        out.insert(name.to_owned(), value);
    };
    add("StreamArn", json!(arn::stream(&response.stream)));
    add("StreamLabel", json!(response.stream.label));
    add("StreamStatus", json!(response.status.word()));
    add("StreamViewType", json!(response.view_type.word()));
    add("CreationRequestDateTime", table_description::timestamp(response.created_ms));
    add("TableName", json!(response.stream.table_name.as_str()));
    add("KeySchema", table_description::key_schema_to_json(&response.key_schema));
    add("Shards", response.shards.iter().map(shard).collect());
    if let Some(last) = &response.last_evaluated_shard_id {
        add("LastEvaluatedShardId", json!(last));
    }
    json!({ "StreamDescription": out })
}

fn shard(shard: &Shard) -> Value {
    let mut range = Map::new();
    range.insert("StartingSequenceNumber".to_owned(), json!(shard.starting.to_string()));
    if let Some(ending) = shard.ending {
        range.insert("EndingSequenceNumber".to_owned(), json!(ending.to_string()));
    }
    let mut out = Map::new();
    out.insert("ShardId".to_owned(), json!(shard.shard_id));
    if let Some(parent) = &shard.parent_shard_id {
        out.insert("ParentShardId".to_owned(), json!(parent));
    }
    out.insert("SequenceNumberRange".to_owned(), Value::Object(range));
    Value::Object(out)
}

/// Appends the body of a request; the stream is in `home`, see [`arn::home`].
pub fn write_request(request: &DescribeStreamRequest, home: &str, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("StreamArn", arn::stream_in(home, &request.stream));
    object.count("Limit", request.limit);
    object.text_if("ExclusiveStartShardId", request.exclusive_start_shard_id.as_ref());
    if let Some(shard) = &request.children_of {
        let mut filter = ObjectWriter::start(object.member("ShardFilter"));
        filter.text("Type", "CHILD_SHARDS");
        filter.text("ShardId", shard);
        filter.end();
    }
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<DescribeStreamResponse, Error> {
    let members = answer::structure(answer::members(json)?, "StreamDescription")?;
    let shards = members.list("Shards").unwrap_or_default().map(read_shard);
    let view_type = members.word("StreamViewType");
    Ok(DescribeStreamResponse {
        stream: stream_arn::read_answer(members, "StreamArn")?,
        status: match members.string("StreamStatus") {
            Some("DISABLED" | "DISABLING") => StreamStatus::Disabled,
            _ => StreamStatus::Enabled,
        },
        view_type: view_type.ok_or_else(|| answer::missing("StreamViewType"))?,
        created_ms: members.time_ms("CreationRequestDateTime").unwrap_or(0),
        key_schema: table_members::key_schema(members),
        shards: shards.collect::<Result<_, _>>()?,
        last_evaluated_shard_id: members.owned("LastEvaluatedShardId"),
    })
}

fn read_shard(json: Json<'_>) -> Result<Shard, Error> {
    let members = answer::members(json)?;
    let range = answer::structure(members, "SequenceNumberRange")?;
    let number = |name: &str| range.string(name).and_then(SequenceNumber::of_digits);
    Ok(Shard {
        shard_id: answer::text(members, "ShardId")?.to_owned(),
        parent_shard_id: members.owned("ParentShardId"),
        starting: number("StartingSequenceNumber").ok_or_else(|| answer::missing("StartingSequenceNumber"))?,
        ending: number("EndingSequenceNumber"),
    })
}
