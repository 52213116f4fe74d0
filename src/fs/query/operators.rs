//! The operators of clauses: faults and the help tell of them, the parsers know them.

use crate::expr::{SortRange, order::Comparator};
use crate::fs::prelude::*;

/// An operator on a sort attribute: `attribute.<word>=<value>`.
pub(super) struct KeyOperator {
    pub word: &'static str,
    pub value: &'static str,
    pub meaning: &'static str,
    pub range: Bounds,
}

pub(super) enum Bounds {
    One(Comparator, fn(AttributeValue) -> SortRange),
    Two,
    Prefix,
}

pub(super) const BEGINS: &str = "begins";

/// All but equality, which has no word.
pub(super) static KEY_OPERATORS: [KeyOperator; 6] = [
    KeyOperator::new("lt", "<value>", "is less than", Bounds::One(Comparator::Less, SortRange::Less)),
    KeyOperator::new("le", "<value>", "is at most", Bounds::One(Comparator::LessOrEqual, SortRange::LessOrEqual)),
    KeyOperator::new("gt", "<value>", "is greater than", Bounds::One(Comparator::Greater, SortRange::Greater)),
    KeyOperator::new("ge", "<value>", "is at least", Bounds::One(Comparator::GreaterOrEqual, SortRange::GreaterOrEqual)),
    KeyOperator::new("between", "<lower>,<upper>", "lies between, both included", Bounds::Two),
    KeyOperator::new(BEGINS, "<prefix>", "begins with", Bounds::Prefix),
];

impl KeyOperator {
    const fn new(word: &'static str, value: &'static str, meaning: &'static str, range: Bounds) -> Self {
        Self { word, value, meaning, range }
    }
}

/// Their words.
pub(super) fn key_operators() -> impl Iterator<Item = &'static str> {
    KEY_OPERATORS.iter().map(|operator| operator.word)
}

/// What an operator says of the path, or of its size.
#[derive(Clone, Copy)]
pub(super) enum Test {
    Compare(Comparator),
    Between,
    In,
    Begins,
    Contains,
    NotContains,
    /// A function of the path alone.
    Exists(&'static str),
    Type,
    Size(Comparator),
    SizeBetween,
}

/// Of a filter: `where.<path>.<operator>`.
pub(super) static FILTER_OPERATORS: [(&str, Test); 21] = [
    ("eq", Test::Compare(Comparator::Equal)),
    ("ne", Test::Compare(Comparator::NotEqual)),
    ("lt", Test::Compare(Comparator::Less)),
    ("le", Test::Compare(Comparator::LessOrEqual)),
    ("gt", Test::Compare(Comparator::Greater)),
    ("ge", Test::Compare(Comparator::GreaterOrEqual)),
    ("between", Test::Between),
    ("in", Test::In),
    ("begins", Test::Begins),
    ("contains", Test::Contains),
    ("ncontains", Test::NotContains),
    ("exists", Test::Exists("attribute_exists")),
    ("nexists", Test::Exists("attribute_not_exists")),
    ("type", Test::Type),
    ("size-eq", Test::Size(Comparator::Equal)),
    ("size-ne", Test::Size(Comparator::NotEqual)),
    ("size-lt", Test::Size(Comparator::Less)),
    ("size-le", Test::Size(Comparator::LessOrEqual)),
    ("size-gt", Test::Size(Comparator::Greater)),
    ("size-ge", Test::Size(Comparator::GreaterOrEqual)),
    ("size-between", Test::SizeBetween),
];

/// Their words.
pub(super) fn filter_operators() -> impl Iterator<Item = &'static str> {
    FILTER_OPERATORS.iter().map(|(word, _)| *word)
}
