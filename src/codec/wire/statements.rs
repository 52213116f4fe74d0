//! Members that the operations of PartiQL share.

use super::attribute_value::{self, ATTRIBUTE_VALUE_ELEMENT};
use super::error::WireError;
use super::members;
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::AttributeValue;
use crate::model::error::ValueError;
use crate::model::limits::STATEMENT_CHARS_MAX;

pub const STATEMENT: Member =
    Member::new("Statement", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(STATEMENT_CHARS_MAX)]);
pub const PARAMETERS: Member = Member::new("Parameters", Shape::List(&ATTRIBUTE_VALUE_ELEMENT)).rules(&[Rule::LengthMin(1)]);

/// How often parameters are held beside what every request's values are counted for: in the statement, and in the request made of it.
const MORE_COPIES: usize = 2;

/// As [`members::typed`], of a request with statements.
pub fn typed<'a>(json: Json<'a>, shape: &Structure) -> Result<Members<'a>, WireError> {
    let members = members::typed(json, shape)?;
    json.pay_again(MORE_COPIES);
    if json.is_overdrawn() { Err(WireError::TooManyValues) } else { Ok(members) }
}

/// `Parameters`.
///
/// # Errors
/// The first bad value.
pub fn parameters(members: Members<'_>) -> Result<Vec<AttributeValue>, ValueError> {
    let values = members.list("Parameters").unwrap_or_default();
    values.map(attribute_value::value).collect()
}

/// `Statement` and `Parameters` of a request.
pub fn write_members(statement: &str, parameters: &[AttributeValue], old_on_failure: bool, object: &mut ObjectWriter<'_>) {
    object.text("Statement", statement);
    if !parameters.is_empty() {
        write::list(parameters.iter(), object.member("Parameters"), dynamodb_json::write_value);
    }
    object.word_if("ReturnValuesOnConditionCheckFailure", old_on_failure, "ALL_OLD");
}
