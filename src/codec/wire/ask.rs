//! Writing requests: members that several operations share. A member that is absent is left out.

use serde_json::{Map, Value};

use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json::{write_item, write_value};
use crate::model::Word;
use crate::model::api::legacy::{AttributeUpdate, ConditionalOperator, LegacyCondition};
use crate::model::api::{ConditionParameter, Placeholders};
use crate::model::{AttributeValue, Item};

impl ObjectWriter<'_> {
    pub fn text(&mut self, name: &str, text: impl AsRef<str>) {
        write::string(text.as_ref(), self.member(name));
    }

    pub fn text_if(&mut self, name: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// Absent, it is false.
    pub fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.boolean(name, true);
        }
    }

    pub fn boolean(&mut self, name: &str, value: bool) {
        self.member(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub fn count(&mut self, name: &str, count: Option<u32>) {
        if let Some(count) = count {
            write::whole(count.into(), self.member(name));
        }
    }

    /// The members of a tree.
    pub fn tree(&mut self, members: Map<String, Value>) {
        for (name, value) in members {
            self.member(&name).extend(value.to_string().into_bytes());
        }
    }

    pub fn item(&mut self, name: &str, item: &Item) {
        write_item(item, self.member(name));
    }

    /// The word of a value, unless it is the one that is meant where none is said.
    pub fn word_unless<T: Word + PartialEq>(&mut self, absent: T, name: &str, value: T) {
        if value != absent {
            self.text(name, value.word());
        }
    }

    /// `member` is ALL_OLD, SIZE, …, where it is asked for.
    pub fn word_if(&mut self, name: &str, is_asked: bool, word: &str) {
        self.text_if(name, is_asked.then_some(word));
    }
}

/// `ExpressionAttributeNames` and `ExpressionAttributeValues`.
pub fn placeholders(placeholders: &Placeholders, object: &mut ObjectWriter<'_>) {
    if let Some(names) = &placeholders.names {
        let mut map = ObjectWriter::start(object.member("ExpressionAttributeNames"));
        names.iter().for_each(|(alias, name)| map.text(alias, name));
        map.end();
    }
    if let Some(values) = &placeholders.values {
        let mut map = ObjectWriter::start(object.member("ExpressionAttributeValues"));
        values.iter().for_each(|(alias, value)| write_value(value, map.member(alias)));
        map.end();
    }
}

/// A condition under one of its two names: of an expression, or of the parameter from before expressions.
pub fn condition(condition: &ConditionParameter, (expression, legacy): (&str, &str), object: &mut ObjectWriter<'_>) {
    match condition {
        ConditionParameter::None => {}
        ConditionParameter::Expression(text) => object.text(expression, text),
        ConditionParameter::Legacy(all) => {
            conditions(legacy, &all.conditions, object);
            let operator = all.operator.map(|operator| if operator == ConditionalOperator::Or { "OR" } else { "AND" });
            object.text_if("ConditionalOperator", operator);
        }
    }
}

/// `KeyConditions` and its likes.
pub fn conditions(name: &str, conditions: &[LegacyCondition], object: &mut ObjectWriter<'_>) {
    let mut map = ObjectWriter::start(object.member(name));
    for condition in conditions {
        let mut entry = ObjectWriter::start(map.member(&condition.attribute));
        entry.text_if("ComparisonOperator", condition.comparison_operator.map(|operator| operator.name()));
        if let Some(values) = &condition.attribute_value_list {
            write::list(values.iter(), entry.member("AttributeValueList"), write_value);
        }
        value_if(condition.value.as_ref(), &mut entry);
        if let Some(exists) = condition.exists {
            entry.boolean("Exists", exists);
        }
        entry.end();
    }
    map.end();
}

/// `AttributeUpdates`.
pub fn attribute_updates(updates: &[AttributeUpdate], object: &mut ObjectWriter<'_>) {
    let mut map = ObjectWriter::start(object.member("AttributeUpdates"));
    for update in updates {
        let mut entry = ObjectWriter::start(map.member(&update.attribute));
        entry.text("Action", update.action.word());
        value_if(update.value.as_ref(), &mut entry);
        entry.end();
    }
    map.end();
}

fn value_if(value: Option<&AttributeValue>, entry: &mut ObjectWriter<'_>) {
    if let Some(value) = value {
        write_value(value, entry.member("Value"));
    }
}
