//! The second walk over a request, the validation of constraints: every member keeps those of its
//! `shape` (docs/dynamodb.md 2.1). `json_type` is the first walk.
//!
//! All violations are collected before anything else is looked at; the service reports at most ten.
//! Attribute values have no constraints of this kind, so they and maps of them are not walked.

use std::fmt::{self, Write};

use super::attribute_value::ATTRIBUTE_VALUE;
use super::shape::{Element, Rule, Shape, Structure, integer};
use crate::codec::json::document::{Json, JsonKind, JsonList, JsonObject};
use crate::model::arn;
use crate::model::limits::{NAME_CHARS_MAX, NAME_CHARS_MIN};

/// The most violations reported of one request.
pub const VIOLATIONS_MAX: usize = 10;

/// The constraints that a request broke, one or more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<ConstraintViolation>);

/// One broken constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConstraintViolation {
    /// The value as the service shows it; `None` for a missing member, and if it shows none.
    value: Option<String>,
    /// `keySchema.1.member.attributeName`.
    path: String,
    broken: BrokenRule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BrokenRule {
    Required,
    Rule(Rule),
    /// A bad ReturnValues, reported without value and path.
    UpdateReturnValues,
}

/// UpdateItem's text for a wrong ReturnValues. The list is the service's own, its spelling too.
pub const UPDATE_RETURN_VALUES: &str = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";

impl Violations {
    /// Returns one broken rule of a text.
    pub fn of_text(text: &str, path: &str, rule: Rule) -> Self {
        let value = Some(violation_str(text));
        Self(vec![ConstraintViolation {
            value,
            path: path.to_owned(),
            broken: BrokenRule::Rule(rule),
        }])
    }

    /// True if there is exactly one violation.
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Keeps the first broken rule alone, if there is one; else all missing members.
    #[must_use]
    pub fn first_rule_only(mut self) -> Self {
        if let Some(at) = self
            .0
            .iter()
            .position(|violation| matches!(violation.broken, BrokenRule::Rule(_)))
        {
            self.0 = vec![self.0.swap_remove(at)];
        }
        self
    }

    /// Converts to the form of PutItem and DeleteItem: among several violations, a wrong
    /// ReturnValues has UpdateItem's sentence (docs/dynamodb.md 2.4).
    #[must_use]
    pub fn into_write_form(mut self) -> Self {
        if self.0.len() > 1 {
            let wrong = |violation: &&mut ConstraintViolation| {
                violation.path == "returnValues" && violation.broken != BrokenRule::Required
            };
            self.0
                .iter_mut()
                .filter(wrong)
                .for_each(|violation| violation.broken = BrokenRule::UpdateReturnValues);
        }
        self
    }

    /// Converts to the form of SearchVectors: without the values, the members by their names.
    #[must_use]
    pub fn into_search_form(mut self) -> Self {
        for violation in &mut self.0 {
            violation.value = None;
            if let Some(first) = violation.path.get_mut(..1) {
                first.make_ascii_uppercase();
            }
        }
        self
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.len() == 1 { "" } else { "s" };
        write!(f, "{} validation error{plural} detected: ", self.0.len())?;
        for (position, violation) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            match &violation.value {
                _ if violation.broken == BrokenRule::UpdateReturnValues => {
                    f.write_str(UPDATE_RETURN_VALUES)?;
                    continue;
                }
                Some(value) => write!(f, "Value '{value}'")?,
                None if violation.broken == BrokenRule::Required => f.write_str("Value null")?,
                None => f.write_str("Value")?,
            }
            write!(
                f,
                " at '{}' failed to satisfy constraint: {}",
                violation.path, violation.broken
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("Member must not be null"),
            Self::UpdateReturnValues => f.write_str(UPDATE_RETURN_VALUES),
            Self::Rule(rule) => write!(f, "{rule}"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamePattern => {
                f.write_str("Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
            }
            Self::OneOf(values) => write!(
                f,
                "Member must satisfy enum value set: [{}]",
                values.join(", ")
            ),
            Self::LengthMin(n) => write!(f, "Member must have length greater than or equal to {n}"),
            Self::LengthMax(n) => write!(f, "Member must have length less than or equal to {n}"),
            Self::ValueMin(n) => write!(f, "Member must have value greater than or equal to {n}"),
            Self::ValueMax(n) => write!(f, "Member must have value less than or equal to {n}"),
            Self::MapListLength(min, max) => {
                write!(
                    f,
                    "Map value must satisfy constraint: [{}, {}]",
                    Self::LengthMax(*max),
                    Self::LengthMin(*min)
                )
            }
            Self::MapTableNames => write!(
                f,
                "Map keys must satisfy constraint: [{}, {}, {}]",
                Self::LengthMax(NAME_CHARS_MAX),
                Self::LengthMin(NAME_CHARS_MIN),
                Self::NamePattern
            ),
        }
    }
}

/// Checks a request with correct JSON types.
pub fn check(json: JsonObject<'_>, shape: &Structure) -> Result<(), Violations> {
    let mut found = Vec::new();
    structure(json, shape, "", &mut found);
    if found.is_empty() {
        Ok(())
    } else {
        Err(Violations(found))
    }
}

fn structure(
    json: JsonObject<'_>,
    shape: &Structure,
    path: &str,
    violations: &mut Vec<ConstraintViolation>,
) {
    for member in shape.members {
        let value = json.get(member.name).filter(|value| !value.is_null());
        // Lazy: the path is built only for a violation or a nested walk.
        let path = || join(path, &lower_first(member.name));
        match value {
            None if member.required => push(
                violations,
                ConstraintViolation {
                    value: None,
                    path: path(),
                    broken: BrokenRule::Required,
                },
            ),
            None => {}
            Some(value) => walk(value, member.shape, member.rules, &path, violations),
        }
    }
}

fn walk(
    json: Json<'_>,
    shape: Shape,
    rules: &'static [Rule],
    path: &dyn Fn() -> String,
    violations: &mut Vec<ConstraintViolation>,
) {
    for rule in rules {
        if !satisfies(json, *rule) {
            // The bound on shown values is for the whole response.
            let shown: usize = violations
                .iter()
                .filter_map(|violation| violation.value.as_ref())
                .map(String::len)
                .sum();
            let value = violation_text(json, shape, SHOWN_BYTES_MAX.saturating_sub(shown));
            push(
                violations,
                ConstraintViolation {
                    value: Some(value),
                    path: path(),
                    broken: BrokenRule::Rule(*rule),
                },
            );
        }
    }
    match (shape, json.kind()) {
        (Shape::Structure(inner), JsonKind::Object(members)) if has_constraints(shape) => {
            structure(members, inner, &path(), violations)
        }
        (Shape::List(element), JsonKind::List(values)) => list(values, element, path, violations),
        (Shape::Map(element), JsonKind::Object(members)) if has_constraints(element.shape) => {
            map(members, element, path, violations)
        }
        _ => {}
    }
}

fn has_constraints(shape: Shape) -> bool {
    match shape {
        Shape::Structure(structure) => structure.name != ATTRIBUTE_VALUE.name,
        Shape::List(_) => true,
        Shape::String
        | Shape::Boolean
        | Shape::Integer
        | Shape::Long
        | Shape::Blob
        | Shape::Map(_) => false,
    }
}

fn map(
    members: JsonObject<'_>,
    element: &Element,
    path: &dyn Fn() -> String,
    violations: &mut Vec<ConstraintViolation>,
) {
    for (key, value) in members.iter() {
        let path = || format!("{}.{key}.member", path());
        match value.kind() {
            JsonKind::Null => push(
                violations,
                ConstraintViolation {
                    value: None,
                    path: path(),
                    broken: BrokenRule::Required,
                },
            ),
            _ => walk(value, element.shape, element.rules, &path, violations),
        }
    }
}

fn list(
    values: JsonList<'_>,
    element: &Element,
    path: &dyn Fn() -> String,
    violations: &mut Vec<ConstraintViolation>,
) {
    for (position, value) in values.enumerate() {
        if violations.len() >= VIOLATIONS_MAX {
            return;
        }
        let path = || format!("{}.{}.member", path(), position + 1);
        if value.is_null() {
            push(
                violations,
                ConstraintViolation {
                    value: None,
                    path: path(),
                    broken: BrokenRule::Required,
                },
            );
            continue;
        }
        walk(value, element.shape, element.rules, &path, violations);
    }
}

fn push(violations: &mut Vec<ConstraintViolation>, violation: ConstraintViolation) {
    if violations.len() < VIOLATIONS_MAX {
        violations.push(violation);
    }
}

fn satisfies(json: Json<'_>, rule: Rule) -> bool {
    match rule {
        Rule::NamePattern => json.as_str().is_none_or(fits_pattern),
        Rule::OneOf(values) => json.as_str().is_none_or(|text| values.contains(&text)),
        Rule::LengthMin(n) => length(json) >= n,
        Rule::LengthMax(n) => length(json) <= n,
        Rule::ValueMin(n) => integer(json).is_none_or(|value| value >= n),
        Rule::ValueMax(n) => integer(json).is_none_or(|value| value <= n),
        Rule::MapListLength(min, max) => json.as_object().is_none_or(|members| {
            members
                .values()
                .all(|list| list.is_null() || (min..=max).contains(&length(list)))
        }),
        Rule::MapTableNames => json
            .as_object()
            .is_none_or(|members| members.keys().all(|name| arn::parse_table(name).is_ok())),
    }
}

/// True if `text` is not empty and consists of name characters.
fn fits_pattern(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn length(json: Json<'_>) -> usize {
    match json.kind() {
        JsonKind::String(text) => text.chars().count(),
        JsonKind::List(values) => values.len(),
        JsonKind::Object(members) => members.len(),
        JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number(_) => 0,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The bytes that one response shows of a request: 1 MiB. A longer text ends in `...`.
const SHOWN_BYTES_MAX: usize = 1 << 20;

/// The members in the order in which the service's classes print them, where that differs from the
/// order of the checks, or where a class has members that no request has.
const PRINT_ORDER: &[(&str, &str)] = &[
    (
        "AttributeValue",
        "S N B INT DECIMAL DOUBLE SS NS BS INTSET DECIMALSET DOUBLESET M L NULL BOOL",
    ),
    ("WriteRequest", "PutRequest DeleteRequest"),
    ("PutRequest", "Item WorkloadProfileName"),
    (
        "Get",
        "Key TableName ProjectionExpression ExpressionAttributeNames",
    ),
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

/// The structure of which a map is shown as JSON, as it was sent.
const AS_JSON: &str = "KeysAndAttributes";

/// Returns the shown form of a value of that shape, in at most `bytes_max` bytes.
fn violation_text(json: Json<'_>, shape: Shape, bytes_max: usize) -> String {
    bounded(bytes_max, |echo| value(json, shape, echo))
}

/// Returns the shown form of a text, cut to the bound.
fn violation_str(text: &str) -> String {
    bounded(SHOWN_BYTES_MAX, |echo| echo.write_str(text))
}

/// Returns `keySchema` for `KeySchema`: error texts spell members with a small first letter.
fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_ascii_lowercase().to_string() + chars.as_str()
    })
}

/// The text shown so far, and the bytes left.
struct BoundedText {
    out: String,
    left: usize,
}

/// Fails once the space is used up, so that the rest is not even looked at.
impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.floor_char_boundary(self.left);
        self.left -= end;
        self.out.push_str(&text[..end]);
        if end == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

fn bounded(bytes_max: usize, write: impl FnOnce(&mut BoundedText) -> fmt::Result) -> String {
    let mut echo = BoundedText {
        out: String::new(),
        left: bytes_max,
    };
    if write(&mut echo).is_err() {
        echo.out.push_str("...");
    }
    echo.out
}

fn value(json: Json<'_>, shape: Shape, echo: &mut BoundedText) -> fmt::Result {
    match (shape, json.kind()) {
        (Shape::Map(element), JsonKind::Object(members)) if !is_json(element.shape) => {
            write_sequence('{', members.iter(), '}', echo, |(name, json), echo| {
                write!(echo, "{name}=")?;
                value(json, element.shape, echo)
            })
        }
        (Shape::List(element), JsonKind::List(values)) => {
            write_sequence('[', values, ']', echo, |json, echo| {
                value(json, element.shape, echo)
            })
        }
        (Shape::Structure(structure), JsonKind::Object(_)) => members(json, structure, echo),
        (_, JsonKind::String(text)) => echo.write_str(text),
        (_, JsonKind::Number(_)) => match integer(json) {
            Some(number) => write!(echo, "{number}"),
            None => write!(echo, "{json}"),
        },
        _ => write!(echo, "{json}"),
    }
}

fn is_json(shape: Shape) -> bool {
    matches!(shape, Shape::Structure(structure) if structure.name == AS_JSON)
}

fn write_sequence<T>(
    open: char,
    values: impl Iterator<Item = T>,
    close: char,
    echo: &mut BoundedText,
    write_element: impl Fn(T, &mut BoundedText) -> fmt::Result,
) -> fmt::Result {
    echo.write_char(open)?;
    for (place, value) in values.enumerate() {
        echo.write_str(if place > 0 { ", " } else { "" })?;
        write_element(value, echo)?;
    }
    echo.write_char(close)
}

/// Writes all members, including absent ones.
fn members(json: Json<'_>, structure: &Structure, echo: &mut BoundedText) -> fmt::Result {
    let printed = PRINT_ORDER.iter().find(|(name, _)| *name == structure.name);
    let names: Vec<&str> = match printed {
        Some((_, names)) => names.split(' ').collect(),
        None => structure.members.iter().map(|member| member.name).collect(),
    };
    echo.write_str(structure.name)?;
    write_sequence('(', names.into_iter(), ')', echo, |name, echo| {
        write!(echo, "{}=", lower_first(name))?;
        let shape = structure
            .members
            .iter()
            .find(|member| member.name == name)
            .map(|member| member.shape);
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

    /// Checks the shown form of the one member of a request.
    fn check(body: &Value, request: &Structure, expected: &str) {
        let document = Document::from_value(body);
        let shown = request.members.iter().find_map(|member| {
            Some(violation_text(
                document.root().get(member.name)?,
                member.shape,
                900,
            ))
        });
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
        check(
            &json!({"RequestItems": {"a b": {"Keys": []}}}),
            BatchGetItemRequest::STRUCTURE,
            r#"{"a b":{"Keys":[]}}"#,
        );
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let shown = |json: Value, left| {
            violation_text(Document::from_value(&json).root(), Shape::String, left)
        };
        assert_eq!(shown(json!("aäx"), 4), "aäx");
        assert_eq!(shown(json!("aäx"), 3), "aä...");
        assert_eq!(shown(json!("aäx"), 2), "a...");
        let many = json!({"L": vec![json!({}); 1_000_000]});
        let document = Document::from_value(&many);
        let list = attribute_value::ATTRIBUTE_VALUE
            .members
            .iter()
            .find(|member| member.name == "L")
            .map(|member| member.shape);
        let shown = document
            .root()
            .get("L")
            .zip(list)
            .map(|(json, shape)| violation_text(json, shape, SHOWN_BYTES_MAX).len());
        assert_eq!(shown, Some(SHOWN_BYTES_MAX + 3));
    }
}
