//! Members that name streams and shards (docs/dynamodb.md 17).

use super::answer;
use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape};
use crate::model::api::StreamName;
use crate::model::error::StreamError;
use crate::model::{Error, arn};

const ARN_CHARS_MIN: usize = 37;
const ARN_CHARS_MAX: usize = 1024;

/// A member that holds a stream's ARN.
pub const fn member(name: &'static str) -> Member {
    Member::new(name, Shape::String).rules(&[Rule::LengthMin(ARN_CHARS_MIN), Rule::LengthMax(ARN_CHARS_MAX)])
}

/// A member that holds a shard's id.
pub const fn shard_id(name: &'static str) -> Member {
    Member::new(name, Shape::String).rules(&[Rule::LengthMin(28), Rule::LengthMax(65)])
}

/// The stream that a member names; region and account are not looked at.
///
/// # Errors
/// `Arn` when it is no stream's ARN, or absent.
pub fn read(members: Members<'_>, name: &str) -> Result<StreamName, WireError> {
    members.string(name).and_then(arn::stream_named).ok_or(WireError::Request(StreamError::Arn.into()))
}

/// The stream that a member of an answer names.
///
/// # Errors
/// It is no stream's ARN, or absent.
pub fn read_answer(members: Members<'_>, name: &str) -> Result<StreamName, Error> {
    let text = answer::text(members, name)?;
    arn::stream_named(text).ok_or_else(|| answer::unreadable(format_args!("{text:?} names no stream")))
}
