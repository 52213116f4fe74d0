//! The comparison operators, and the order between values (docs/dynamodb.md 3.3): only strings,
//! numbers and binaries, each among themselves.

use std::cmp::Ordering;

use crate::model::AttributeValue;

/// A comparator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparator {
    /// Returns the sign as written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Returns the comparator with the same meaning when its operands are exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }

    /// True if the comparison holds. `None` is a missing operand.
    #[must_use]
    pub fn holds(self, left: Option<&AttributeValue>, right: Option<&AttributeValue>) -> bool {
        let ordered = |accept: fn(Ordering) -> bool| match (left, right) {
            (Some(left), Some(right)) => compare(left, right).is_some_and(accept),
            _ => false,
        };
        match self {
            Self::Equal => left.is_some() && left == right,
            // True for a missing operand, and for two of them.
            Self::NotEqual => left.is_none() || left != right,
            Self::Less => ordered(Ordering::is_lt),
            Self::LessOrEqual => ordered(Ordering::is_le),
            Self::Greater => ordered(Ordering::is_gt),
            Self::GreaterOrEqual => ordered(Ordering::is_ge),
        }
    }
}

/// Compares strings and binaries by unsigned bytes, numbers by value; `None` between anything else.
#[must_use]
pub fn compare(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::S(left), AttributeValue::S(right)) => {
            Some(left.as_bytes().cmp(right.as_bytes()))
        }
        (AttributeValue::N(left), AttributeValue::N(right)) => Some(left.cmp(right)),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// True if `value` begins with `prefix`. Strings and binaries only.
#[must_use]
pub fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix.as_str()),
        (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}
