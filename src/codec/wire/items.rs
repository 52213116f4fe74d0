//! GetItem, PutItem, UpdateItem, DeleteItem: what they have beside their declarations (docs/dynamodb.md 12). The order of the checks is the
//! service's: what is wrong with several members is told of the first (docs/dynamodb.md 2.6).

use super::capacity::Consumed;
use super::declared::*;
use super::legacy::{ATTRIBUTE_UPDATES, ByAttribute, Condition};
use super::members::{self, ATTRIBUTES_TO_GET, AttributesToGet, Names, NamesAndValues};
use super::names;
use crate::model::api::items::items;
use crate::model::api::*;
use crate::model::error::expression::ExpressionParameter;

items!(wire);

fn check_get(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::data_table(members)?;
    members::constrained(json, structure)?;
    members::check_mix(members, &["AttributesToGet"], &["ProjectionExpression"])?;
    members::check_placeholders_wanted(members, &[])?;
    Ok(table)
}

fn check_write(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::data_table(members)?;
    members::constrained_write(json, structure)?;
    members::check_mix(members, &["Expected", "ConditionalOperator"], &["ConditionExpression"])?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_CONDITION)?;
    Ok(table)
}

/// What is held against an UpdateItem without a key, or with values deeper than any reader goes, before anything else and all at once
/// (docs/dynamodb.md 3.4, 2.4).
static OLDER_CHECKS: Structure = Structure {
    name: "UpdateItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        Member::new("TableName", Shape::String).required().rules(&[Rule::LengthMin(1)]),
        members::CONDITIONAL_OPERATOR,
        members::RETURN_VALUES,
        members::KEY.required(),
    ],
};

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    if !members.has("Key") || json.is_cut() {
        members::constrained(json, &OLDER_CHECKS)?;
    }
    let table = names::data_table(members)?;
    // Another word is reported alone, whatever else is wrong.
    members::return_values::<UpdateReturnValues>(members, WireError::UpdateReturnValues)?;
    members::constrained(json, structure).map_err(WireError::first_rule_only)?;
    members::check_mix(
        members,
        &["AttributeUpdates", "Expected", "ConditionalOperator"],
        &["UpdateExpression", "ConditionExpression"],
    )?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_UPDATE)?;
    Ok(table)
}

/// ReturnValues of PutItem and DeleteItem, which may be every word that UpdateItem takes until it is read.
#[derive(Debug)]
pub struct OldValues;

impl Group<ReturnValues> for OldValues {
    const MEMBERS: &'static [Member] = &[members::RETURN_VALUES];

    fn read(members: Members<'_>, _: Sender) -> Result<ReturnValues, WireError> {
        members::return_values(members, WireError::ReturnValues)
    }

    fn write(value: &ReturnValues, object: &mut ObjectWriter<'_>) {
        if *value != ReturnValues::None {
            object.text("ReturnValues", value.word());
        }
    }
}

/// `UpdateExpression` or `AttributeUpdates`.
#[derive(Debug)]
pub struct Update;

impl Group<UpdateParameter> for Update {
    fn read(members: Members<'_>, sender: Sender) -> Result<UpdateParameter, WireError> {
        if let Some(text) = members.owned("UpdateExpression") {
            return Ok(UpdateParameter::Expression(text));
        }
        let updates = optional::<_, ByAttribute>(members, "AttributeUpdates", sender)?;
        Ok(updates.map_or(UpdateParameter::None, UpdateParameter::AttributeUpdates))
    }

    fn write(value: &UpdateParameter, object: &mut ObjectWriter<'_>) {
        match value {
            UpdateParameter::None => {}
            UpdateParameter::Expression(text) => object.text("UpdateExpression", text),
            UpdateParameter::AttributeUpdates(updates) => ByAttribute::put(updates, "AttributeUpdates", object),
        }
    }
}

/// What is put into an answer that came after one which got lost: the item may have been deleted by the request of that.
pub const ASKED_AGAIN: &str = "AskedAgain";

/// That there was an item is known by its attributes alone; of one that was asked for again it is taken to be so.
#[derive(Debug)]
pub struct Existed;

impl Group<bool> for Existed {
    fn read(members: Members<'_>, _: Sender) -> Result<bool, WireError> {
        Ok(members.has("Attributes") || members.has(ASKED_AGAIN))
    }

    fn write(_: &bool, _: &mut ObjectWriter<'_>) {}
}
