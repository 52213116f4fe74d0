//! Values of requests as the service shows them in violations (docs/dynamodb.md 2.5): texts plain, lists as `[a, b]`, maps as `{key=value}`,
//! structures as their classes print them, `Name(member=value, other=null)`. The keys of a batch of reads are shown as JSON.
//!
//! The service cuts nothing. The bound here is our own: an empty value is three bytes of a request, and 160 when it is printed.

use std::fmt::{self, Write};

use super::shape::{Shape, Structure, integer};
use crate::codec::json::document::{Json, Kind};

/// What one answer shows of a request, in bytes: 1 MiB. What is longer ends in `...`.
pub const ECHO_BYTES_MAX: usize = 1 << 20;

/// Members in the order in which the service's classes print them, where that is not the order in which they are checked, or where
/// a class has members that no request has.
const PRINTED: &[(&str, &str)] = &[
    ("AttributeValue", "S N B INT DECIMAL DOUBLE SS NS BS INTSET DECIMALSET DOUBLESET M L NULL BOOL"),
    ("WriteRequest", "PutRequest DeleteRequest"),
    ("PutRequest", "Item WorkloadProfileName"),
    ("Get", "Key TableName ProjectionExpression ExpressionAttributeNames"),
    (
        "ConditionCheck",
        "Key TableName ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure",
    ),
    (
        "Put",
        "Item TableName ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure",
    ),
    (
        "Delete",
        "Key TableName ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure",
    ),
    (
        "Update",
        "Key UpdateExpression TableName ConditionExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValuesOnConditionCheckFailure",
    ),
];

/// A map of these structures is shown as JSON, as it was sent.
const AS_JSON: &str = "KeysAndAttributes";

/// A value of that shape, in at most `left` bytes.
pub fn of(json: Json<'_>, shape: Shape, left: usize) -> String {
    bounded(left, |echo| value(json, shape, echo))
}

/// A text, as much of it as may be shown.
pub fn of_text(text: &str) -> String {
    bounded(ECHO_BYTES_MAX, |echo| echo.write_str(text))
}

/// `keySchema` of `KeySchema`: names of members are told with a small first letter.
pub fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + chars.as_str())
}

/// What is shown, and how much more of it may be.
struct Echo {
    out: String,
    left: usize,
}

/// An error when there is no more room, so that the rest is not even looked at.
impl Write for Echo {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(self.left);
        self.left -= end;
        self.out.push_str(&text[..end]);
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn bounded(left: usize, write: impl FnOnce(&mut Echo) -> fmt::Result) -> String {
    let mut echo = Echo { out: String::new(), left };
    if write(&mut echo).is_err() {
        echo.out.push_str("...");
    }
    echo.out
}

fn value(json: Json<'_>, shape: Shape, echo: &mut Echo) -> fmt::Result {
    match (shape, json.kind()) {
        (Shape::Map(element), Kind::Object(members)) if !is_json(element.shape) => {
            listed('{', members.iter(), '}', echo, |(name, json), echo| {
                write!(echo, "{name}=")?;
                value(json, element.shape, echo)
            })
        }
        (Shape::List(element), Kind::List(values)) => listed('[', values, ']', echo, |json, echo| value(json, element.shape, echo)),
        (Shape::Structure(structure), Kind::Object(_)) => members(json, structure, echo),
        (_, Kind::String(text)) => echo.write_str(text),
        (_, Kind::Number(_)) if integer(json).is_some() => write!(echo, "{}", integer(json).unwrap_or_default()),
        _ => write!(echo, "{json}"),
    }
}

fn is_json(shape: Shape) -> bool {
    matches!(shape, Shape::Structure(structure) if structure.name == AS_JSON)
}

fn listed<T>(
    open: char,
    values: impl Iterator<Item = T>,
    close: char,
    echo: &mut Echo,
    one: impl Fn(T, &mut Echo) -> fmt::Result,
) -> fmt::Result {
    echo.write_char(open)?;
    for (place, value) in values.enumerate() {
        echo.write_str(if place > 0 { ", " } else { "" })?;
        one(value, echo)?;
    }
    echo.write_char(close)
}

/// All members, with those that are not there.
fn members(json: Json<'_>, structure: &Structure, echo: &mut Echo) -> fmt::Result {
    let printed = PRINTED.iter().find(|(name, _)| *name == structure.name);
    let names: Vec<&str> = match printed {
        Some((_, names)) => names.split(' ').collect(),
        None => structure.members.iter().map(|member| member.name).collect(),
    };
    echo.write_str(structure.name)?;
    listed('(', names.into_iter(), ')', echo, |name, echo| {
        write!(echo, "{}=", lower_first(name))?;
        let shape = structure.members.iter().find(|member| member.name == name).map(|member| member.shape);
        match shape.zip(json.get(name)) {
            Some((shape, json)) => value(json, shape, echo),
            None => echo.write_str("null"),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::attribute_value;
    use super::super::declared::Declared;
    use super::*;
    use crate::codec::json::document::Document;
    use crate::model::api::{BatchGetItemRequest, CreateTableRequest, TransactWriteItemsRequest};

    /// What is shown of the one member of a request.
    fn check(body: &Value, request: &Structure, expected: &str) {
        let document = Document::of(body);
        let shown = request.members.iter().find_map(|member| Some(of(document.root().get(member.name)?, member.shape, 900)));
        assert_eq!(shown.as_deref(), Some(expected), "{body}");
    }

    #[test]
    fn structures_print_their_type_and_all_members() {
        check(
            &json!({"KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, null, {"KeyType": 1.5, "X": 1}]}),
            CreateTableRequest::STRUCTURE,
            "[KeySchemaElement(attributeName=a, keyType=HASH), null, KeySchemaElement(attributeName=null, keyType=1)]",
        );
        check(
            &json!({"TransactItems": [{"Delete": {"TableName": "Tab"}}]}),
            TransactWriteItemsRequest::STRUCTURE,
            "[TransactWriteItem(conditionCheck=null, put=null, delete=Delete(key=null, tableName=Tab, conditionExpression=null, \
             expressionAttributeNames=null, expressionAttributeValues=null, returnValuesOnConditionCheckFailure=null), update=null)]",
        );
        let nulls = "m=null, l=null, nULL=null, bOOL=null";
        let sets = "iNT=null, dECIMAL=null, dOUBLE=null, sS=[a, b], nS=null, bS=null, iNTSET=null, dECIMALSET=null, dOUBLESET=null";
        check(
            &json!({"M": {"x": {"SS": ["a", "b"]}}}),
            &attribute_value::ATTRIBUTE_VALUE,
            &format!("{{x=AttributeValue(s=null, n=null, b=null, {sets}, {nulls})}}"),
        );
        check(&json!({"RequestItems": {"a b": {"Keys": []}}}), BatchGetItemRequest::STRUCTURE, r#"{"a b":{"Keys":[]}}"#);
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let shown = |json: Value, left| of(Document::of(&json).root(), Shape::String, left);
        assert_eq!(shown(json!("aäx"), 4), "aäx");
        assert_eq!(shown(json!("aäx"), 3), "aä...");
        assert_eq!(shown(json!("aäx"), 2), "a...");
        let many = json!({"L": vec![json!({}); 1_000_000]});
        let document = Document::of(&many);
        let list = attribute_value::ATTRIBUTE_VALUE.members.iter().find(|member| member.name == "L").map(|member| member.shape);
        let shown = document.root().get("L").zip(list).map(|(json, shape)| of(json, shape, ECHO_BYTES_MAX).len());
        assert_eq!(shown, Some(ECHO_BYTES_MAX + 3));
    }
}
