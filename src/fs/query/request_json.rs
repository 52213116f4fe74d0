//! `request.json`: the API request of a path, as `aws dynamodb query --cli-input-json` takes it. Only here does it become text.

use super::expression::Expression;
use super::filter::Filter;
use super::path::QueryPath;
use super::request::Resolved;
use crate::codec::{dynamodb_json, shown};
use crate::expr::read_request::ReadRange;
use crate::fs::prelude::*;
use crate::model::{api::Placeholders, error::StoreError};
use serde_json::Map;

/// `request.json`: the request with its values in DynamoDB JSON.
pub(super) fn request_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "request.json")?;
    let request = members(path, &resolved, path.start(&resolved, db)?.as_ref())?;
    Ok(shown::json(&format!("{request:#}\n")).into_bytes())
}

/// The members in the order of the API's own documents.
pub(super) fn members(path: &QueryPath, resolved: &Resolved, start: Option<&Item>) -> Result<Value, FsError> {
    let mut expression = Expression::default();
    let projection = path.clauses.select.as_deref().map(|paths| expression.projection(paths));
    let keys = resolved.partition.as_deref().map(|partition| path.key_clauses(partition));
    let condition = keys.map(|keys| {
        let parts = keys.iter().map(|key| expression.condition(&key.tag, &key.attribute.name, &key.range));
        parts.collect::<Vec<_>>().join(" AND ")
    });
    let filters: Vec<&Filter> = path.filters(resolved).collect();
    let filters: Vec<String> = filters.iter().map(|filter| filter.write(&mut expression, filters.len() > 1)).collect();
    let asked = path.asked(resolved, start.cloned());
    let (forward, segment) = match asked.range {
        ReadRange::Query { forward, .. } => (forward, None),
        ReadRange::Scan { segment } => (true, segment),
    };
    let mut out = Map::new();
    out.insert("TableName".into(), json!(path.schema.name.as_str()));
    insert(&mut out, "IndexName", path.index.as_ref().map(|index| index.as_str()));
    insert(&mut out, "KeyConditionExpression", condition);
    insert(&mut out, "FilterExpression", (!filters.is_empty()).then(|| filters.join(" AND ")));
    insert(&mut out, "ProjectionExpression", projection);
    insert_placeholders(&mut out, &expression.placeholders())?;
    insert(&mut out, "Limit", asked.limit);
    insert(&mut out, "ConsistentRead", asked.consistent_read.then_some(true));
    insert(&mut out, "ScanIndexForward", (!forward).then_some(false));
    insert(&mut out, "Segment", segment.map(|segment| segment.index));
    insert(&mut out, "TotalSegments", segment.map(|segment| segment.total));
    insert_item(&mut out, "ExclusiveStartKey", start)?;
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
