//! The parser of attribute values and items from the DynamoDB JSON of a request, with the service's
//! checks in its order (docs/dynamodb.md 3.2). `codec::dynamodb_json` writes them.
//!
//! The JSON has passed the type walk (`json_type`): tags hold strings, booleans, arrays and objects
//! as they should.

use super::shape::{Element, Member, Members, Shape, Structure};
use crate::codec::json::document::{Json, JsonKind, JsonList, JsonObject};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{ApiEnum, AttributeType, AttributeValue, Item, Number, attribute_value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The shape of a value.
pub static ATTRIBUTE_VALUE: Structure = Structure {
    name: "AttributeValue",
    members: &[
        Member::new("S", Shape::String),
        Member::new("B", Shape::Blob),
        Member::new("N", Shape::String),
        Member::new("BOOL", Shape::Boolean),
        Member::new("NULL", Shape::Boolean),
        Member::new(
            "BS",
            Shape::List(&Element {
                shape: Shape::Blob,
                rules: &[],
            }),
        ),
        Member::new(
            "NS",
            Shape::List(&Element {
                shape: Shape::String,
                rules: &[],
            }),
        ),
        Member::new(
            "SS",
            Shape::List(&Element {
                shape: Shape::String,
                rules: &[],
            }),
        ),
        Member::new("L", Shape::List(&ATTRIBUTE_VALUE_ELEMENT)),
        Member::new("M", Shape::Map(&ATTRIBUTE_VALUE_ELEMENT)),
    ],
};

/// A value in a list or map.
pub static ATTRIBUTE_VALUE_ELEMENT: Element = Element {
    shape: Shape::Structure(&ATTRIBUTE_VALUE),
    rules: &[],
};

/// Decodes base64 with padding, the bits after the last byte zero.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Reads an item, or a key: attributes by name. `json` has passed the type walk.
///
/// # Errors
/// The fault of the first bad attribute in the order sent.
pub fn item(json: Json<'_>) -> Result<Item, ValueError> {
    let Some(members) = json.as_object() else {
        return Ok(Item::default());
    };
    map(members, 1)
        .map(Item)
        .map_err(|fault| first_fault(members, fault))
}

/// Returns the fault that the service reports first: bad names of the item's attributes, then its
/// depth, then names within (docs/dynamodb.md 15.1).
fn first_fault(members: JsonObject<'_>, fault: ValueError) -> ValueError {
    let bad_name = members
        .keys()
        .find_map(|name| attribute_value::check_attribute_name(name).err());
    match fault {
        ValueError::Nesting => bad_name.unwrap_or(fault),
        ValueError::EmptyAttributeName | ValueError::AttributeNameTooLong if bad_name.is_none() => {
            if members.values().any(|json| is_too_deep(json, 1)) {
                ValueError::Nesting
            } else {
                fault
            }
        }
        other => other,
    }
}

/// True if the value at `level` goes beyond 32.
fn is_too_deep(json: Json<'_>, level: usize) -> bool {
    if level > NESTING_LEVELS_MAX {
        return true;
    }
    let values = |content: Json<'_>| match content.kind() {
        JsonKind::List(mut values) => values.any(|json| is_too_deep(json, level + 1)),
        JsonKind::Object(members) => members.values().any(|json| is_too_deep(json, level + 1)),
        _ => false,
    };
    ["L", "M"]
        .iter()
        .any(|tag| json.get(tag).is_some_and(values))
}

/// Reads one value. `json` has passed the type walk.
///
/// # Errors
/// The fault that the service reports first.
pub fn value(json: Json<'_>) -> Result<AttributeValue, ValueError> {
    value_at(json, 1)
}

fn map(members: JsonObject<'_>, level: usize) -> Result<attribute_value::Map, ValueError> {
    let mut out = Vec::with_capacity(members.len());
    for (name, json) in members.iter() {
        attribute_value::check_attribute_name(name)?;
        out.push((name.to_owned(), value_at(json, level)?));
    }
    // Built at once, its nodes are full.
    Ok(out.into_iter().collect())
}

/// Reads a value; `level` 1 is a top-level attribute.
fn value_at(json: Json<'_>, level: usize) -> Result<AttributeValue, ValueError> {
    if level > NESTING_LEVELS_MAX {
        return Err(ValueError::Nesting);
    }
    // A `null` in place of a value is a value without a type.
    let members = Members::of(json).ok_or(ValueError::NoType)?;
    let mut tags = members
        .iter()
        .filter(|(tag, json)| !json.is_null() && is_tag(tag));
    let (tag, content) = tags.next().ok_or(ValueError::NoType)?;
    if tags.next().is_some() {
        return Err(several_types(members));
    }
    match tag {
        "L" => list(content, level),
        "M" => Ok(AttributeValue::M(match content.as_object() {
            Some(members) => map(members, level + 1)?,
            None => return Err(ValueError::NoType),
        })),
        _ => scalar_or_set(tag, content),
    }
}

fn is_tag(tag: &str) -> bool {
    AttributeType::parse(tag).is_some()
}

/// Returns the error of a value with several types: a fault in one of them comes first.
fn several_types(members: Members<'_>) -> ValueError {
    for tag in ["NULL", "SS", "NS", "BS", "N"] {
        if let Some(Err(error)) = members.get(tag).map(|content| scalar_or_set(tag, content)) {
            return error;
        }
    }
    ValueError::SeveralTypes
}

fn list(content: Json<'_>, level: usize) -> Result<AttributeValue, ValueError> {
    debug_assert!(content.as_list().is_some(), "the type walk checks lists");
    let values = content.as_list().unwrap_or_default();
    let mut out = Vec::with_capacity(values.len());
    for json in values {
        out.push(value_at(json, level + 1)?);
    }
    Ok(AttributeValue::L(out))
}

fn scalar_or_set(tag: &str, content: Json<'_>) -> Result<AttributeValue, ValueError> {
    let text = || {
        debug_assert!(content.as_str().is_some(), "the type walk checks texts");
        content.as_str().unwrap_or_default()
    };
    let elements = || {
        debug_assert!(content.as_list().is_some(), "the type walk checks lists");
        content.as_list().unwrap_or_default()
    };
    match tag {
        "S" => Ok(AttributeValue::S(text().to_owned())),
        "N" => Ok(AttributeValue::N(text().parse()?)),
        "B" => Ok(AttributeValue::B(
            decode_base64(text()).ok_or(ValueError::NoType)?,
        )),
        "BOOL" => super::shape::boolean(content)
            .map(AttributeValue::Bool)
            .ok_or(ValueError::NoType),
        "NULL" => match super::shape::boolean(content) {
            Some(true) => Ok(AttributeValue::Null),
            Some(false) => Err(ValueError::NullFalse),
            None => Err(ValueError::NoType),
        },
        "SS" => string_set(elements()),
        "NS" => number_set(elements()),
        "BS" => binary_set(elements()),
        _ => Err(ValueError::NoType),
    }
}

/// Returns the texts of a set; `kind` names it in the error of a `null` among them.
fn texts<'a>(elements: JsonList<'a>, kind: &'static str) -> Result<Vec<&'a str>, ValueError> {
    elements
        .map(|json| json.as_str().ok_or(ValueError::NullInSet(kind)))
        .collect()
}

fn string_set(elements: JsonList<'_>) -> Result<AttributeValue, ValueError> {
    AttributeValue::string_set(
        texts(elements, "string")?
            .into_iter()
            .map(str::to_owned)
            .collect(),
    )
}

fn number_set(elements: JsonList<'_>) -> Result<AttributeValue, ValueError> {
    let numbers = texts(elements, "number")?
        .into_iter()
        .map(|text| text.parse::<Number>());
    AttributeValue::number_set(numbers.collect::<Result<_, _>>()?)
}

fn binary_set(elements: JsonList<'_>) -> Result<AttributeValue, ValueError> {
    let decoded = texts(elements, "binary")?
        .into_iter()
        .map(|text| decode_base64(text).ok_or(ValueError::NoType));
    AttributeValue::binary_set(decoded.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::codec::json::document::Document;

    #[track_caller]
    fn refused(json: Value, expected: &str) {
        let found = value(Document::from_value(&json).root()).map_or_else(
            |error| error.to_string(),
            |found| format!("accepted: {found:?}"),
        );
        assert_eq!(found, expected, "{json}");
    }

    #[track_caller]
    fn accepted(json: Value, expected: AttributeValue) {
        assert_eq!(
            value(Document::from_value(&json).root()),
            Ok(expected),
            "{json}"
        );
    }

    #[test]
    fn every_type_is_read() {
        accepted(json!({"S": ""}), AttributeValue::S(String::new()));
        accepted(
            json!({"N": "1.50"}),
            AttributeValue::N("1.5".parse().unwrap_or(Number::ZERO)),
        );
        accepted(json!({"B": "YWI="}), AttributeValue::B(b"ab".to_vec()));
        accepted(json!({"BOOL": "true"}), AttributeValue::Bool(true));
        accepted(json!({"NULL": true}), AttributeValue::Null);
        accepted(
            json!({"SS": ["b", "a"]}),
            AttributeValue::Ss(vec!["a".into(), "b".into()]),
        );
        accepted(
            json!({"BS": ["Yg==", "YQ=="]}),
            AttributeValue::Bs(vec![b"a".to_vec(), b"b".to_vec()]),
        );
        accepted(json!({"L": []}), AttributeValue::L(vec![]));
        accepted(
            json!({"M": {"a": {"L": [{"S": "x"}]}}, "unknown": 1}),
            AttributeValue::M(
                [(
                    "a".to_owned(),
                    AttributeValue::L(vec![AttributeValue::S("x".into())]),
                )]
                .into(),
            ),
        );
    }

    #[test]
    fn bad_values_are_refused_in_the_service_s_words() {
        refused(
            json!({}),
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        );
        refused(
            json!({"X": 1}),
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        );
        refused(
            json!({"S": "a", "N": "1"}),
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        );
        refused(
            json!({"S": "a", "N": "b"}),
            "The parameter cannot be converted to a numeric value: b",
        );
        refused(
            json!({"NULL": false}),
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        );
        refused(
            json!({"SS": []}),
            "One or more parameter values were invalid: An string set  may not be empty",
        );
        refused(
            json!({"NS": []}),
            "One or more parameter values were invalid: An number set  may not be empty",
        );
        refused(
            json!({"BS": []}),
            "One or more parameter values were invalid: Binary sets should not be empty",
        );
        refused(
            json!({"SS": ["a", "b", "a"]}),
            "One or more parameter values were invalid: Input collection [a, b, a] contains duplicates.",
        );
        refused(
            json!({"BS": ["YQ==", "YQ=="]}),
            "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type BS contains duplicates.",
        );
        refused(
            json!({"NS": ["1", "1.0"]}),
            "Input collection contains duplicates",
        );
        refused(
            json!({"N": ""}),
            "The parameter cannot be converted to a numeric value",
        );
        refused(
            json!({"L": [{"N": "x"}]}),
            "The parameter cannot be converted to a numeric value: x",
        );
        refused(
            json!({"M": {"": {"S": "a"}}}),
            "One or more parameter values were invalid: Empty attribute name",
        );
    }

    #[test]
    fn nesting_ends_at_32_levels() {
        let nested =
            |levels: usize| (1..levels).fold(json!({"S": "x"}), |inner, _| json!({ "L": [inner] }));
        assert!(value(Document::from_value(&nested(32)).root()).is_ok());
        assert_eq!(
            value(Document::from_value(&nested(33)).root()),
            Err(ValueError::Nesting)
        );
    }
}
