//! Errors of batches and transactions, and the reasons of a cancelled transaction (docs/dynamodb.md
//! 14, 15).

use std::fmt;

use super::{Error, RemoteError, StatementError, Throttled, exception};
use crate::model::item::Item;

/// An error of a transaction as a whole: ValidationException.
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

/// The part of one action in a transaction's cancellation.
#[derive(Debug, Clone, PartialEq)]
pub enum CancellationReason {
    /// The action had no fault.
    None,
    /// The existing item, if the request asks for it.
    ConditionalCheckFailed {
        item: Option<Box<Item>>,
    },
    ItemCollectionSizeLimitExceeded,
    /// A PartiQL INSERT of an existing item.
    DuplicateItem,
    /// No capacity was left for the action.
    Throttled(Box<Throttled>),
    /// A failure that another service reported.
    Remote(Box<RemoteError>),
    /// The error that the operation alone would have returned.
    ValidationError(Box<Error>),
}

impl CancellationReason {
    /// Returns `Code`.
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

    /// Returns `Message`.
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

    /// Returns `Item`.
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
    /// Returns the cancellation of `count` actions of which the one at `index` failed.
    #[must_use]
    pub fn invalid(count: usize, index: usize, error: Error) -> Self {
        let mut error = Some(Box::new(error));
        let reason = |at| if at == index { error.take() } else { None };
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
    /// The name of a table of BatchGetItem, as sent.
    #[error(
        "1 validation error detected: Value at 'RequestItems.{0}.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )]
    NoKeys(String),
    /// Counted over all tables.
    #[error("Too many items requested for the {operation} call")]
    TooManyItems { operation: &'static str },
    /// The name of a table of BatchGetItem, as sent. The capital letters are the service's own.
    #[error(
        "1 validation error detected: Value at 'RequestItems.{table}.member.Keys' failed to satisfy constraint: Member must have length less than or equal to {max}"
    )]
    TooManyKeys { table: String, max: usize },
    #[error("Provided list of item keys contains duplicates")]
    DuplicateKeys,
}
