//! Amazon Resource Names: a parser and writers of
//! `arn:<partition>:<service>:<region>:<account>:<resource>`. The account and region of ARNs that
//! this engine makes are constants here. The table and index names in them are those of `names`.

use super::TableName;
use super::api::StreamName;
use super::names::NameError;

/// The region in the ARNs that this engine makes.
pub const REGION: &str = "us-east-1";
/// The account in the ARNs that this engine makes.
pub const ACCOUNT: &str = "000000000000";
/// The limit of a `TableName` member, which may be an ARN (service model).
const TABLE_NAME_OR_ARN_CHARS_MAX: usize = 1024;
const LABEL_CHARS_MAX: usize = 64;

/// The parts of an ARN, empty if there are too few; only the prefix `arn:` is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arn<'a> {
    pub service: &'a str,
    pub region: &'a str,
    pub account: &'a str,
    pub resource: &'a str,
}

impl<'a> Arn<'a> {
    /// Parses an ARN; returns `None` if the text does not begin with `arn:`.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.strip_prefix("arn:")?.splitn(5, ':').skip(1);
        let mut part = || parts.next().unwrap_or_default();
        Some(Self {
            service: part(),
            region: part(),
            account: part(),
            resource: part(),
        })
    }

    /// Returns the text after `table/` in an ARN of DynamoDB. Region and account are not checked,
    /// as the service's own tools mix them.
    fn table_resource(text: &'a str) -> Option<&'a str> {
        let arn = Self::parse(text).filter(|arn| arn.service == "dynamodb")?;
        arn.resource.strip_prefix("table/")
    }
}

/// Returns the ARN of a table.
#[must_use]
pub fn table(table: &TableName) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}")
}

/// Returns `<ARN of the table>/stream/<label>`.
#[must_use]
pub fn stream(stream: &StreamName) -> String {
    format!("{}/stream/{}", table(&stream.table_name), stream.label)
}

/// Returns the part before `table/` in the ARN of a table or of one of its resources: partition,
/// region and account.
#[must_use]
pub fn table_prefix(text: &str) -> Option<&str> {
    let place = text.find(":table/")?;
    Arn::table_resource(text).and(text.get(..=place))
}

/// Returns the ARN of a table with the prefix `home`, as [`table_prefix`] returns it.
#[must_use]
pub fn table_with_prefix(home: &str, table: &TableName) -> String {
    format!("{home}table/{table}")
}

/// Returns the ARN of a stream with the prefix `home`, as [`table_prefix`] returns it.
#[must_use]
pub fn stream_with_prefix(home: &str, stream: &StreamName) -> String {
    format!(
        "{}/stream/{}",
        table_with_prefix(home, &stream.table_name),
        stream.label
    )
}

/// Parses a table's name or ARN.
///
/// # Errors
/// Fails with the first naming rule that the name breaks.
pub fn parse_table(text: &str) -> Result<TableName, NameError> {
    let within = if text.len() > TABLE_NAME_OR_ARN_CHARS_MAX {
        None
    } else {
        Arn::table_resource(text)
    };
    TableName::new(within.unwrap_or(text))
}

/// Parses the ARN of a stream; returns `None` for any other text.
#[must_use]
pub fn parse_stream(text: &str) -> Option<StreamName> {
    let (table, label) = Arn::table_resource(text)?.split_once("/stream/")?;
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'.');
    if label.is_empty() || label.len() > LABEL_CHARS_MAX || !label.bytes().all(is_legal) {
        return None;
    }
    Some(StreamName {
        table_name: TableName::new(table).ok()?,
        label: label.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes() {
        let (text, place) = (
            "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/abc/stream/x",
            "arn:aws-cn:dynamodb:cn-north-1:123456789012:",
        );
        assert_eq!(table_prefix(text), Some(place));
        assert_eq!(
            parse_stream(text)
                .map(|stream| stream_with_prefix(place, &stream))
                .as_deref(),
            Some(text)
        );
        assert_eq!(
            table_prefix("arn:aws:kinesis:us-east-1:000000000000:table/abc"),
            None
        );
    }

    #[test]
    fn streams() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = parse_stream(text);
            let found = found
                .as_ref()
                .map(|stream| (stream.table_name.as_str(), stream.label.as_str()));
            assert_eq!(found, expected, "{text}");
        };
        let label = "2026-01-02T03:04:05.678";
        let of_orders = StreamName {
            table_name: TableName::new("Orders").unwrap(),
            label: label.to_owned(),
        };
        check(&stream(&of_orders), Some(("Orders", label)));
        check(
            "arn:aws-cn:dynamodb:eu-west-2:123456789012:table/abc/stream/x",
            Some(("abc", "x")),
        );
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
