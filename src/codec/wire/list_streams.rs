//! ListStreams: a page of the streams of all tables, or of one (docs/dynamodb.md 17).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::names::{self, NAME_RULES};
use super::shape::{Member, Rule, Shape, Structure};
use super::write::ObjectWriter;
use super::{answer, members, stream_arn};
use crate::codec::json::document::Json;
use crate::model::api::{ListStreamsRequest, ListStreamsResponse, StreamName};
use crate::model::limits::LIST_STREAMS_MAX;
use crate::model::{Error, TableName, arn};

pub static SHAPE: Structure = Structure {
    name: "ListStreamsInput",
    members: &[
        Member::new("TableName", Shape::String).rules(NAME_RULES),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(LIST_STREAMS_MAX as i64)]),
        stream_arn::member("ExclusiveStartStreamArn"),
    ],
};

/// Reads a body.
///
/// # Errors
/// Types, constraints, the start's ARN.
pub fn request(json: Json<'_>) -> Result<ListStreamsRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    let start = members.has("ExclusiveStartStreamArn").then(|| stream_arn::read(members, "ExclusiveStartStreamArn"));
    Ok(ListStreamsRequest {
        table_name: names::data_table(members)?,
        limit: members.count("Limit"),
        exclusive_start: start.transpose()?,
    })
}

/// The body as a tree.
#[must_use]
pub fn to_json(response: &ListStreamsResponse) -> Value {
    let stream = |stream: &StreamName| {
        let (arn, name, label) = (arn::stream(stream), stream.table_name.as_str(), &stream.label);
        json!({ "StreamArn": arn, "TableName": name, "StreamLabel": label })
    };
    let mut out = Map::new();
    out.insert("Streams".to_owned(), response.streams.iter().map(stream).collect());
    if let Some(last) = &response.last_evaluated {
        out.insert("LastEvaluatedStreamArn".to_owned(), json!(arn::stream(last)));
    }
    Value::Object(out)
}

/// Appends the body of a request; streams are in `home`, see [`arn::home`].
pub fn write_request(request: &ListStreamsRequest, home: &str, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text_if("TableName", request.table_name.as_ref().map(TableName::as_str));
    object.count("Limit", request.limit);
    object.text_if("ExclusiveStartStreamArn", request.exclusive_start.as_ref().map(|stream| arn::stream_in(home, stream)));
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<ListStreamsResponse, Error> {
    let members = answer::members(json)?;
    let streams = members.list("Streams").unwrap_or_default();
    let streams = streams.map(|json| stream_arn::read_answer(answer::members(json)?, "StreamArn"));
    let has_more = members.has("LastEvaluatedStreamArn");
    Ok(ListStreamsResponse {
        streams: streams.collect::<Result<_, _>>()?,
        last_evaluated: has_more.then(|| stream_arn::read_answer(members, "LastEvaluatedStreamArn")).transpose()?,
    })
}
