//! Conditions held against items (docs/dynamodb.md 7.5, 26).
//!
//! Two-valued: what is not there makes a comparison false (`<>` true), and no content of an item is an error. Values are borrowed
//! from the item and the condition; only `size()` makes one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memmem;

use super::condition::{Condition, Operand};
use super::order::{Comparator, begins_with};
use crate::model::{AttributeValue, DocumentPath, Item, Number, PathElement};

impl Condition {
    /// Does `item` meet the condition? An item that does not exist is an empty one. Only the attributes of
    /// [`Self::attribute_names`] are looked at.
    #[must_use]
    pub fn holds(&self, item: &Item) -> bool {
        match self {
            Self::Compare { left, comparator, right } => {
                comparator.holds(value_of(left, item).as_deref(), value_of(right, item).as_deref())
            }
            Self::Between { operand, lower, upper } => {
                let tested = value_of(operand, item);
                Comparator::GreaterOrEqual.holds(tested.as_deref(), value_of(lower, item).as_deref())
                    && Comparator::LessOrEqual.holds(tested.as_deref(), value_of(upper, item).as_deref())
            }
            Self::In { operand, list } => value_of(operand, item).is_some_and(|tested| {
                list.iter().any(|candidate| value_of(candidate, item).is_some_and(|candidate| candidate == tested))
            }),
            Self::AttributeExists(path) => path.resolve_in(item).is_some(),
            Self::AttributeNotExists(path) => path.resolve_in(item).is_none(),
            Self::AttributeType { operand, attribute_type } => {
                value_of(operand, item).is_some_and(|value| value.attribute_type() == *attribute_type)
            }
            Self::BeginsWith { operand, prefix } => {
                both(operand, prefix, item).is_some_and(|(value, prefix)| begins_with(&value, &prefix))
            }
            Self::Contains { operand, element } => {
                both(operand, element, item).is_some_and(|(value, element)| contains(&value, &element))
            }
            Self::And(list) => list.iter().all(|condition| condition.holds(item)),
            Self::Or(list) => list.iter().any(|condition| condition.holds(item)),
            Self::Not(inner) => !inner.holds(item),
        }
    }

    /// Every document path of the condition, in the order written.
    #[must_use]
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        self.collect_paths(&mut paths);
        paths
    }

    /// The top-level attributes that the condition looks at.
    #[must_use]
    pub fn attribute_names(&self) -> BTreeSet<&str> {
        self.paths().into_iter().map(|path| path.head.as_str()).collect()
    }

    fn collect_paths<'c>(&'c self, paths: &mut Vec<&'c DocumentPath>) {
        let mut of = |operands: &[&'c Operand]| operands.iter().for_each(|operand| operand.collect_paths(paths));
        match self {
            Self::Compare { left: one, right: other, .. }
            | Self::BeginsWith { operand: one, prefix: other }
            | Self::Contains { operand: one, element: other } => of(&[one, other]),
            Self::Between { operand, lower, upper } => of(&[operand, lower, upper]),
            Self::In { operand, list } => std::iter::once(operand).chain(list).for_each(|one| one.collect_paths(paths)),
            Self::AttributeExists(path) | Self::AttributeNotExists(path) => paths.push(path),
            Self::AttributeType { operand, .. } => operand.collect_paths(paths),
            Self::And(list) | Self::Or(list) => list.iter().for_each(|condition| condition.collect_paths(paths)),
            Self::Not(inner) => inner.collect_paths(paths),
        }
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
    /// The value at the path; `None` when an attribute, a member or an element is missing or a step goes into no container.
    #[must_use]
    pub fn resolve_in<'i>(&self, item: &'i Item) -> Option<&'i AttributeValue> {
        self.rest.iter().try_fold(item.get(&self.head)?, |value, element| match (value, element) {
            (AttributeValue::M(map), PathElement::Name(name)) => map.get(name),
            (AttributeValue::L(list), PathElement::Index(index)) => list.get(*index),
            _ => None,
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

/// Two operands, if both are there.
fn both<'v>(one: &'v Operand, other: &'v Operand, item: &'v Item) -> Option<(Cow<'v, AttributeValue>, Cow<'v, AttributeValue>)> {
    Some((value_of(one, item)?, value_of(other, item)?))
}

/// `size()`: of strings UTF-16 code units, as the service counts them; bytes of binaries; elements of sets, lists and maps; other
/// types have none.
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
    u64::try_from(count).ok()
}

/// A substring, a member of a set (of the set's scalar type), an equal element of a list.
fn contains(value: &AttributeValue, element: &AttributeValue) -> bool {
    match (value, element) {
        // By bytes: in UTF-8 no character begins within another.
        (AttributeValue::S(text), AttributeValue::S(part)) => memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
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
