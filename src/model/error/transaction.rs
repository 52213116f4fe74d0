//! Bad batches and transactions, and why a good transaction was cancelled (docs/dynamodb.md 14, 15).

use std::fmt;

use super::{Error, RemoteError, StatementError, Throttled, exception};
use crate::model::item::Item;

/// A transaction that is refused as a whole: ValidationException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    #[error("TransactItems can only contain one of Check, Put, Update or Delete")]
    OneAction,
    #[error("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")]
    NoAction,
    #[error("Transaction request cannot include multiple operations on one item")]
    SeveralOperations,
    #[error("Collection size of items exceeded the limit of 4 MB of a transaction")]
    TooLarge,
}

/// What one action had to do with the end of its transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum CancellationReason {
    /// Nothing was wrong with it.
    None,
    /// The existing item when it was asked for.
    ConditionalCheckFailed {
        item: Option<Box<Item>>,
    },
    ItemCollectionSizeLimitExceeded,
    /// Of a PartiQL INSERT: there is such an item.
    DuplicateItem,
    /// There was no capacity left for it.
    Throttled(Box<Throttled>),
    /// What another service said of it.
    Remote(Box<RemoteError>),
    /// What the operation alone would have failed with.
    ValidationError(Box<Error>),
}

impl CancellationReason {
    /// `Code`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::ConditionalCheckFailed { .. } => "ConditionalCheckFailed",
            Self::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
            Self::DuplicateItem => "DuplicateItem",
            Self::Throttled(throttled) if throttled.is_provisioned => {
                "ProvisionedThroughputExceeded"
            }
            Self::Throttled(_) => "ThrottlingError",
            Self::Remote(error) => exception::code(error.exception),
            Self::ValidationError(_) => "ValidationError",
        }
    }

    /// `Message`.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::ConditionalCheckFailed { .. } => {
                Some(Error::ConditionalCheckFailed { item: None }.to_string())
            }
            Self::ItemCollectionSizeLimitExceeded => {
                Some(Error::ItemCollectionSizeLimitExceeded.to_string())
            }
            Self::DuplicateItem => Some(StatementError::Duplicate.to_string()),
            Self::Throttled(throttled) => Some(throttled.to_string()),
            Self::Remote(error) => Some(error.to_string()),
            Self::ValidationError(error) => Some(error.to_string()),
        }
    }

    /// `Item`.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Self::ConditionalCheckFailed { item } => item.as_deref(),
            Self::None
            | Self::ItemCollectionSizeLimitExceeded
            | Self::DuplicateItem
            | Self::Throttled(_)
            | Self::Remote(_)
            | Self::ValidationError(_) => None,
        }
    }
}

/// The reasons of a cancelled transaction, one for each action in order.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct Cancellation(pub Vec<CancellationReason>);

impl Cancellation {
    /// Among `count` actions, the one at `place` could not be carried out.
    #[must_use]
    pub fn invalid(count: usize, place: usize, error: Error) -> Self {
        let mut error = Some(Box::new(error));
        let reason = |at| if at == place { error.take() } else { None };
        let reasons = (0..count).map(reason).map(|error| {
            error.map_or(
                CancellationReason::None,
                CancellationReason::ValidationError,
            )
        });
        Self(reasons.collect())
    }
}

impl fmt::Display for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<&str> = self.0.iter().map(CancellationReason::code).collect();
        write!(
            f,
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No `RequestItems`, or empty ones, of BatchWriteItem.
    #[error("The requestItems parameter is required for {operation}")]
    RequestItemsMissing { operation: &'static str },
    /// No `RequestItems`, or empty ones, of BatchGetItem.
    #[error(
        "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )]
    NoRequestItems,
    /// Of one table of BatchGetItem; the table as it was named.
    #[error(
        "1 validation error detected: Value at 'RequestItems.{0}.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )]
    NoKeys(String),
    /// Over all tables.
    #[error("Too many items requested for the {operation} call")]
    TooManyItems { operation: &'static str },
    /// Of one table of BatchGetItem; the table as it was named. The capital letters are the service's own.
    #[error(
        "1 validation error detected: Value at 'RequestItems.{table}.member.Keys' failed to satisfy constraint: Member must have length less than or equal to {max}"
    )]
    TooManyKeys { table: String, max: usize },
    #[error("Provided list of item keys contains duplicates")]
    DuplicateKeys,
}
