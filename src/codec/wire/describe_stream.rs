//! DescribeStream: the ARN of a stream in; its definition and shards out (docs/dynamodb.md 17).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::{members, stream_arn, table_description};
use crate::codec::json::document::Json;
use crate::model::api::{DescribeStreamRequest, DescribeStreamResponse, KeySchemaElement, Shard, StreamStatus};
use crate::model::arn;
use crate::model::error::StreamError;
use crate::model::limits::LIST_STREAMS_MAX;
use crate::model::schema::KeyType;

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
    add("StreamStatus", json!(status(response.status)));
    add("StreamViewType", json!(response.view_type.text()));
    add("CreationRequestDateTime", table_description::timestamp(response.created_ms));
    add("TableName", json!(response.stream.table_name.as_str()));
    add("KeySchema", response.key_schema.iter().map(key_schema_element).collect());
    add("Shards", response.shards.iter().map(shard).collect());
    if let Some(last) = &response.last_evaluated_shard_id {
        add("LastEvaluatedShardId", json!(last));
    }
    json!({ "StreamDescription": out })
}

fn status(status: StreamStatus) -> &'static str {
    match status {
        StreamStatus::Enabled => "ENABLED",
        StreamStatus::Disabled => "DISABLED",
    }
}

fn key_schema_element(element: &KeySchemaElement) -> Value {
    let key_type = match element.key_type {
        KeyType::Hash => "HASH",
        KeyType::Range => "RANGE",
    };
    json!({ "AttributeName": element.attribute_name, "KeyType": key_type })
}

fn shard(shard: &Shard) -> Value {
    let mut range = Map::new();
    range.insert("StartingSequenceNumber".to_owned(), json!(shard.starting.to_string()));
    if let Some(ending) = shard.ending {
        range.insert("EndingSequenceNumber".to_owned(), json!(ending.to_string()));
    }
    json!({ "ShardId": shard.shard_id, "SequenceNumberRange": range })
}
