//! Parameters from before expressions (docs/dynamodb.md 8), read as they are; what they mean and whether they are right is the operation's
//! to say.

use super::attribute_value;
use super::error::WireError;
use super::shape::Members;
use crate::codec::json::document::Json;
use crate::model::AttributeValue;
use crate::model::api::legacy::{AttributeUpdate, ComparisonOperator, ConditionalOperator, LegacyCondition, LegacyConditions};
use crate::model::api::{ConditionParameter, UpdateParameter};
use crate::model::attribute_value::check_attribute_name;

/// The conditions under `name`, with `ConditionalOperator`.
pub fn parameter(members: Members<'_>, name: &str) -> Result<ConditionParameter, WireError> {
    let operator = match members.string("ConditionalOperator") {
        Some("OR") => Some(ConditionalOperator::Or),
        Some(_) => Some(ConditionalOperator::And),
        None => None,
    };
    let conditions = conditions(members, name)?;
    if conditions.is_none() && operator.is_none() {
        return Ok(ConditionParameter::None);
    }
    Ok(ConditionParameter::Legacy(LegacyConditions { conditions: conditions.unwrap_or_default(), operator }))
}

/// The conditions under `name`. Those of Expected may lack their list of values; of the others an absent list is an empty one.
pub fn conditions(members: Members<'_>, name: &str) -> Result<Option<Vec<LegacyCondition>>, WireError> {
    let Some(entries) = members.structure(name) else { return Ok(None) };
    let read = |(attribute, json): (&str, Json<'_>)| condition(attribute, json, name == "Expected");
    entries.iter().map(read).collect::<Result<_, _>>().map(Some)
}

fn condition(attribute: &str, json: Json<'_>, is_expected: bool) -> Result<LegacyCondition, WireError> {
    check_attribute_name(attribute)?;
    let attribute = attribute.to_owned();
    let Some(members) = Members::of(json) else { return Ok(LegacyCondition { attribute, ..LegacyCondition::default() }) };
    let operator = members.string("ComparisonOperator");
    let list = members.list("AttributeValueList").map(|values| values.map(attribute_value::value).collect());
    let list: Option<Vec<AttributeValue>> = list.transpose()?;
    Ok(LegacyCondition {
        attribute,
        comparison_operator: ComparisonOperator::ALL.into_iter().find(|known| Some(known.name()) == operator),
        attribute_value_list: if is_expected { list } else { Some(list.unwrap_or_default()) },
        value: members.get("Value").map(attribute_value::value).transpose()?,
        exists: members.boolean("Exists"),
    })
}

/// What UpdateItem changes: `UpdateExpression` or `AttributeUpdates`.
pub fn update(members: Members<'_>) -> Result<UpdateParameter, WireError> {
    if let Some(text) = members.owned("UpdateExpression") {
        return Ok(UpdateParameter::Expression(text));
    }
    let Some(entries) = members.structure("AttributeUpdates") else { return Ok(UpdateParameter::None) };
    let updates = entries.iter().map(|(attribute, json)| attribute_update(attribute, json));
    Ok(UpdateParameter::AttributeUpdates(updates.collect::<Result<_, _>>()?))
}

fn attribute_update(attribute: &str, json: Json<'_>) -> Result<AttributeUpdate, WireError> {
    check_attribute_name(attribute)?;
    let attribute = attribute.to_owned();
    let Some(members) = Members::of(json) else { return Ok(AttributeUpdate { attribute, ..AttributeUpdate::default() }) };
    Ok(AttributeUpdate {
        attribute,
        action: members.word("Action").unwrap_or_default(),
        value: members.get("Value").map(attribute_value::value).transpose()?,
    })
}
