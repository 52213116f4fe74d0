//! GetItem: a key and a projection in; the item out, or no member for it (docs/dynamodb.md 12.1).

use super::capacity::{self, Reporting};
use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::write::ObjectWriter;
use super::{answer, ask};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{GetItemRequest, GetItemResponse};

pub static SHAPE: Structure = Structure {
    name: "GetItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::ATTRIBUTES_TO_GET,
        members::TABLE_NAME.required(),
        members::KEY.required(),
        members::CONSISTENT_READ,
        members::PROJECTION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_NAMES,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<GetItemRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let table_name = names::data_table(members)?;
    members::constrained(json, &SHAPE)?;
    let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
    members::check_mix(members, &["AttributesToGet"], &["ProjectionExpression"])?;
    members::check_placeholders_wanted(members, &[])?;
    let key = members::item(members, "Key")?;
    Ok(GetItemRequest {
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        projection_expression: members.owned("ProjectionExpression"),
        attributes_to_get: members::attributes_to_get(members)?,
        placeholders: members::names(members)?,
        return_consumed_capacity: members::return_consumed_capacity(members),
        ..GetItemRequest::new(table_name, key)
    })
}

/// Appends the body.
pub fn response(response: &GetItemResponse, reporting: &Reporting, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Some(item) = &response.item {
        dynamodb_json::write_item(item, object.member("Item"));
    }
    reporting.write(&response.consumed_capacity, &mut object);
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &GetItemRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("TableName", request.table_name.as_str());
    object.item("Key", &request.key);
    object.flag("ConsistentRead", request.consistent_read);
    object.text_if("ProjectionExpression", request.projection_expression.as_ref());
    ask::attributes_to_get(request.attributes_to_get.as_ref(), &mut object);
    ask::placeholders(&request.placeholders, &mut object);
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<GetItemResponse, Error> {
    let members = answer::members(json)?;
    Ok(GetItemResponse { item: answer::item(members, "Item")?, consumed_capacity: capacity::read(members) })
}
