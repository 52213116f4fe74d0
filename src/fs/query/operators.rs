//! The tables of operators (`eq`, `begins`, `between`), for the parsers of clauses, the faults and
//! the help.

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
pub(super) enum FilterTest {
    OfPath(Predicate),
    /// The negation of the predicate.
    Not(Predicate),
    OfSize(Predicate),
}

/// The operators of a filter clause: `where.<path>.<operator>`.
pub(super) static FILTER_OPERATORS: [(&str, FilterTest); 21] = [
    ("eq", FilterTest::OfPath(Predicate::Compare(Equal))),
    ("ne", FilterTest::OfPath(Predicate::Compare(NotEqual))),
    ("lt", FilterTest::OfPath(Predicate::Compare(Less))),
    ("le", FilterTest::OfPath(Predicate::Compare(LessOrEqual))),
    ("gt", FilterTest::OfPath(Predicate::Compare(Greater))),
    ("ge", FilterTest::OfPath(Predicate::Compare(GreaterOrEqual))),
    ("between", FilterTest::OfPath(Predicate::Between)),
    ("in", FilterTest::OfPath(Predicate::In)),
    ("begins", FilterTest::OfPath(Predicate::BeginsWith)),
    ("contains", FilterTest::OfPath(Predicate::Contains)),
    ("ncontains", FilterTest::Not(Predicate::Contains)),
    ("exists", FilterTest::OfPath(Predicate::AttributeExists)),
    ("nexists", FilterTest::OfPath(Predicate::AttributeNotExists)),
    ("type", FilterTest::OfPath(Predicate::AttributeType)),
    ("size-eq", FilterTest::OfSize(Predicate::Compare(Equal))),
    ("size-ne", FilterTest::OfSize(Predicate::Compare(NotEqual))),
    ("size-lt", FilterTest::OfSize(Predicate::Compare(Less))),
    (
        "size-le",
        FilterTest::OfSize(Predicate::Compare(LessOrEqual)),
    ),
    ("size-gt", FilterTest::OfSize(Predicate::Compare(Greater))),
    (
        "size-ge",
        FilterTest::OfSize(Predicate::Compare(GreaterOrEqual)),
    ),
    ("size-between", FilterTest::OfSize(Predicate::Between)),
];

/// Returns the words of the filter operators.
pub(super) fn filter_operators() -> impl Iterator<Item = &'static str> {
    FILTER_OPERATORS.iter().map(|(word, _)| *word)
}
