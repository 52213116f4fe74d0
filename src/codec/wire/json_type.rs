//! The first walk over a request, the type check: every member has its `shape`'s JSON type, else
//! the service's SerializationException (docs/dynamodb.md 1.7). `constraint` is the second walk.

use super::attribute_value::{ATTRIBUTE_VALUE, ATTRIBUTE_VALUE_ELEMENT};
use super::shape::{Shape, Structure, boolean};
use crate::codec::json::document::{Json, JsonKind, JsonObject};
use crate::model::AttributeValue;

/// The Java package of the service's shapes.
const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810";

/// A member of a wrong JSON type; `Display` is the service's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SerializationError {
    #[error("{token} cannot be converted to {target}")]
    Token {
        token: &'static str,
        target: &'static str,
    },
    #[error("Unexpected token received from parser")]
    NotBoolean,
    #[error("Unrecognized collection type class {0}")]
    Collection(String),
    #[error("Unrecognized collection type java.util.Map<java.lang.String, {0}>")]
    MapCollection(String),
    #[error("Start of structure or map found where not expected")]
    Structure,
    #[error("only base-64-encoded strings are convertible to bytes")]
    NotBlob,
    #[error("Base64 encoded length is expected a multiple of 4 bytes but found: {0}")]
    Base64Length(usize),
    #[error("Invalid base64 character: '{0}'")]
    Base64Character(char),
    // The spelling is the service's own.
    #[error("Invalid last non-pad Base64 character dectected")]
    Base64Last,
    #[error("Unexpected field type")]
    FieldType,
    #[error("Unexpected value type in payload")]
    ValueType,
    /// The service's Java text for a scalar in place of a list or map inside another one.
    #[error(
        "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class \
         (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
    )]
    ClassCast,
}

/// The position of a value: a member of a structure, or an element of a list or map. The error text
/// of a wrong scalar in place of a structure depends on it.
#[derive(Clone, Copy)]
enum ValuePosition {
    Field,
    Element,
}

/// Checks the members of `json` against `shape`, in the shape's order. Unknown and `null` members
/// are skipped.
pub fn check(json: JsonObject<'_>, shape: &Structure) -> Result<(), SerializationError> {
    if let (1, Some((name, value))) = (json.len(), json.iter().next()) {
        // Attribute values have one member out of ten; look for the member, not for all of the
        // shape's.
        return match shape.members.iter().find(|member| member.name == name) {
            Some(member) => value_of(value, member.shape, ValuePosition::Field),
            None => Ok(()),
        };
    }
    for member in shape.members {
        if let Some(value) = json.get(member.name) {
            value_of(value, member.shape, ValuePosition::Field)?;
        }
    }
    Ok(())
}

/// Checks the types in an item.
pub fn check_item(json: Json<'_>) -> Result<(), SerializationError> {
    value_of(
        json,
        Shape::Map(&ATTRIBUTE_VALUE_ELEMENT),
        ValuePosition::Field,
    )
}

fn value_of(json: Json<'_>, shape: Shape, place: ValuePosition) -> Result<(), SerializationError> {
    match (shape, json.kind()) {
        (_, JsonKind::Null)
        | (Shape::Boolean, JsonKind::Bool(_))
        | (Shape::Integer | Shape::Long, JsonKind::Number(_)) => Ok(()),
        (Shape::String, JsonKind::String(text)) => {
            json.charge(text_bytes(text));
            Ok(())
        }
        (Shape::Boolean, JsonKind::String(_)) if boolean(json).is_some() => Ok(()),
        (Shape::Boolean, JsonKind::String(_)) => Err(SerializationError::NotBoolean),
        (Shape::Blob, JsonKind::String(text)) => {
            json.charge(text_bytes(text));
            base64_text(text)
        }
        (Shape::List(element), JsonKind::List(mut values)) => {
            json.charge(values.len() * slot_bytes(element.shape));
            values.try_for_each(|value| value_of(value, element.shape, ValuePosition::Element))
        }
        (Shape::Map(element), JsonKind::Object(members)) => {
            json.charge(
                members.len().next_multiple_of(NODE_MEMBERS)
                    * (slot_bytes(element.shape) + NAME_BYTES),
            );
            members.iter().try_for_each(|(name, value)| {
                json.charge(text_bytes(name));
                value_of(value, element.shape, ValuePosition::Element)
            })
        }
        (Shape::Structure(structure), JsonKind::Object(members)) => check(members, structure),
        (Shape::Map(element), JsonKind::List(_)) => {
            Err(SerializationError::MapCollection(java_name(element.shape)))
        }
        (_, JsonKind::List(_)) => Err(SerializationError::Collection(java_name(shape))),
        (_, JsonKind::Object(_)) => Err(SerializationError::Structure),
        (_, JsonKind::Bool(_) | JsonKind::Number(_) | JsonKind::String(_)) => {
            Err(wrong_scalar(json, shape, place))
        }
    }
}

/// Returns the error of a scalar in place of another type.
fn wrong_scalar(json: Json<'_>, shape: Shape, place: ValuePosition) -> SerializationError {
    let target = match shape {
        Shape::Blob => return SerializationError::NotBlob,
        Shape::String => "String",
        Shape::Boolean => "Boolean",
        Shape::Integer => "Integer",
        Shape::Long => "Long",
        Shape::List(_) | Shape::Map(_) | Shape::Structure(_) => {
            return match (place, shape) {
                (ValuePosition::Field, _) => SerializationError::FieldType,
                (ValuePosition::Element, Shape::Structure(_)) => SerializationError::ValueType,
                (ValuePosition::Element, _) => SerializationError::ClassCast,
            };
        }
    };
    SerializationError::Token {
        token: token(json),
        target,
    }
}

/// Returns the memory of a copied text: the allocator rounds up.
fn text_bytes(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.len() + 16 }
}

/// The memory of a name in a map beside its text: its string, and its part of the node.
const NAME_BYTES: usize = 32;

/// The members of a map that share a node; a node with one member is as large.
const NODE_MEMBERS: usize = 11;

/// Returns the memory of a value in a list, a set or a map, without the data it points to.
fn slot_bytes(shape: Shape) -> usize {
    match shape {
        Shape::Structure(structure) if structure.name == ATTRIBUTE_VALUE.name => {
            size_of::<AttributeValue>()
        }
        Shape::Structure(_) => STRUCTURE_BYTES,
        // Sets are sorted with a reference to each element.
        Shape::String | Shape::Blob => size_of::<String>() + size_of::<&str>(),
        Shape::List(_) | Shape::Map(_) | Shape::Boolean | Shape::Integer | Shape::Long => {
            size_of::<AttributeValue>()
        }
    }
}

/// More than any structure in a list or map of a request.
const STRUCTURE_BYTES: usize = 256;

fn base64_text(text: &str) -> Result<(), SerializationError> {
    let length = text.chars().count();
    if !length.is_multiple_of(4) {
        return Err(SerializationError::Base64Length(length));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    if let Some(bad) = text.chars().find(|&c| !legal(c)) {
        return Err(SerializationError::Base64Character(bad));
    }
    let content = text.trim_end_matches('=');
    if content.contains('=') {
        // The service reads from the end: it reports leftover bits of the padding before a pad that
        // stands too early.
        let last = &content[content.len().saturating_sub(2)..];
        let is_whole = super::attribute_value::decode_base64(&format!("A{last}=")).is_some();
        return Err(if is_whole {
            SerializationError::Base64Character('=')
        } else {
            SerializationError::Base64Last
        });
    }
    match super::attribute_value::decode_base64(text) {
        Some(_) => Ok(()),
        None => Err(SerializationError::Base64Last),
    }
}

fn java_name(shape: Shape) -> String {
    match shape {
        Shape::Structure(structure) => format!("{PACKAGE}.{}", structure.name),
        Shape::String => "java.lang.String".to_owned(),
        Shape::Boolean => "java.lang.Boolean".to_owned(),
        Shape::Integer => "java.lang.Integer".to_owned(),
        Shape::Long => "java.lang.Long".to_owned(),
        Shape::Blob => "java.nio.ByteBuffer".to_owned(),
        Shape::List(element) => format!("java.util.List<{}>", java_name(element.shape)),
        Shape::Map(element) => format!(
            "java.util.Map<java.lang.String, {}>",
            java_name(element.shape)
        ),
    }
}

/// Returns the parser's name of a scalar.
fn token(json: Json<'_>) -> &'static str {
    match json.kind() {
        JsonKind::Bool(true) => "TRUE_VALUE",
        JsonKind::Bool(false) => "FALSE_VALUE",
        JsonKind::Number(text) if text.contains(['.', 'e', 'E']) => "DECIMAL_VALUE",
        JsonKind::Number(_) => "NUMBER_VALUE",
        JsonKind::String(_) | JsonKind::Null | JsonKind::List(_) | JsonKind::Object(_) => {
            "STRING_VALUE"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::declared::Declared;
    use super::*;
    use crate::codec::json::document::Document;
    use crate::model::api::PutItemRequest;

    fn check_put(body: &Value, expected: &str) {
        let document = Document::from_value(body);
        let found = document
            .root()
            .as_object()
            .map_or(Ok(()), |members| check(members, PutItemRequest::STRUCTURE));
        let found = found.map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn texts_of_wrong_types() {
        check_put(
            &json!({"TableName": 23}),
            "NUMBER_VALUE cannot be converted to String",
        );
        check_put(
            &json!({"TableName": 2.5}),
            "DECIMAL_VALUE cannot be converted to String",
        );
        check_put(
            &json!({"TableName": true}),
            "TRUE_VALUE cannot be converted to String",
        );
        check_put(
            &json!({"TableName": []}),
            "Unrecognized collection type class java.lang.String",
        );
        check_put(
            &json!({"TableName": {}}),
            "Start of structure or map found where not expected",
        );
        check_put(&json!({"TableName": null, "Unknown": 3}), "");
        check_put(&json!({"Item": "a"}), "Unexpected field type");
        check_put(
            &json!({"Item": []}),
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        );
        check_put(
            &json!({"Item": {"a": "b"}}),
            "Unexpected value type in payload",
        );
        check_put(
            &json!({"Item": {"a": []}}),
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        );
        check_put(
            &json!({"ExpressionAttributeNames": []}),
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
        );
    }

    #[test]
    fn texts_of_wrong_attribute_values() {
        let check_value = |value: Value, expected: &str| {
            let document = Document::from_value(&value);
            let found = document
                .root()
                .as_object()
                .map_or(Ok(()), |members| check(members, &ATTRIBUTE_VALUE));
            let found = found.map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(found, expected, "{value}");
        };
        check_value(
            json!({"N": 123}),
            "NUMBER_VALUE cannot be converted to String",
        );
        check_value(
            json!({"BOOL": "maybe"}),
            "Unexpected token received from parser",
        );
        check_value(json!({"BOOL": "true"}), "");
        check_value(
            json!({"BOOL": 1}),
            "NUMBER_VALUE cannot be converted to Boolean",
        );
        check_value(
            json!({"NULL": []}),
            "Unrecognized collection type class java.lang.Boolean",
        );
        check_value(json!({"SS": "a"}), "Unexpected field type");
        check_value(
            json!({"SS": {}}),
            "Start of structure or map found where not expected",
        );
        check_value(
            json!({"B": 1}),
            "only base-64-encoded strings are convertible to bytes",
        );
        check_value(
            json!({"B": []}),
            "Unrecognized collection type class java.nio.ByteBuffer",
        );
        check_value(
            json!({"B": "abc"}),
            "Base64 encoded length is expected a multiple of 4 bytes but found: 3",
        );
        check_value(json!({"B": "ab!="}), "Invalid base64 character: '!'");
        check_value(json!({"B": "a=bc"}), "Invalid base64 character: '='");
        check_value(
            json!({"B": "YR=="}),
            "Invalid last non-pad Base64 character dectected",
        );
        check_value(json!({"B": "YQ=="}), "");
        check_value(
            json!({"L": [{"M": {"x": {"N": 1}}}]}),
            "NUMBER_VALUE cannot be converted to String",
        );
        check_value(json!({"L": ["x"]}), "Unexpected value type in payload");
        check_value(json!({"X": 1}), "");
    }
}
