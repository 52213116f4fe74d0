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

/// The operators of a filter clause, `where.<path>.<operator>`, with what they test of the path;
/// [`NOT_CONTAINS`] that it does not. An operator that compares does so with the size as well, with
/// `size-` before the word.
static FILTER_OPERATORS: [(&str, Predicate); 14] = [
    ("eq", Predicate::Compare(Equal)),
    ("ne", Predicate::Compare(NotEqual)),
    ("lt", Predicate::Compare(Less)),
    ("le", Predicate::Compare(LessOrEqual)),
    ("gt", Predicate::Compare(Greater)),
    ("ge", Predicate::Compare(GreaterOrEqual)),
    ("between", Predicate::Between),
    ("in", Predicate::In),
    ("begins", Predicate::BeginsWith),
    ("contains", Predicate::Contains),
    (NOT_CONTAINS, Predicate::Contains),
    ("exists", Predicate::AttributeExists),
    ("nexists", Predicate::AttributeNotExists),
    ("type", Predicate::AttributeType),
];

const NOT_CONTAINS: &str = "ncontains";
const SIZE: &str = "size-";

/// Returns the test of a filter operator.
pub(super) fn filter_test(word: &str) -> Option<FilterTest> {
    let (name, is_size) = match word.strip_prefix(SIZE) {
        Some(name) => (name, true),
        None => (word, false),
    };
    let (_, predicate) = *FILTER_OPERATORS.iter().find(|(known, _)| *known == name)?;
    match predicate {
        predicate if is_size => compares(predicate).then_some(FilterTest::OfSize(predicate)),
        predicate if word == NOT_CONTAINS => Some(FilterTest::Not(predicate)),
        predicate => Some(FilterTest::OfPath(predicate)),
    }
}

fn compares(predicate: Predicate) -> bool {
    matches!(predicate, Predicate::Compare(_) | Predicate::Between)
}

/// Returns the words of the filter operators.
pub(super) fn filter_operators() -> Vec<String> {
    let sizes = FILTER_OPERATORS
        .iter()
        .filter(|(_, predicate)| compares(*predicate))
        .map(|(word, _)| format!("{SIZE}{word}"));
    let words = FILTER_OPERATORS.iter().map(|(word, _)| (*word).to_owned());
    words.chain(sizes).collect()
}
