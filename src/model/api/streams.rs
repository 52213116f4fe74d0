//! What the operations of DynamoDB Streams share.

use std::fmt;

use super::common::Version;
use crate::model::settings::StreamViewType;
use crate::model::{Item, TableName};

/// A stream: what its ARN says. A table has a new one each time its stream is enabled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamName {
    pub table_name: TableName,
    /// The time it was enabled: `2026-01-02T03:04:05.678`.
    pub label: String,
}

/// The place of a record in its stream: the version that the change gave its item. Printed as 21 digits, so that texts of one
/// length have the order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(pub Version);

/// What is printed before the 20 digits of any version.
const SEQUENCE_LEAD: char = '1';

impl SequenceNumber {
    /// The number of a text of 21 to 40 digits; `None` when it is none. Numbers that no record can have become the nearest.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.len() < 21 {
            return None;
        }
        let digits = text.trim_start_matches('0');
        Some(Self(match (digits.len(), digits.strip_prefix(SEQUENCE_LEAD)) {
            (..21, _) => 0,
            (21, Some(version)) => version.parse().unwrap_or(Version::MAX),
            _ => Version::MAX,
        }))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SEQUENCE_LEAD}{:020}", self.0)
    }
}

/// What happened to the item of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamEvent {
    Insert,
    Modify,
    Remove,
}

/// Who changed an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// A request.
    #[default]
    Client,
    /// The item's time to live was over: `userIdentity` is the service.
    TimeToLive,
}

/// One change of one item.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRecord {
    /// `eventID`: 32 hexadecimal digits.
    pub event_id: String,
    pub event: StreamEvent,
    pub origin: Origin,
    pub sequence_number: SequenceNumber,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    pub view_type: StreamViewType,
    pub keys: Item,
    pub new_image: Option<Item>,
    pub old_image: Option<Item>,
    /// DynamoDB bytes of keys and images.
    pub size_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_are_texts_of_21_digits() {
        let check = |text: &str, expected: Option<Version>| {
            assert_eq!(SequenceNumber::of_text(text), expected.map(SequenceNumber), "{text}");
        };
        assert_eq!(SequenceNumber(7).to_string(), "100000000000000000007");
        check("100000000000000000007", Some(7));
        check(&SequenceNumber(Version::MAX).to_string(), Some(Version::MAX));
        check("0000100000000000000000007", Some(7));
        check("000000000000000000007", Some(0));
        check("200000000000000000007", Some(Version::MAX));
        check("199999999999999999999", Some(Version::MAX));
        check(&"9".repeat(40), Some(Version::MAX));
        check("7", None);
        check("10000000000000000000x", None);
    }
}
