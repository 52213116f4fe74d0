//! UpdateItem: a key, an update and a condition in; old or new attributes out (docs/dynamodb.md 12.3).

use super::ask;
use super::capacity::Reporting;
use super::error::WireError;
use super::item_write::{self, ItemAnswer};
use super::legacy;
use super::members;
use super::names;
use super::shape::{Member, Rule, Shape, Structure};
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{UpdateItemRequest, UpdateItemResponse, UpdateParameter, UpdateReturnValues};
use crate::model::error::expression::ExpressionParameter;

pub static SHAPE: Structure = Structure {
    name: "UpdateItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::TABLE_NAME.required(),
        // What it may be is checked before everything else, see `return_values`.
        Member::new("ReturnValues", Shape::String),
        members::RETURN_ITEM_COLLECTION_METRICS,
        members::RETURN_VALUES_ON_FAILURE,
        members::KEY.required(),
        members::CONDITIONAL_OPERATOR,
        members::EXPECTED,
        members::CONDITION_EXPRESSION,
        Member::new("UpdateExpression", Shape::String),
        members::EXPRESSION_ATTRIBUTE_VALUES,
        members::EXPRESSION_ATTRIBUTE_NAMES,
        members::ATTRIBUTE_UPDATES,
    ],
};

/// What is held against a request without a key, or with values deeper than any reader goes, before anything else and all at once
/// (docs/dynamodb.md 3.4, 2.4).
static OLDER_CHECKS: Structure = Structure {
    name: "UpdateItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        members::TABLE_NAME.required().rules(&[Rule::LengthMin(1)]),
        members::CONDITIONAL_OPERATOR,
        members::RETURN_VALUES,
        members::KEY.required(),
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<UpdateItemRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    if !members.has("Key") || json.is_cut() {
        members::constrained(json, &OLDER_CHECKS)?;
    }
    let table_name = names::data_table(members)?;
    // Another word is reported alone, whatever else is wrong.
    let return_values = members::return_values(members, WireError::UpdateReturnValues)?;
    members::constrained(json, &SHAPE).map_err(WireError::first_rule_only)?;
    let Some(table_name) = table_name else { return Err(WireError::NotAnObject) };
    members::check_mix(
        members,
        &["AttributeUpdates", "Expected", "ConditionalOperator"],
        &["UpdateExpression", "ConditionExpression"],
    )?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_UPDATE)?;
    let key = members::item(members, "Key")?;
    let update = legacy::update(members)?;
    Ok(UpdateItemRequest {
        condition: members::condition(members)?,
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
        return_values,
        return_consumed_capacity: members::return_consumed_capacity(members),
        return_item_collection_metrics: members.string("ReturnItemCollectionMetrics") == Some("SIZE"),
        ..UpdateItemRequest::new(table_name, key, update, members::placeholders(members)?)
    })
}

/// Appends the body.
pub fn response(response: &UpdateItemResponse, reporting: &Reporting, out: &mut Vec<u8>) {
    let metrics = response.item_collection_metrics.as_ref();
    item_write::response(response.attributes.as_ref(), (&response.consumed_capacity, reporting), metrics, out);
}

/// Appends the body of a request. A precondition has no place in it: who has one makes a condition of it.
pub fn write_request(request: &UpdateItemRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    item_write::write_item_members(&request.table_name, ("Key", &request.key), &mut object);
    match &request.update {
        UpdateParameter::None => {}
        UpdateParameter::Expression(text) => object.text("UpdateExpression", text),
        UpdateParameter::AttributeUpdates(updates) => ask::attribute_updates(updates, &mut object),
    }
    object.word_unless(UpdateReturnValues::None, "ReturnValues", request.return_values);
    let returned = (request.return_old_on_condition_failure, request.return_item_collection_metrics);
    let (condition, placeholders) = (&request.condition, &request.placeholders);
    item_write::write_options(condition, placeholders, returned, request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer. The version now stored is not in it.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<UpdateItemResponse, Error> {
    let ItemAnswer { attributes, consumed_capacity, item_collection_metrics } = ItemAnswer::read(json)?;
    Ok(UpdateItemResponse { attributes, consumed_capacity, item_collection_metrics, version: None })
}
