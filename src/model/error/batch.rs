//! Bad batches (SEMANTICS 14).

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No `RequestItems`, or empty ones.
    #[error("The requestItems parameter is required for {operation}")]
    RequestItemsMissing { operation: &'static str },
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
