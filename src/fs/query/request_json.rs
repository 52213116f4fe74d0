//! `request.json`: the API request, as `aws dynamodb query --cli-input-json` takes it.

use serde_json::{Map, Value, json};

use super::request::Request;
use crate::codec::dynamodb_json;
use crate::fs::FsError;
use crate::model::Item;
use crate::model::api::{Placeholders, QueryRequest, ScanRequest};
use crate::model::error::StoreError;

/// `request.json`: the request with its values in DynamoDB JSON.
pub(super) fn request_json(request: &Request) -> Result<Vec<u8>, FsError> {
    let object = match request {
        Request::Query(request) => query_json(request)?,
        Request::Scan(request) => scan_json(request)?,
    };
    let mut out = serde_json::to_vec_pretty(&object).map_err(unwritable)?;
    out.push(b'\n');
    Ok(out)
}

fn query_json(request: &QueryRequest) -> Result<Value, FsError> {
    let mut out = Map::new();
    out.insert("TableName".into(), json!(request.table_name.as_str()));
    insert(&mut out, "IndexName", request.index_name.as_ref().map(|index| index.as_str()));
    insert(&mut out, "KeyConditionExpression", request.key_condition_expression.as_deref());
    insert(&mut out, "FilterExpression", request.filter.expression());
    insert(&mut out, "ProjectionExpression", request.projection_expression.as_deref());
    insert_placeholders(&mut out, &request.placeholders)?;
    insert(&mut out, "Limit", request.limit);
    insert(&mut out, "ConsistentRead", request.consistent_read.then_some(true));
    insert(&mut out, "ScanIndexForward", (!request.scan_index_forward).then_some(false));
    insert_item(&mut out, "ExclusiveStartKey", request.exclusive_start_key.as_ref())?;
    Ok(Value::Object(out))
}

fn scan_json(request: &ScanRequest) -> Result<Value, FsError> {
    let mut out = Map::new();
    out.insert("TableName".into(), json!(request.table_name.as_str()));
    insert(&mut out, "IndexName", request.index_name.as_ref().map(|index| index.as_str()));
    insert(&mut out, "FilterExpression", request.filter.expression());
    insert(&mut out, "ProjectionExpression", request.projection_expression.as_deref());
    insert_placeholders(&mut out, &request.placeholders)?;
    insert(&mut out, "Limit", request.limit);
    insert(&mut out, "ConsistentRead", request.consistent_read.then_some(true));
    insert(&mut out, "Segment", request.segment.map(|segment| segment.index));
    insert(&mut out, "TotalSegments", request.segment.map(|segment| segment.total));
    insert_item(&mut out, "ExclusiveStartKey", request.exclusive_start_key.as_ref())?;
    Ok(Value::Object(out))
}

fn insert(out: &mut Map<String, Value>, member: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        out.insert(member.to_owned(), value.into());
    }
}

fn insert_placeholders(out: &mut Map<String, Value>, placeholders: &Placeholders) -> Result<(), FsError> {
    if let Some(names) = &placeholders.names {
        out.insert("ExpressionAttributeNames".to_owned(), json!(names));
    }
    let values = placeholders.values.clone().map(Item);
    insert_item(out, "ExpressionAttributeValues", values.as_ref())
}

fn insert_item(out: &mut Map<String, Value>, member: &str, item: Option<&Item>) -> Result<(), FsError> {
    let Some(item) = item else { return Ok(()) };
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    out.insert(member.to_owned(), serde_json::from_slice(&text).map_err(unwritable)?);
    Ok(())
}

/// Text of our own that is no JSON: a defect, answered like a failing store.
fn unwritable(error: serde_json::Error) -> FsError {
    FsError::Database(StoreError::Io(error.to_string()).into())
}
