//! DeleteItem (SEMANTICS 12.4).

use super::capacity::{Reporting, write_metrics};
use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::write::ObjectWriter;
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{DeleteItemRequest, DeleteItemResponse};
use crate::model::error::expression::ExpressionParameter;

pub static SHAPE: Structure = Structure {
    name: "DeleteItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::TABLE_NAME.required(),
        members::RETURN_VALUES,
        members::RETURN_ITEM_COLLECTION_METRICS,
        members::RETURN_VALUES_ON_FAILURE,
        members::KEY.required(),
        members::CONDITIONAL_OPERATOR,
        members::EXPECTED,
        members::CONDITION_EXPRESSION,
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::EXPRESSION_ATTRIBUTE_NAMES,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<DeleteItemRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let table_name = names::data_table(members)?;
    members::constrained_write(json, &SHAPE)?;
    let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
    members::check_mix(members, &["Expected", "ConditionalOperator"], &["ConditionExpression"])?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_CONDITION)?;
    let key = members::item(members, "Key")?;
    let return_values = members::return_values(members)?;
    Ok(DeleteItemRequest {
        condition: members::condition(members)?,
        placeholders: members::placeholders(members)?,
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
        return_values,
        return_consumed_capacity: members::return_consumed_capacity(members),
        return_item_collection_metrics: members.string("ReturnItemCollectionMetrics") == Some("SIZE"),
        ..DeleteItemRequest::new(table_name, key)
    })
}

/// Appends the body.
pub fn response(response: &DeleteItemResponse, reporting: &Reporting, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Some(attributes) = &response.attributes {
        dynamodb_json::write_item(attributes, object.member("Attributes"));
    }
    reporting.write(&response.consumed_capacity, &mut object);
    write_metrics(response.item_collection_metrics.as_ref(), &mut object);
    object.end();
}
