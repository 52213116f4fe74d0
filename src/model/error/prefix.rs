//! The prefix that PutItem, UpdateItem, DeleteItem and Query put before some families of validation errors (SEMANTICS 3.2, 27).
//!
//! Errors carry the bare text. Whoever knows the operation, `protocol::failure`, asks [`Error::takes_validation_prefix`] and prepends
//! [`VALIDATION_PREFIX`] on these four operations; GetItem, Scan and the control plane stay bare. Regions of the service differ;
//! this is the text of the 2026 captures.

use super::expression::ExpressionFault;
use super::{Error, ExpressionError, QueryError, ValueError};

/// Stands before the text of an error of these families.
pub const VALIDATION_PREFIX: &str = "1 validation error detected: ";

impl Error {
    /// Is this one of the prefixed families: empty or duplicate sets, `{NULL:false}`, bad numbers, syntax and size of expressions,
    /// redundant parentheses, equal operands, misuse and unused placeholders?
    #[must_use]
    pub fn takes_validation_prefix(&self) -> bool {
        match self {
            Self::Value(fault) => of_value(fault),
            Self::Expression(fault) => of_expression(fault),
            Self::Query(fault) => of_query(fault),
            Self::Key(_)
            | Self::Update(_)
            | Self::Legacy(_)
            | Self::Schema(_)
            | Self::Stream(_)
            | Self::TimeToLive(_)
            | Self::Batch(_)
            | Self::Transaction(_)
            | Self::TransactionCanceled(_)
            | Self::IdempotentParameterMismatch
            | Self::UpdateTable(_)
            | Self::Limit(_)
            | Self::InUse(_)
            | Self::NotFound(_)
            | Self::Resource(_)
            | Self::Recovery(_)
            | Self::Statement(_)
            | Self::ResourceNotFound
            | Self::TableNotFound(_)
            | Self::TableAlreadyExists(_)
            | Self::TableBeingDeleted(_)
            | Self::DeletionProtected
            | Self::ConditionalCheckFailed { .. }
            | Self::ItemCollectionSizeLimitExceeded
            | Self::NotSupported(_)
            | Self::Throttled(_)
            | Self::Store(_) => false,
        }
    }
}

/// `SpecificWithoutProjection` carries its prefix itself.
fn of_query(_: &QueryError) -> bool {
    false
}

fn of_value(fault: &ValueError) -> bool {
    match fault {
        ValueError::NullFalse
        | ValueError::EmptyStringSet
        | ValueError::EmptyNumberSet
        | ValueError::EmptyBinarySet
        | ValueError::DuplicateStrings(_)
        | ValueError::DuplicateBinaries(_)
        | ValueError::DuplicateNumbers
        | ValueError::Number(_) => true,
        ValueError::NoType
        | ValueError::SeveralTypes
        | ValueError::Nesting
        | ValueError::EmptyAttributeName
        | ValueError::AttributeNameTooLong
        | ValueError::NullInSet(_)
        | ValueError::ItemTooLarge => false,
    }
}

fn of_expression(error: &ExpressionError) -> bool {
    match error {
        ExpressionError::Invalid { parameter: _, fault } => matches!(
            fault,
            ExpressionFault::Empty
                | ExpressionFault::TooLong(_)
                | ExpressionFault::TooManyOperators(_)
                | ExpressionFault::Syntax { .. }
                | ExpressionFault::RedundantParentheses
                | ExpressionFault::SameOperand { .. }
        ),
        ExpressionError::InvalidName { alias: _, fault } | ExpressionError::InvalidValue { alias: _, fault } => of_value(fault),
        ExpressionError::Mixed { .. }
        | ExpressionError::NamesWithoutExpression
        | ExpressionError::ValuesWithoutExpression { .. }
        | ExpressionError::NamesEmpty
        | ExpressionError::ValuesEmpty
        | ExpressionError::NameKeySyntax(_)
        | ExpressionError::ValueKeySyntax(_)
        | ExpressionError::NamesUnused(_)
        | ExpressionError::ValuesUnused(_) => true,
        ExpressionError::ConditionCount
        | ExpressionError::KeyConditionNotSupported
        | ExpressionError::NotIndexable
        | ExpressionError::MissedKeyElement(_)
        | ExpressionError::ConditionType
        | ExpressionError::PlaceholdersTooLarge(_) => false,
    }
}
