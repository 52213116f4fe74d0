//! The operators of clauses, for the parsers, the faults and the help.

use crate::expr::{
    Predicate,
    order::Comparator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual},
};

/// An operator on a sort attribute: `attribute.<word>=<value>`.
pub(super) struct KeyOperator {
    pub word: &'static str,
    pub value: &'static str,
    pub meaning: &'static str,
    pub predicate: Predicate,
}

pub(super) const BEGINS: &str = "begins";

/// All key operators but equality, which has no word.
pub(super) static KEY_OPERATORS: [KeyOperator; 6] = [
    KeyOperator::new("lt", "<value>", "is less than", Predicate::Compare(Less)),
    KeyOperator::new(
        "le",
        "<value>",
        "is at most",
        Predicate::Compare(LessOrEqual),
    ),
    KeyOperator::new(
        "gt",
        "<value>",
        "is greater than",
        Predicate::Compare(Greater),
    ),
    KeyOperator::new(
        "ge",
        "<value>",
        "is at least",
        Predicate::Compare(GreaterOrEqual),
    ),
    KeyOperator::new(
        "between",
        "<lower>,<upper>",
        "lies between, both included",
        Predicate::Between,
    ),
    KeyOperator::new(BEGINS, "<prefix>", "begins with", Predicate::BeginsWith),
];

impl KeyOperator {
    const fn new(
        word: &'static str,
        value: &'static str,
        meaning: &'static str,
        predicate: Predicate,
    ) -> Self {
        Self {
            word,
            value,
            meaning,
            predicate,
        }
    }
}

/// Returns the words of the key operators.
pub(super) fn key_operators() -> impl Iterator<Item = &'static str> {
    KEY_OPERATORS.iter().map(|operator| operator.word)
}

/// The test that a filter's operator stands for.
#[derive(Clone, Copy)]
pub(super) enum Test {
    OfPath(Predicate),
    /// The negation of the predicate.
    Not(Predicate),
    OfSize(Predicate),
}

/// The operators of a filter clause: `where.<path>.<operator>`.
pub(super) static FILTER_OPERATORS: [(&str, Test); 21] = [
    ("eq", Test::OfPath(Predicate::Compare(Equal))),
    ("ne", Test::OfPath(Predicate::Compare(NotEqual))),
    ("lt", Test::OfPath(Predicate::Compare(Less))),
    ("le", Test::OfPath(Predicate::Compare(LessOrEqual))),
    ("gt", Test::OfPath(Predicate::Compare(Greater))),
    ("ge", Test::OfPath(Predicate::Compare(GreaterOrEqual))),
    ("between", Test::OfPath(Predicate::Between)),
    ("in", Test::OfPath(Predicate::In)),
    ("begins", Test::OfPath(Predicate::BeginsWith)),
    ("contains", Test::OfPath(Predicate::Contains)),
    ("ncontains", Test::Not(Predicate::Contains)),
    ("exists", Test::OfPath(Predicate::AttributeExists)),
    ("nexists", Test::OfPath(Predicate::AttributeNotExists)),
    ("type", Test::OfPath(Predicate::AttributeType)),
    ("size-eq", Test::OfSize(Predicate::Compare(Equal))),
    ("size-ne", Test::OfSize(Predicate::Compare(NotEqual))),
    ("size-lt", Test::OfSize(Predicate::Compare(Less))),
    ("size-le", Test::OfSize(Predicate::Compare(LessOrEqual))),
    ("size-gt", Test::OfSize(Predicate::Compare(Greater))),
    ("size-ge", Test::OfSize(Predicate::Compare(GreaterOrEqual))),
    ("size-between", Test::OfSize(Predicate::Between)),
];

/// Returns the words of the filter operators.
pub(super) fn filter_operators() -> impl Iterator<Item = &'static str> {
    FILTER_OPERATORS.iter().map(|(word, _)| *word)
}
