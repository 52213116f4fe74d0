//! Items that an index cannot hold: a key attribute of another type, too long, or empty.
//!
//! An index that is being made of them goes without these items, and once it is there every write of such an item is refused. The
//! way to find and mend them is the one of the service's Violation Detector: detect writes a CSV table, a person fills in new values,
//! correct reads it.

pub mod correct;
pub mod detect;
pub mod table;

use std::fmt;

use crate::model::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use crate::model::schema::KeyType;
use crate::model::{AttributeType, AttributeValue, IndexSchema, Item, Key, KeyAttribute};

/// The key attributes of an index that exists or is planned: HASH first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKey {
    pub attributes: Vec<(KeyType, KeyAttribute)>,
}

impl From<&IndexSchema> for IndexKey {
    fn from(index: &IndexSchema) -> Self {
        let part = |key_type, attributes: &[KeyAttribute]| -> Vec<_> {
            attributes.iter().map(|attribute| (key_type, attribute.clone())).collect()
        };
        let mut attributes = part(KeyType::Hash, &index.partition);
        attributes.extend(part(KeyType::Range, &index.sort));
        Self { attributes }
    }
}

/// Why a value can be no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Type {
        expected: AttributeType,
        found: AttributeType,
    },
    /// Bytes.
    Size {
        max: usize,
        found: usize,
    },
    Empty,
}

impl Fault {
    /// As the CSV's column says it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Type { .. } => "Type Violation",
            Self::Size { .. } => "Size Violation",
            Self::Empty => "Empty Violation",
        }
    }
}

/// The description in the CSV.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, found } => write!(f, "Expected: {expected} Found: {found}"),
            Self::Size { max, found } => write!(f, "Max Bytes Allowed: {max} Found: {found}"),
            Self::Empty => f.write_str("Expected: at least 1 byte Found: 0"),
        }
    }
}

/// What is wrong with a value as this key attribute of an index; `None` is nothing (docs/dynamodb.md 9.4).
#[must_use]
pub fn fault(key_type: KeyType, attribute: &KeyAttribute, value: &AttributeValue) -> Option<Fault> {
    let (expected, found) = (attribute.attribute_type.as_attribute_type(), value.attribute_type());
    if expected != found {
        return Some(Fault::Type { expected, found });
    }
    let max = match key_type {
        KeyType::Hash => PARTITION_KEY_BYTES_MAX,
        KeyType::Range => SORT_KEY_BYTES_MAX,
    };
    match value.size() {
        0 => Some(Fault::Empty),
        bytes if bytes > max => Some(Fault::Size { max, found: bytes }),
        _ => None,
    }
}

/// An item that the index cannot hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Of the item.
    pub key: Key,
    /// For each attribute of [`IndexKey`], in its order: its value and what is wrong, if anything.
    pub parts: Vec<Option<(AttributeValue, Fault)>>,
}

/// What keeps `item` out of the index; `None` when nothing does. A missing attribute is none: the index is sparse.
#[must_use]
pub fn violation(index: &IndexKey, key: Key, item: &Item) -> Option<Violation> {
    let part = |(key_type, attribute): &(KeyType, KeyAttribute)| {
        let value = item.get(&attribute.name)?;
        fault(*key_type, attribute, value).map(|fault| (value.clone(), fault))
    };
    let parts: Vec<_> = index.attributes.iter().map(part).collect();
    parts.iter().any(Option::is_some).then_some(Violation { key, parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::KeyAttributeType;

    #[test]
    fn faults_of_values() {
        let check = |key_type, attribute_type, value: AttributeValue, expected: Option<&str>| {
            let attribute = KeyAttribute { name: "a".to_owned(), attribute_type };
            let found = fault(key_type, &attribute, &value).map(|fault| format!("{}: {fault}", fault.kind()));
            assert_eq!(found.as_deref(), expected, "{value:?}");
        };
        let s = |text: &str| AttributeValue::S(text.to_owned());
        check(KeyType::Hash, KeyAttributeType::S, s("x"), None);
        check(KeyType::Hash, KeyAttributeType::N, s("Hello"), Some("Type Violation: Expected: N Found: S"));
        check(KeyType::Hash, KeyAttributeType::S, AttributeValue::Null, Some("Type Violation: Expected: S Found: NULL"));
        check(KeyType::Hash, KeyAttributeType::S, s(""), Some("Empty Violation: Expected: at least 1 byte Found: 0"));
        check(KeyType::Hash, KeyAttributeType::S, s(&"x".repeat(2048)), None);
        check(KeyType::Range, KeyAttributeType::S, s(&"x".repeat(1024)), None);
        let long = s(&"x".repeat(1025));
        check(KeyType::Range, KeyAttributeType::S, long, Some("Size Violation: Max Bytes Allowed: 1024 Found: 1025"));
        let bytes = AttributeValue::B(vec![7; 2049]);
        check(KeyType::Hash, KeyAttributeType::B, bytes, Some("Size Violation: Max Bytes Allowed: 2048 Found: 2049"));
        check(KeyType::Hash, KeyAttributeType::N, AttributeValue::N("0".parse().unwrap()), None);
    }
}
