//! Members that requests of several operations share, such as `Key` and `ExpressionAttributeNames`:
//! their shapes and readers. `names` has `TableName` and `IndexName`; `model::api::common` has the
//! types.

use super::attribute_value::{self, ATTRIBUTE_VALUE_ELEMENT};
use super::field::{Field, Group, Plain, Sender, Size, member};
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::ObjectWriter;
use super::{constraint, json_type};
use crate::codec::json::document::Json;
use crate::codec::wire::WireError;
use crate::model::ApiEnum;
use crate::model::api::common::{ConditionalOperator, JobFailure};
use crate::model::api::{Placeholders, ReturnConsumedCapacity, ReturnValues};
use crate::model::attribute_value::check_attribute_name;
use crate::model::error::expression::ExpressionParameter;
use crate::model::error::{ExpressionError, ValueError};
use crate::model::{Error, Item};

/// The memory of a name of AttributesToGet as a document path and in the tree of a projection.
const PROJECTED_NAME_BYTES: usize = 128;

/// The element of a list or map of plain texts.
pub static STRING: Element = Element {
    shape: Shape::String,
    rules: &[],
};

pub const RETURN_CONSUMED_CAPACITY: Member =
    member::<ReturnConsumedCapacity, Plain>("ReturnConsumedCapacity");
pub const KEY: Member = Member::new("Key", Shape::Map(&ATTRIBUTE_VALUE_ELEMENT));
pub const EXCLUSIVE_START_KEY: Member = Member {
    name: "ExclusiveStartKey",
    ..KEY
};
pub const PROJECTION_EXPRESSION: Member = Member::new("ProjectionExpression", Shape::String);
pub const FILTER_EXPRESSION: Member = Member::new("FilterExpression", Shape::String);
pub const CONDITION_EXPRESSION: Member = Member::new("ConditionExpression", Shape::String);
pub const EXPRESSION_ATTRIBUTE_NAMES: Member =
    Member::new("ExpressionAttributeNames", Shape::Map(&STRING));
pub const EXPRESSION_ATTRIBUTE_VALUES: Member = Member::new(
    "ExpressionAttributeValues",
    Shape::Map(&ATTRIBUTE_VALUE_ELEMENT),
);
pub const RETURN_VALUES: Member =
    Member::new("ReturnValues", Shape::String).rules(&[Rule::OneOf(&[
        "ALL_NEW",
        "UPDATED_OLD",
        "ALL_OLD",
        "NONE",
        "UPDATED_NEW",
    ])]);
pub const RETURN_ITEM_COLLECTION_METRICS: Member =
    member::<bool, Size>("ReturnItemCollectionMetrics");
pub const ATTRIBUTES_TO_GET: Member =
    Member::new("AttributesToGet", Shape::List(&STRING)).rules(&[Rule::LengthMin(1)]);
pub const CONDITIONAL_OPERATOR: Member =
    member::<ConditionalOperator, Plain>("ConditionalOperator");

/// Returns the body's members after checking their types.
pub fn check_types<'a>(json: Json<'a>, shape: &Structure) -> Result<Members<'a>, WireError> {
    let object = json.as_object().ok_or(WireError::NotAnObject)?;
    json_type::check(object, shape)?;
    // After the walk, which charges the memory of the request's values, and before any of them is
    // built.
    if json.is_over_budget() {
        return Err(WireError::TooManyValues);
    }
    Members::of(json).ok_or(WireError::NotAnObject)
}

/// Checks the body's constraints.
pub fn constrained(json: Json<'_>, shape: &Structure) -> Result<(), WireError> {
    let object = json.as_object().ok_or(WireError::NotAnObject)?;
    constraint::check(object, shape).map_err(WireError::Constraints)
}

/// Checks the constraints of PutItem and DeleteItem. With values deeper than any reader goes the
/// older layer is first: it lists enums plainly, and reports a ReturnValues of other operations at
/// once (docs/dynamodb.md 3.4).
pub fn constrained_write(json: Json<'_>, shape: &Structure) -> Result<(), WireError> {
    let found = constrained(json, shape);
    if !json.is_truncated() {
        return found.map_err(WireError::into_write_form);
    }
    found?;
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    return_values::<ReturnValues>(members, WireError::LegacyReturnValues).map(drop)
}

/// Refuses members that this version does not serve: an error is better than another effect than
/// requested.
pub fn refuse(members: Members<'_>, refused: &[Member]) -> Result<(), WireError> {
    match refused.iter().find(|member| members.has(member.name)) {
        Some(member) => Err(WireError::Request(Error::NotSupported(member.name))),
        None => Ok(()),
    }
}

/// Checks that expression and legacy parameters do not come together. Both lists are in the order
/// of the error's text.
///
/// # Errors
/// [`ExpressionError::Mixed`] with the parameters given.
pub fn check_mix(
    members: Members<'_>,
    legacy: &[&str],
    expressions: &[&str],
) -> Result<(), WireError> {
    let given = |names: &[&str]| {
        names
            .iter()
            .copied()
            .filter(|name| members.has(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (legacy, expressions) = (given(legacy), given(expressions));
    if legacy.is_empty() || expressions.is_empty() {
        return Ok(());
    }
    Err(ExpressionError::Mixed {
        legacy,
        expressions,
    }
    .into())
}

/// Checks the mix of parameters of Query: `KeyConditions` alone may come with expressions, if there
/// is no KeyConditionExpression (docs/dynamodb.md 27).
///
/// # Errors
/// [`ExpressionError::Mixed`] with the parameters given.
pub fn check_query_mix(members: Members<'_>) -> Result<(), WireError> {
    let expressions = &[
        "ProjectionExpression",
        "FilterExpression",
        "KeyConditionExpression",
    ];
    let legacy: &[&str] = match members.has("KeyConditionExpression") {
        true => &[
            "AttributesToGet",
            "QueryFilter",
            "ConditionalOperator",
            "KeyConditions",
        ],
        false => &["AttributesToGet", "QueryFilter", "ConditionalOperator"],
    };
    check_mix(members, legacy, expressions)
}

#[derive(Debug)]
pub struct AttributesToGet;

impl Group<Option<Vec<String>>> for AttributesToGet {
    const MEMBERS: &'static [Member] = &[ATTRIBUTES_TO_GET];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<Vec<String>>, WireError> {
        attributes_to_get(members)
    }

    fn write(value: &Option<Vec<String>>, object: &mut ObjectWriter<'_>) {
        if let Some(names) = value {
            names.write(object.member("AttributesToGet"));
        }
    }
}

/// The placeholders of a request without a member for values.
#[derive(Debug)]
pub struct Names;

impl Group<Placeholders> for Names {
    const MEMBERS: &'static [Member] = &[EXPRESSION_ATTRIBUTE_NAMES];

    fn read(members: Members<'_>, _: Sender) -> Result<Placeholders, WireError> {
        names(members)
    }

    fn write(value: &Placeholders, object: &mut ObjectWriter<'_>) {
        write_placeholders(value, object);
    }
}

#[derive(Debug)]
pub struct NamesAndValues;

impl Group<Placeholders> for NamesAndValues {
    const MEMBERS: &'static [Member] = &[EXPRESSION_ATTRIBUTE_VALUES, EXPRESSION_ATTRIBUTE_NAMES];

    fn read(members: Members<'_>, _: Sender) -> Result<Placeholders, WireError> {
        placeholders(members)
    }

    fn write(value: &Placeholders, object: &mut ObjectWriter<'_>) {
        write_placeholders(value, object);
    }
}

/// `FailureCode` and `FailureMessage` of a failed task.
#[derive(Debug)]
pub struct JobFailureMembers;

impl Group<Option<JobFailure>> for JobFailureMembers {
    const MEMBERS: &'static [Member] = &[
        Member::new("FailureCode", Shape::String),
        Member::new("FailureMessage", Shape::String),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<JobFailure>, WireError> {
        let failure = members
            .owned("FailureCode")
            .zip(members.owned("FailureMessage"));
        Ok(failure.map(|(code, message)| JobFailure { code, message }))
    }

    fn write(value: &Option<JobFailure>, object: &mut ObjectWriter<'_>) {
        if let Some(JobFailure { code, message }) = value {
            object.text("FailureCode", code);
            object.text("FailureMessage", message);
        }
    }
}

/// Reads `AttributesToGet`.
///
/// # Errors
/// [`ValueError`] for a name that no attribute can have; [`WireError::TooManyValues`].
pub fn attributes_to_get(members: Members<'_>) -> Result<Option<Vec<String>>, WireError> {
    let Some(names) = members.list("AttributesToGet") else {
        return Ok(None);
    };
    // Beside the name itself, which is already charged.
    if let Some(json) = members.get("AttributesToGet") {
        json.charge(names.len() * PROJECTED_NAME_BYTES);
        if json.is_over_budget() {
            return Err(WireError::TooManyValues);
        }
    }
    let names: Vec<String> = names.filter_map(Json::as_str).map(str::to_owned).collect();
    names
        .iter()
        .try_for_each(|name| check_attribute_name(name))?;
    Ok(Some(names))
}

/// Reads the item under `name` and checks its attributes; empty if absent.
pub fn item(members: Members<'_>, name: &str) -> Result<Item, WireError> {
    Ok(members
        .get(name)
        .map(attribute_value::item)
        .transpose()?
        .unwrap_or_default())
}

/// Reads `ReturnValues`; an unknown word is the error `other`.
pub fn return_values<T: ApiEnum + Default>(
    members: Members<'_>,
    other: WireError,
) -> Result<T, WireError> {
    members
        .string("ReturnValues")
        .map_or(Ok(T::default()), |word| T::parse(word).ok_or(other))
}

/// Checks that names and values come with an expression that can use them. This is reported before
/// the values of Key, Item and ExclusiveStartKey are looked at (docs/dynamodb.md 2.6). `users` can
/// use values and names; a ProjectionExpression only names. Without `users` the request has no
/// member for values.
///
/// # Errors
/// [`ExpressionError::NamesWithoutExpression`], [`ExpressionError::ValuesWithoutExpression`].
pub fn check_placeholders_wanted(
    members: Members<'_>,
    users: &'static [ExpressionParameter],
) -> Result<(), WireError> {
    let is_used = users.iter().any(|user| members.has(user.name()));
    let has_values = !users.is_empty() && members.has("ExpressionAttributeValues");
    let has_expression = is_used || members.has("ProjectionExpression");
    Ok(Placeholders::check_placeholders_used(
        members.has("ExpressionAttributeNames"),
        has_values,
        has_expression,
        (!is_used).then_some(users),
    )?)
}

/// Reads `ExpressionAttributeNames` of a request without a member for values; the operation checks
/// them against its expressions.
pub fn names(members: Members<'_>) -> Result<Placeholders, WireError> {
    let mut placeholders = Placeholders::default();
    if let Some(names) = members.structure("ExpressionAttributeNames") {
        // All aliases before the first name, as below before the first value.
        names
            .iter()
            .try_for_each(|(key, _)| Placeholders::check_placeholder(key, '#'))
            .map_err(ExpressionError::NameKey)?;
        let read = |(key, json): (&str, Json<'_>)| match json.as_str() {
            Some(name) if !name.is_empty() => Ok((key.to_owned(), name.to_owned())),
            _ => Err(ExpressionError::InvalidName {
                alias: key.to_owned(),
                fault: ValueError::EmptyAttributeName,
            }),
        };
        placeholders.names = Some(names.iter().map(read).collect::<Result<_, _>>()?);
    }
    Ok(placeholders)
}

fn write_placeholders(placeholders: &Placeholders, object: &mut ObjectWriter<'_>) {
    if let Some(names) = &placeholders.names {
        let mut map = ObjectWriter::start(object.member("ExpressionAttributeNames"));
        names.iter().for_each(|(alias, name)| map.text(alias, name));
        map.end();
    }
    if let Some(values) = &placeholders.values {
        let mut map = ObjectWriter::start(object.member("ExpressionAttributeValues"));
        values
            .iter()
            .for_each(|(alias, value)| value.write(map.member(alias)));
        map.end();
    }
}

/// Reads `ExpressionAttributeNames` and `ExpressionAttributeValues`.
pub fn placeholders(members: Members<'_>) -> Result<Placeholders, WireError> {
    let mut placeholders = names(members)?;
    if let Some(values) = members.structure("ExpressionAttributeValues") {
        values
            .iter()
            .try_for_each(|(key, _)| Placeholders::check_placeholder(key, ':'))
            .map_err(ExpressionError::ValueKey)?;
        let read = |(key, json): (&str, Json<'_>)| match attribute_value::value(json) {
            Ok(value) => Ok((key.to_owned(), value)),
            Err(fault) => Err(ExpressionError::InvalidValue {
                alias: key.to_owned(),
                fault,
            }),
        };
        placeholders.values = Some(values.iter().map(read).collect::<Result<_, _>>()?);
    }
    Ok(placeholders)
}
