//! Evaluation of conditions against items (docs/dynamodb.md 7.5, 26), an interpreter that walks the
//! tree of a `condition`.
//!
//! It is two-valued: a missing operand makes a comparison false (`<>` true), and no content of an
//! item is an error. Values are borrowed from the item and the condition; only `size()` makes one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memmem;

use super::condition::{Condition, Operand};
use super::order::{Comparator, begins_with};
use super::predicate::Predicate;
use crate::model::{AttributeValue, DocumentPath, Item, Number, PathElement};

impl Condition {
    /// True if `item` meets the condition. An item that does not exist is an empty one. Only the
    /// attributes of [`Self::attribute_names`] are read.
    #[must_use]
    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Self::Test(predicate, operands) => predicate.holds(operands.len(), |place| {
                operands
                    .get(place)
                    .and_then(|operand| value_of(operand, item))
            }),
            Self::And(list) => {
                debug_assert!(!list.is_empty(), "an AND of nothing would always hold");
                list.iter().all(|condition| condition.holds(item))
            }
            Self::Or(list) => list.iter().any(|condition| condition.holds(item)),
            Self::Not(inner) => !inner.holds(item),
        }
    }

    /// Returns every document path of the condition, in the order written.
    #[must_use]
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        self.collect_paths(&mut paths);
        paths
    }

    /// Returns the top-level attributes that the condition reads.
    #[must_use]
    pub fn attribute_names(&self) -> BTreeSet<&str> {
        self.paths()
            .into_iter()
            .map(|path| path.head.as_str())
            .collect()
    }

    fn collect_paths<'c>(&'c self, paths: &mut Vec<&'c DocumentPath>) {
        match self {
            Self::Test(_, operands) => operands
                .iter()
                .for_each(|operand| operand.collect_paths(paths)),
            Self::And(list) | Self::Or(list) => list
                .iter()
                .for_each(|condition| condition.collect_paths(paths)),
            Self::Not(inner) => inner.collect_paths(paths),
        }
    }
}

impl Predicate {
    /// True if the test holds. `value` returns each of the operands by its place, `None` if it is
    /// missing.
    fn holds<'v>(
        self,
        operands: usize,
        value: impl Fn(usize) -> Option<Cow<'v, AttributeValue>>,
    ) -> bool {
        debug_assert!(self.has_count(operands), "{self:?} of {operands} operands");
        let compares = |comparator: Comparator, other| {
            comparator.holds(value(0).as_deref(), value(other).as_deref())
        };
        let both = |holds: fn(&AttributeValue, &AttributeValue) -> bool| {
            value(0)
                .zip(value(1))
                .is_some_and(|(first, second)| holds(&first, &second))
        };
        match self {
            Self::Compare(comparator) => compares(comparator, 1),
            Self::Between => {
                compares(Comparator::GreaterOrEqual, 1) && compares(Comparator::LessOrEqual, 2)
            }
            Self::In => value(0).is_some_and(|tested| {
                (1..operands).any(|other| value(other).as_ref() == Some(&tested))
            }),
            Self::AttributeExists => value(0).is_some(),
            Self::AttributeNotExists => value(0).is_none(),
            Self::AttributeType => both(
                |value, name| matches!(name, AttributeValue::S(name) if value.attribute_type().tag() == name),
            ),
            Self::BeginsWith => both(begins_with),
            Self::Contains => both(contains),
        }
    }

    /// True if the test holds for a value, with the further operands in `others`.
    #[must_use]
    pub fn holds_for(self, value: &AttributeValue, others: &[&AttributeValue]) -> bool {
        self.holds(1 + others.len(), |place| match place.checked_sub(1) {
            None => Some(Cow::Borrowed(value)),
            Some(other) => others.get(other).map(|other| Cow::Borrowed(*other)),
        })
    }
}

impl Operand {
    fn collect_paths<'c>(&'c self, paths: &mut Vec<&'c DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::Size(inner) => inner.collect_paths(paths),
            Self::Truth(condition) => condition.collect_paths(paths),
        }
    }
}

impl DocumentPath {
    /// Returns the value at the path; `None` if an attribute, a member or an element is missing, or
    /// a step goes into no container.
    #[must_use]
    pub fn resolve_in<'i>(&self, item: &'i Item) -> Option<&'i AttributeValue> {
        self.rest
            .iter()
            .try_fold(item.get(&self.head)?, |value, element| {
                match (value, element) {
                    (AttributeValue::M(map), PathElement::Name(name)) => map.get(name),
                    (AttributeValue::L(list), PathElement::Index(index)) => list.get(*index),
                    _ => None,
                }
            })
    }
}

fn value_of<'v>(operand: &'v Operand, item: &'v Item) -> Option<Cow<'v, AttributeValue>> {
    match operand {
        Operand::Path(path) => path.resolve_in(item).map(Cow::Borrowed),
        Operand::Value(value) => Some(Cow::Borrowed(value)),
        Operand::Size(inner) => {
            let size = size(value_of(inner, item)?.as_ref())?;
            Some(Cow::Owned(AttributeValue::N(Number::from_u64(size))))
        }
        Operand::Truth(condition) => Some(Cow::Owned(AttributeValue::Bool(condition.holds(item)))),
    }
}

/// Returns `size()`: UTF-16 code units of a string, as the service counts them; bytes of a binary;
/// elements of a set, list or map. Other types have none.
fn size(value: &AttributeValue) -> Option<u64> {
    let count = match value {
        AttributeValue::S(text) => text.encode_utf16().count(),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Ss(set) => set.len(),
        AttributeValue::Ns(set) => set.len(),
        AttributeValue::Bs(set) => set.len(),
        AttributeValue::L(list) => list.len(),
        AttributeValue::M(map) => map.len(),
        AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::Null => return None,
    };
    Some(count as u64)
}

/// True for a substring, a member of a set (of the set's scalar type), or an equal element of a
/// list.
fn contains(value: &AttributeValue, element: &AttributeValue) -> bool {
    match (value, element) {
        // By bytes: in UTF-8 no character begins within another.
        (AttributeValue::S(text), AttributeValue::S(part)) => {
            memmem::find(text.as_bytes(), part.as_bytes()).is_some()
        }
        (AttributeValue::B(bytes), AttributeValue::B(part)) => memmem::find(bytes, part).is_some(),
        // Sets are sorted where they are made.
        (AttributeValue::Ss(set), AttributeValue::S(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::Ns(set), AttributeValue::N(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::Bs(set), AttributeValue::B(member)) => set.binary_search(member).is_ok(),
        (AttributeValue::L(list), element) => list.contains(element),
        _ => false,
    }
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
