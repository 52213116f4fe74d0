//! The JSON form of GetItem, PutItem, UpdateItem, DeleteItem (docs/dynamodb.md 12): the parts that
//! the declarations in `model::api::items` do not generate; and the parameters from before
//! expressions (docs/dynamodb.md 8). These are read as they are; the operation interprets and
//! checks them. The order of the checks is the service's: of faults in several members it reports
//! the first (docs/dynamodb.md 2.6).

use serde::{Deserialize, de::IgnoredAny};

use super::capacity::{Consumed, SearchBytes};
use super::declared::*;
use super::members::{
    self, ATTRIBUTES_TO_GET, AttributesToGet, CONDITION_EXPRESSION, CONDITIONAL_OPERATOR, Names,
    NamesAndValues,
};
use super::names;
use crate::codec::vector;
use crate::model::AttributeValue;
use crate::model::IndexName;
use crate::model::api::common::*;
use crate::model::api::items::{FoundItem, items, searches};
use crate::model::api::{ConditionParameter, *};
use crate::model::attribute_value::check_attribute_name;
use crate::model::error::expression::ExpressionParameter;
use crate::model::limits::SEARCH_NUMBERS_MAX;

items!(wire);
searches!(wire);

impl Field for FoundItem {
    const SHAPE: Shape = Item::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Self>, WireError> {
        let found = |attributes| Self {
            attributes,
            vector: None,
        };
        Ok(Item::read(json, sender)?.map(found))
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        for (name, value) in &self.attributes.0 {
            match value {
                AttributeValue::L(numbers) if self.vector.as_ref() == Some(name) => {
                    vector::write(numbers, object.member(name));
                }
                _ => value.write(object.member(name)),
            }
        }
        object.end();
    }
}

/// The required members of SearchVectors, whose service has a reader of its own with serde's errors
/// (docs/dynamodb.md 28.3).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
#[allow(dead_code)]
struct SearchMembers {
    table_name: String,
    index_name: String,
    search_vector: Vec<IgnoredAny>,
    top_k: i32,
}

fn check_search_types(json: Json<'_>) -> Result<(), WireError> {
    match serde_json::from_str::<SearchMembers>(json.document_text()) {
        Err(error) if error.is_data() => {
            let text = error.to_string();
            Err(match text.starts_with("missing field") {
                true => WireError::SearchMember(text),
                false => WireError::SearchType(text),
            })
        }
        _ => Ok(()),
    }
}

fn check_search(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    check_search_types(json)?;
    let table = names::data_table(members)?;
    members::constrained(json, structure).map_err(|error| match error {
        WireError::Constraints(broken) => WireError::Constraints(broken.into_search_form()),
        other => other,
    })?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_SEARCH)?;
    Ok(table)
}

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
    members::check_mix(
        members,
        &["Expected", "ConditionalOperator"],
        &["ConditionExpression"],
    )?;
    members::check_placeholders_wanted(members, ExpressionParameter::OF_CONDITION)?;
    Ok(table)
}

/// The checks of an UpdateItem without a key, or with values deeper than any reader goes. They come
/// before all others, and all at once (docs/dynamodb.md 3.4, 2.4).
static LEGACY_CHECKS: Structure = Structure {
    name: "UpdateItemInput",
    members: &[
        members::RETURN_CONSUMED_CAPACITY,
        Member::new("TableName", Shape::String)
            .required()
            .rules(&[Rule::LengthMin(1)]),
        members::CONDITIONAL_OPERATOR,
        members::RETURN_VALUES,
        members::KEY.required(),
    ],
};

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    if !members.has("Key") || json.is_truncated() {
        members::constrained(json, &LEGACY_CHECKS)?;
    }
    let table = names::data_table(members)?;
    // An unknown word is reported alone, whatever else is wrong.
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

/// ReturnValues of PutItem and DeleteItem. Its constraint allows every word of UpdateItem; reading
/// it does not.
#[derive(Debug)]
pub struct OldValues;

impl Group<ReturnValues> for OldValues {
    const MEMBERS: &'static [Member] = &[members::RETURN_VALUES];

    fn read(members: Members<'_>, _: Sender) -> Result<ReturnValues, WireError> {
        members::return_values(members, WireError::ReturnValues)
    }

    fn write(value: &ReturnValues, object: &mut ObjectWriter<'_>) {
        if *value != ReturnValues::None {
            object.text("ReturnValues", value.as_str());
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
            UpdateParameter::AttributeUpdates(updates) => {
                ByAttribute::put(updates, "AttributeUpdates", object)
            }
        }
    }
}

/// The member that the client of another service adds to the response of a retried request, if the
/// first response was lost: the lost request may have deleted the item.
pub const RETRIED: &str = "AskedAgain";

/// True if there was an item. Only its attributes show that; a repeated request is taken to have
/// had one.
#[derive(Debug)]
pub struct HadAttributes;

impl Group<bool> for HadAttributes {
    fn read(members: Members<'_>, _: Sender) -> Result<bool, WireError> {
        Ok(members.has("Attributes") || members.has(RETRIED))
    }
}

legacy!(wire);

pub const EXPECTED: Member = member::<Vec<LegacyCondition>, ByAttribute>("Expected");
pub const ATTRIBUTE_UPDATES: Member =
    member::<Vec<AttributeUpdate>, ByAttribute>("AttributeUpdates");

/// An entry of a map by attribute names.
pub trait AttributeMapEntry: Field + Default {
    fn attribute(&self) -> &str;

    fn name(&mut self, attribute: &str);
}

macro_rules! attribute_map_entries {
    ($($kind:ident)*) => {
        $(impl AttributeMapEntry for $kind {
            fn attribute(&self) -> &str {
                &self.attribute
            }

            fn name(&mut self, attribute: &str) {
                attribute.clone_into(&mut self.attribute);
            }
        })*
    };
}
attribute_map_entries! { LegacyCondition AttributeUpdate }

/// A map by attribute names, in the order sent.
#[derive(Debug)]
pub struct ByAttribute;

impl<T: AttributeMapEntry> Form<Vec<T>> for ByAttribute {
    const SHAPE: Shape = Shape::Map(&Element {
        shape: T::SHAPE,
        rules: &[],
    });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Vec<T>>, WireError> {
        let read = |(attribute, json): (&str, Json<'_>)| {
            check_attribute_name(attribute)?;
            let mut read = T::read(json, sender)?.unwrap_or_default();
            read.name(attribute);
            Ok(read)
        };
        Members::of(json)
            .map(|entries| entries.iter().map(read).collect())
            .transpose()
    }

    fn write(value: &Vec<T>, out: &mut Vec<u8>) {
        let mut map = ObjectWriter::start(out);
        value
            .iter()
            .for_each(|one| one.write(map.member(one.attribute())));
        map.end();
    }
}

/// `KeyConditions`, `QueryFilter`, `ScanFilter`: an operator is required, an absent list of values
/// is an empty one.
#[derive(Debug)]
pub struct Conditions;

impl Form<Vec<LegacyCondition>> for Conditions {
    const SHAPE: Shape = {
        const OF_EXPECTED: &[Member] = LegacyCondition::STRUCTURE.members;
        const CONDITION: Structure = Structure {
            name: "Condition",
            members: &[OF_EXPECTED[0], OF_EXPECTED[1].required()],
        };
        Shape::Map(&Element {
            shape: Shape::Structure(&CONDITION),
            rules: &[],
        })
    };

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Vec<LegacyCondition>>, WireError> {
        let mut conditions: Option<Vec<LegacyCondition>> = ByAttribute::read(json, sender)?;
        for condition in conditions.iter_mut().flatten() {
            condition.attribute_value_list.get_or_insert_default();
        }
        Ok(conditions)
    }

    fn write(value: &Vec<LegacyCondition>, out: &mut Vec<u8>) {
        ByAttribute::write(value, out);
    }
}

/// Declares a condition under one of its two names: the expression, or the parameter from before
/// expressions with its operator.
macro_rules! condition_groups {
    ($($form:ident: $expression:literal, $legacy:literal as $legacy_form:ident, $members:expr;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Group<ConditionParameter> for $form {
                const MEMBERS: &'static [Member] = $members;

                fn read(members: Members<'_>, sender: Sender) -> Result<ConditionParameter, WireError> {
                    if let Some(text) = members.owned($expression) {
                        return Ok(ConditionParameter::Expression(text));
                    }
                    let conditions = optional::<_, $legacy_form>(members, $legacy, sender)?;
                    Ok(match (conditions, members.word("ConditionalOperator")) {
                        (None, None) => ConditionParameter::None,
                        (conditions, operator) => {
                            ConditionParameter::Legacy(LegacyConditions { conditions: conditions.unwrap_or_default(), operator })
                        }
                    })
                }

                fn write(value: &ConditionParameter, object: &mut ObjectWriter<'_>) {
                    match value {
                        ConditionParameter::None => {}
                        ConditionParameter::Expression(text) => object.text($expression, text),
                        ConditionParameter::Legacy(all) => {
                            ByAttribute::put(&all.conditions, $legacy, object);
                            object.text_if("ConditionalOperator", all.operator.map(ApiEnum::as_str));
                        }
                    }
                }
            }
        )*
    };
}

condition_groups! {
    Condition: "ConditionExpression", "Expected" as ByAttribute, &[CONDITIONAL_OPERATOR, EXPECTED, CONDITION_EXPRESSION];
    QueryFilter: "FilterExpression", "QueryFilter" as Conditions, &[];
    ScanFilter: "FilterExpression", "ScanFilter" as Conditions, &[];
}
