//! Parameters from before expressions (docs/dynamodb.md 8), read as they are; what they mean and whether they are right is the operation's
//! to say.

use super::declared::*;
use super::members::{CONDITION_EXPRESSION, CONDITIONAL_OPERATOR};
use crate::model::AttributeValue;
use crate::model::api::ConditionParameter;
use crate::model::api::legacy::*;
use crate::model::attribute_value::check_attribute_name;

legacy!(wire);

pub const EXPECTED: Member = member::<Vec<LegacyCondition>, ByAttribute>("Expected");
pub const ATTRIBUTE_UPDATES: Member = member::<Vec<AttributeUpdate>, ByAttribute>("AttributeUpdates");

/// What is said of an attribute, by whose name it stands.
pub trait OfAttribute: Field + Default {
    fn attribute(&self) -> &str;

    fn name(&mut self, attribute: &str);
}

macro_rules! of_attribute {
    ($($kind:ident)*) => {
        $(impl OfAttribute for $kind {
            fn attribute(&self) -> &str {
                &self.attribute
            }

            fn name(&mut self, attribute: &str) {
                attribute.clone_into(&mut self.attribute);
            }
        })*
    };
}
of_attribute! { LegacyCondition AttributeUpdate }

/// A map by the names of attributes, in the order sent.
#[derive(Debug)]
pub struct ByAttribute;

impl<T: OfAttribute> Form<Vec<T>> for ByAttribute {
    const SHAPE: Shape = Shape::Map(&Element { shape: T::SHAPE, rules: &[] });

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Vec<T>>, WireError> {
        let read = |(attribute, json): (&str, Json<'_>)| {
            check_attribute_name(attribute)?;
            let mut read = T::read(json, sender)?.unwrap_or_default();
            read.name(attribute);
            Ok(read)
        };
        Members::of(json).map(|entries| entries.iter().map(read).collect()).transpose()
    }

    fn write(value: &Vec<T>, out: &mut Vec<u8>) {
        let mut map = ObjectWriter::start(out);
        value.iter().for_each(|one| one.write(map.member(one.attribute())));
        map.end();
    }
}

/// `KeyConditions`, `QueryFilter`, `ScanFilter`: an operator must be there, an absent list of values is an empty one.
#[derive(Debug)]
pub struct Conditions;

impl Form<Vec<LegacyCondition>> for Conditions {
    const SHAPE: Shape = {
        const OF_EXPECTED: &[Member] = LegacyCondition::STRUCTURE.members;
        const CONDITION: Structure = Structure { name: "Condition", members: &[OF_EXPECTED[0], OF_EXPECTED[1].required()] };
        Shape::Map(&Element { shape: Shape::Structure(&CONDITION), rules: &[] })
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

/// A condition under one of its two names: of an expression, or of the parameter from before expressions, with what is between its parts.
macro_rules! conditions {
    ($($form:ident: $expression:literal, $older:literal as $of_older:ident, $members:expr;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Group<ConditionParameter> for $form {
                const MEMBERS: &'static [Member] = $members;

                fn read(members: Members<'_>, sender: Sender) -> Result<ConditionParameter, WireError> {
                    if let Some(text) = members.owned($expression) {
                        return Ok(ConditionParameter::Expression(text));
                    }
                    let conditions = optional::<_, $of_older>(members, $older, sender)?;
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
                            ByAttribute::put(&all.conditions, $older, object);
                            object.text_if("ConditionalOperator", all.operator.map(Word::word));
                        }
                    }
                }
            }
        )*
    };
}

conditions! {
    Condition: "ConditionExpression", "Expected" as ByAttribute, &[CONDITIONAL_OPERATOR, EXPECTED, CONDITION_EXPRESSION];
    QueryFilter: "FilterExpression", "QueryFilter" as Conditions, &[];
    ScanFilter: "FilterExpression", "ScanFilter" as Conditions, &[];
}
