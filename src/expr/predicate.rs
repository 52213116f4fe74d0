//! The tests that a condition is made of: comparators, BETWEEN, IN and the functions that are
//! conditions (docs/dynamodb.md 7.4). `condition` parses them, `evaluate` evaluates them, `order`
//! compares values.

use super::order::Comparator;
use crate::model::AttributeType;

/// A test of a condition's operands; the first operand is its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// Two operands.
    Compare(Comparator),
    /// An operand and its bounds, both included.
    Between,
    /// An operand and at least one other, one of which is equal to it.
    In,
    /// A document path.
    AttributeExists,
    /// A document path.
    AttributeNotExists,
    /// An operand and the name of a type.
    AttributeType,
    /// An operand and a prefix.
    BeginsWith,
    /// An operand and an element.
    Contains,
}

/// The predicates that are functions.
const FUNCTIONS: [Predicate; 5] = [
    Predicate::AttributeExists,
    Predicate::AttributeNotExists,
    Predicate::AttributeType,
    Predicate::BeginsWith,
    Predicate::Contains,
];

/// The function of conditions that is an operand and no condition.
pub(super) const SIZE: &str = "size";

/// Returns the names of the functions of conditions.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS
        .into_iter()
        .map(Predicate::as_str)
        .chain(std::iter::once(SIZE))
}

impl Predicate {
    /// Returns the comparator, keyword or name of the function.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compare(comparator) => comparator.sign(),
            Self::Between => "BETWEEN",
            Self::In => "IN",
            Self::AttributeExists => "attribute_exists",
            Self::AttributeNotExists => "attribute_not_exists",
            Self::AttributeType => "attribute_type",
            Self::BeginsWith => "begins_with",
            Self::Contains => "contains",
        }
    }

    /// Returns the condition as text, made of the texts of its operands.
    #[must_use]
    pub fn text(self, operands: &[String]) -> String {
        match (self, operands) {
            (Self::Compare(_), [left, right]) => format!("{left} {} {right}", self.as_str()),
            (Self::Between, [operand, bounds @ ..]) => {
                format!("{operand} BETWEEN {}", bounds.join(" AND "))
            }
            (Self::In, [operand, list @ ..]) => format!("{operand} IN ({})", list.join(", ")),
            _ => format!("{}({})", self.as_str(), operands.join(", ")),
        }
    }

    /// Returns the predicate of a function by its name. Names are case-sensitive.
    #[must_use]
    pub fn from_function(name: &str) -> Option<Self> {
        FUNCTIONS
            .into_iter()
            .find(|function| function.as_str() == name)
    }

    /// Returns the number of operands of a function.
    pub(super) fn operand_count(self) -> usize {
        if matches!(self, Self::AttributeExists | Self::AttributeNotExists) {
            1
        } else {
            2
        }
    }

    /// True if the predicate can have this number of operands.
    pub(super) fn has_count(self, count: usize) -> bool {
        match self {
            Self::Compare(_) => count == 2,
            Self::Between => count == 3,
            Self::In => count >= 2,
            Self::AttributeExists
            | Self::AttributeNotExists
            | Self::AttributeType
            | Self::BeginsWith
            | Self::Contains => count == self.operand_count(),
        }
    }

    /// True if the operand at this place may be of the type.
    pub(super) fn accepts(self, index: usize, operand_type: AttributeType) -> bool {
        match self {
            Self::Compare(Comparator::Equal | Comparator::NotEqual) | Self::In => true,
            Self::AttributeExists | Self::AttributeNotExists | Self::AttributeType => true,
            Self::Compare(_) | Self::Between => {
                matches!(
                    operand_type,
                    AttributeType::S | AttributeType::N | AttributeType::B
                )
            }
            Self::BeginsWith => matches!(operand_type, AttributeType::S | AttributeType::B),
            Self::Contains => {
                index > 0
                    || !matches!(
                        operand_type,
                        AttributeType::N
                            | AttributeType::Bool
                            | AttributeType::Null
                            | AttributeType::M
                    )
            }
        }
    }
}
