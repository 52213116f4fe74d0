//! Members that the operations of PartiQL share.

use super::attribute_value::{self, ATTRIBUTE_VALUE_ELEMENT};
use super::shape::{Member, Members, Rule, Shape};
use crate::model::AttributeValue;
use crate::model::error::ValueError;
use crate::model::limits::STATEMENT_CHARS_MAX;

pub const STATEMENT: Member =
    Member::new("Statement", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(STATEMENT_CHARS_MAX)]);
pub const PARAMETERS: Member = Member::new("Parameters", Shape::List(&ATTRIBUTE_VALUE_ELEMENT)).rules(&[Rule::LengthMin(1)]);

/// `Parameters`.
///
/// # Errors
/// The first bad value.
pub fn parameters(members: Members<'_>) -> Result<Vec<AttributeValue>, ValueError> {
    let values = members.list("Parameters").unwrap_or_default();
    values.map(attribute_value::value).collect()
}
