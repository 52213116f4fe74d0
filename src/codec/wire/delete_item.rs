//! DeleteItem: a key and a condition in; the old item out when it is asked for (docs/dynamodb.md 12.4).

use super::capacity::Reporting;
use super::error::WireError;
use super::item_write::{self, ItemWrite};
use super::members;
use super::shape::Structure;
use crate::codec::json::document::Json;
use crate::model::api::{DeleteItemRequest, DeleteItemResponse};

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
    let write = ItemWrite::read(json, &SHAPE, "Key")?;
    Ok(DeleteItemRequest {
        condition: write.condition,
        placeholders: write.placeholders,
        return_old_on_condition_failure: write.return_old_on_condition_failure,
        return_values: write.return_values,
        return_consumed_capacity: write.return_consumed_capacity,
        return_item_collection_metrics: write.return_item_collection_metrics,
        ..DeleteItemRequest::new(write.table_name, write.item)
    })
}

/// Appends the body.
pub fn response(response: &DeleteItemResponse, reporting: &Reporting, out: &mut Vec<u8>) {
    let metrics = response.item_collection_metrics.as_ref();
    item_write::response(response.attributes.as_ref(), (&response.consumed_capacity, reporting), metrics, out);
}
