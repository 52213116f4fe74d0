//! Order between values (docs/dynamodb.md 3.3): only strings, numbers and binaries, each among themselves.

use std::cmp::Ordering;

use crate::model::AttributeValue;

/// Strings and binaries by unsigned bytes, numbers by value; `None` between anything else.
#[must_use]
pub fn compare(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (AttributeValue::N(left), AttributeValue::N(right)) => Some(left.cmp(right)),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Does `value` begin with `prefix`? Strings and binaries only.
#[must_use]
pub fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix.as_str()),
        (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}
