//! ARNs of streams, and the members that hold them (SEMANTICS 17).

use super::error::WireError;
use super::shape::{Member, Members, Rule, Shape};
use super::table_description;
use crate::model::TableName;
use crate::model::api::StreamName;
use crate::model::error::StreamError;

const ARN_CHARS_MIN: usize = 37;
const ARN_CHARS_MAX: usize = 1024;
const LABEL_CHARS_MAX: usize = 64;

/// A member that holds a stream's ARN.
pub const fn member(name: &'static str) -> Member {
    Member::new(name, Shape::String).rules(&[Rule::LengthMin(ARN_CHARS_MIN), Rule::LengthMax(ARN_CHARS_MAX)])
}

/// A member that holds a shard's id.
pub const fn shard_id(name: &'static str) -> Member {
    Member::new(name, Shape::String).rules(&[Rule::LengthMin(28), Rule::LengthMax(65)])
}

/// `<ARN of the table>/stream/<label>`.
#[must_use]
pub fn text(stream: &StreamName) -> String {
    format!("{}/stream/{}", table_description::arn(&stream.table_name), stream.label)
}

/// The stream that a member names; region and account are not looked at.
///
/// # Errors
/// `Arn` when it is no stream's ARN, or absent.
pub fn read(members: Members<'_>, name: &str) -> Result<StreamName, WireError> {
    members.string(name).and_then(parse).ok_or(WireError::Request(StreamError::Arn.into()))
}

fn parse(text: &str) -> Option<StreamName> {
    let mut parts = text.splitn(6, ':');
    let (arn, _partition, service) = (parts.next()?, parts.next()?, parts.next()?);
    let (_region, _account, resource) = (parts.next()?, parts.next()?, parts.next()?);
    if arn != "arn" || service != "dynamodb" {
        return None;
    }
    let (table, label) = resource.strip_prefix("table/")?.split_once("/stream/")?;
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'.');
    if label.is_empty() || label.len() > LABEL_CHARS_MAX || !label.bytes().all(is_legal) {
        return None;
    }
    Some(StreamName { table_name: TableName::new(table).ok()?, label: label.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arns() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = parse(text);
            let found = found.as_ref().map(|stream| (stream.table_name.as_str(), stream.label.as_str()));
            assert_eq!(found, expected, "{text}");
        };
        let label = "2026-01-02T03:04:05.678";
        let stream = StreamName { table_name: TableName::new("Orders").unwrap(), label: label.to_owned() };
        check(&text(&stream), Some(("Orders", label)));
        check("arn:aws-cn:dynamodb:eu-west-2:123456789012:table/abc/stream/x", Some(("abc", "x")));
        for text in [
            "",
            "arn:aws:dynamodb:us-east-1:000000000000:table/Orders",
            "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/",
            "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/a\0b",
            "arn:aws:dynamodb:us-east-1:000000000000:table/O/stream/x",
            "arn:aws:kinesis:us-east-1:000000000000:table/Orders/stream/x",
        ] {
            check(text, None);
        }
    }
}
