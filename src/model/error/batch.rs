//! Bad batches: too many requests, or one key twice (docs/dynamodb.md 14).

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
