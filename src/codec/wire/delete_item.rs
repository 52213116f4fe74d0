//! DeleteItem: a key and a condition in; the old item out when it is asked for (docs/dynamodb.md 12.4).

use super::capacity::Reporting;
use super::error::WireError;
use super::item_write::{self, ItemAnswer, ItemWrite};
use super::members;
use super::shape::Structure;
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{DeleteItemRequest, DeleteItemResponse, ReturnValues};

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

/// Appends the body of a request. A precondition has no place in it: who has one makes a condition of it.
pub fn write_request(request: &DeleteItemRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    item_write::write_item_members(&request.table_name, ("Key", &request.key), &mut object);
    object.word_unless(ReturnValues::None, "ReturnValues", request.return_values);
    let returned = (request.return_old_on_condition_failure, request.return_item_collection_metrics);
    let (condition, placeholders) = (&request.condition, &request.placeholders);
    item_write::write_options(condition, placeholders, returned, request.return_consumed_capacity, &mut object);
    object.end();
}

/// What is put into an answer that came after one which got lost: the item may have been deleted by the request of that.
pub const ASKED_AGAIN: &str = "AskedAgain";

/// Reads the body of an answer. That there was an item is known by its attributes alone; of one that was asked for again it is taken to be so.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<DeleteItemResponse, Error> {
    let ItemAnswer { attributes, consumed_capacity, item_collection_metrics } = ItemAnswer::read(json)?;
    let existed = attributes.is_some() || json.get(ASKED_AGAIN).is_some();
    Ok(DeleteItemResponse { attributes, consumed_capacity, item_collection_metrics, existed })
}
