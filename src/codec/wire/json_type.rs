//! The first walk over a request: every member has its shape's JSON type, or the service's SerializationException (SEMANTICS 1.7).

use serde_json::{Map, Value};

use super::shape::{Element, Shape, Structure, boolean};

/// The package in which the service's Java names its shapes.
const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810";

/// A member of a wrong JSON type; `Display` is the service's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SerializationError {
    #[error("{token} cannot be converted to {target}")]
    Token { token: &'static str, target: &'static str },
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
}

/// Where a value stands: a member of a structure, or an element of a list or map. A wrong scalar for a structure reads differently.
#[derive(Clone, Copy)]
enum Place {
    Field,
    Element,
}

/// Checks the members of `json` against `shape`, in the shape's order. Unknown and `null` members are passed over.
pub fn check(json: &Map<String, Value>, shape: &Structure) -> Result<(), SerializationError> {
    if let (1, Some((name, value))) = (json.len(), json.iter().next()) {
        // Attribute values have one member out of ten; look for the member, not for all of the shape's.
        return match shape.members.iter().find(|member| member.name == name) {
            Some(member) => value_of(value, member.shape, Place::Field),
            None => Ok(()),
        };
    }
    for member in shape.members {
        if let Some(value) = json.get(member.name) {
            value_of(value, member.shape, Place::Field)?;
        }
    }
    Ok(())
}

fn value_of(json: &Value, shape: Shape, place: Place) -> Result<(), SerializationError> {
    if json.is_null() {
        return Ok(());
    }
    match shape {
        Shape::String => string(json),
        Shape::Boolean => boolean_type(json),
        Shape::Integer => whole_number(json, "Integer"),
        Shape::Long => whole_number(json, "Long"),
        Shape::Blob => blob(json),
        Shape::List(element) => list(json, element),
        Shape::Map(element) => map(json, element),
        Shape::Structure(structure) => structure_type(json, structure, place),
    }
}

fn string(json: &Value) -> Result<(), SerializationError> {
    match json {
        Value::String(_) | Value::Null => Ok(()),
        Value::Bool(_) | Value::Number(_) => Err(SerializationError::Token { token: token(json), target: "String" }),
        Value::Array(_) => Err(SerializationError::Collection("java.lang.String".to_owned())),
        Value::Object(_) => Err(SerializationError::Structure),
    }
}

fn boolean_type(json: &Value) -> Result<(), SerializationError> {
    match json {
        Value::Bool(_) | Value::Null => Ok(()),
        Value::Number(_) => Err(SerializationError::Token { token: token(json), target: "Boolean" }),
        Value::String(_) if boolean(json).is_some() => Ok(()),
        Value::String(_) => Err(SerializationError::NotBoolean),
        Value::Array(_) => Err(SerializationError::Collection("java.lang.Boolean".to_owned())),
        Value::Object(_) => Err(SerializationError::Structure),
    }
}

fn whole_number(json: &Value, target: &'static str) -> Result<(), SerializationError> {
    match json {
        Value::Number(_) | Value::Null => Ok(()),
        Value::Bool(_) | Value::String(_) => Err(SerializationError::Token { token: token(json), target }),
        Value::Array(_) => Err(SerializationError::Collection(format!("java.lang.{target}"))),
        Value::Object(_) => Err(SerializationError::Structure),
    }
}

fn blob(json: &Value) -> Result<(), SerializationError> {
    match json {
        Value::String(text) => base64_text(text),
        Value::Null => Ok(()),
        Value::Bool(_) | Value::Number(_) => Err(SerializationError::NotBlob),
        Value::Array(_) => Err(SerializationError::Collection("java.nio.ByteBuffer".to_owned())),
        Value::Object(_) => Err(SerializationError::Structure),
    }
}

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
        // The service reads from the end: bits that padding leaves over are told before a pad that stands too early.
        let last = content.get(content.len().saturating_sub(2)..).unwrap_or_default();
        let is_whole = super::attribute_value::decode_base64(&format!("A{last}=")).is_some();
        return Err(if is_whole { SerializationError::Base64Character('=') } else { SerializationError::Base64Last });
    }
    match super::attribute_value::decode_base64(text) {
        Some(_) => Ok(()),
        None => Err(SerializationError::Base64Last),
    }
}

fn list(json: &Value, element: &Element) -> Result<(), SerializationError> {
    match json {
        Value::Array(values) => values.iter().try_for_each(|value| value_of(value, element.shape, Place::Element)),
        Value::Null => Ok(()),
        Value::Object(_) => Err(SerializationError::Structure),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(SerializationError::FieldType),
    }
}

fn map(json: &Value, element: &Element) -> Result<(), SerializationError> {
    match json {
        Value::Object(members) => members.values().try_for_each(|value| value_of(value, element.shape, Place::Element)),
        Value::Null => Ok(()),
        Value::Array(_) => Err(SerializationError::MapCollection(java_name(element.shape))),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(SerializationError::FieldType),
    }
}

fn structure_type(json: &Value, structure: &Structure, place: Place) -> Result<(), SerializationError> {
    match json {
        Value::Object(members) => check(members, structure),
        Value::Null => Ok(()),
        Value::Array(_) => Err(SerializationError::Collection(format!("{PACKAGE}.{}", structure.name))),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => match place {
            Place::Field => Err(SerializationError::FieldType),
            Place::Element => Err(SerializationError::ValueType),
        },
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
        Shape::Map(element) => format!("java.util.Map<java.lang.String, {}>", java_name(element.shape)),
    }
}

/// The parser's name of a scalar.
fn token(json: &Value) -> &'static str {
    match json {
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        Value::Number(_) => "NUMBER_VALUE",
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => "STRING_VALUE",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::attribute_value::ATTRIBUTE_VALUE;
    use super::super::put_item;
    use super::*;

    fn check_put(body: &Value, expected: &str) {
        let members = body.as_object().cloned().unwrap_or_default();
        let found = check(&members, &put_item::SHAPE).map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn texts_of_wrong_types() {
        check_put(&json!({"TableName": 23}), "NUMBER_VALUE cannot be converted to String");
        check_put(&json!({"TableName": 2.5}), "DECIMAL_VALUE cannot be converted to String");
        check_put(&json!({"TableName": true}), "TRUE_VALUE cannot be converted to String");
        check_put(&json!({"TableName": []}), "Unrecognized collection type class java.lang.String");
        check_put(&json!({"TableName": {}}), "Start of structure or map found where not expected");
        check_put(&json!({"TableName": null, "Unknown": 3}), "");
        check_put(&json!({"Item": "a"}), "Unexpected field type");
        check_put(
            &json!({"Item": []}),
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        );
        check_put(&json!({"Item": {"a": "b"}}), "Unexpected value type in payload");
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
            let members = value.as_object().cloned().unwrap_or_default();
            let found = check(&members, &ATTRIBUTE_VALUE).map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(found, expected, "{value}");
        };
        check_value(json!({"N": 123}), "NUMBER_VALUE cannot be converted to String");
        check_value(json!({"BOOL": "maybe"}), "Unexpected token received from parser");
        check_value(json!({"BOOL": "true"}), "");
        check_value(json!({"BOOL": 1}), "NUMBER_VALUE cannot be converted to Boolean");
        check_value(json!({"NULL": []}), "Unrecognized collection type class java.lang.Boolean");
        check_value(json!({"SS": "a"}), "Unexpected field type");
        check_value(json!({"SS": {}}), "Start of structure or map found where not expected");
        check_value(json!({"B": 1}), "only base-64-encoded strings are convertible to bytes");
        check_value(json!({"B": []}), "Unrecognized collection type class java.nio.ByteBuffer");
        check_value(json!({"B": "abc"}), "Base64 encoded length is expected a multiple of 4 bytes but found: 3");
        check_value(json!({"B": "ab!="}), "Invalid base64 character: '!'");
        check_value(json!({"B": "a=bc"}), "Invalid base64 character: '='");
        check_value(json!({"B": "YR=="}), "Invalid last non-pad Base64 character dectected");
        check_value(json!({"B": "YQ=="}), "");
        check_value(json!({"L": [{"M": {"x": {"N": 1}}}]}), "NUMBER_VALUE cannot be converted to String");
        check_value(json!({"L": ["x"]}), "Unexpected value type in payload");
        check_value(json!({"X": 1}), "");
    }
}
