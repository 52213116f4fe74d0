//! Errors, one enum for each family; `Display` is DynamoDB's own text.
//!
//! An error is a value that names its cause. `protocol::error_body` makes an HTTP body of it and
//! `fs::error` an errno, by exhaustive matches; DynamoDB's name for it is in [`exception`].

use super::item::Item;

pub mod administration;
pub mod exception;
pub mod expression;
pub mod query;
pub mod remote;
pub mod statement;
pub mod table;
pub mod throttle;
pub mod transaction;
pub mod value;

pub use administration::{RecoveryError, ResourceError, StreamError, TimeToLiveError};
pub use exception::RequestParser;
pub use expression::{ExpressionError, LegacyError, UpdateError};
pub use query::{KeyError, QueryError};
pub use remote::{RemoteCause, RemoteError};
pub use statement::StatementError;
pub use table::{InUseError, LimitError, NotFoundError, SchemaError, UpdateTableError};
pub use throttle::{ThrottleCause, ThrottleLocation, Throttled};
pub use transaction::{BatchError, Cancellation, CancellationReason, TransactionError};
pub use value::{NumberError, ValueError};

/// The failure of an operation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A bad value or item: ValidationException.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A bad key, or a bad index key in an item: ValidationException.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A bad expression: ValidationException.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A bad CreateTable: ValidationException.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A bad parameter from before expressions: ValidationException.
    #[error(transparent)]
    Legacy(#[from] LegacyError),
    /// A bad combination in Query, Scan or GetItem: ValidationException.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// An update that does not fit the item: ValidationException.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// A bad request to a stream; the exception stands with each variant.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A bad UpdateTimeToLive: ValidationException.
    #[error(transparent)]
    TimeToLive(#[from] TimeToLiveError),
    /// A bad batch: ValidationException.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A bad transaction: ValidationException.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// TransactionCanceledException.
    #[error(transparent)]
    TransactionCanceled(#[from] Cancellation),
    /// A client request token that was used for another transaction: IdempotentParameterMismatchException.
    #[error(
        "DynamoDB rejected the request because you retried a request with a different payload but with an idempotent token that was already used."
    )]
    IdempotentParameterMismatch,
    /// A bad UpdateTable: ValidationException.
    #[error(transparent)]
    UpdateTable(#[from] UpdateTableError),
    /// LimitExceededException.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// ResourceInUseException.
    #[error(transparent)]
    InUse(#[from] InUseError),
    /// ResourceNotFoundException.
    #[error(transparent)]
    NotFound(#[from] NotFoundError),
    /// Bad tags or resource ARNs: ValidationException.
    #[error(transparent)]
    Resource(#[from] ResourceError),
    /// A bad PartiQL statement: ValidationException, or DuplicateItemException.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// An error of backups, recovery, export, import or policies, each with its own exception.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// A data operation on a table that does not exist or is not ready: ResourceNotFoundException.
    #[error("Requested resource not found")]
    ResourceNotFound,
    /// A control operation on a table that does not exist: ResourceNotFoundException.
    #[error("Requested resource not found: Table: {0} not found")]
    TableNotFound(String),
    /// ResourceInUseException.
    #[error("Table already exists: {0}")]
    TableAlreadyExists(String),
    /// ResourceInUseException.
    #[error("Attempt to change a resource which is still in use: Table is being deleted: {0}")]
    TableBeingDeleted(String),
    /// ValidationException.
    #[error(
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    )]
    DeletionProtected,
    /// ConditionalCheckFailedException, with the existing item if the request asks for it.
    #[error("The conditional request failed")]
    ConditionalCheckFailed { item: Option<Box<Item>> },
    /// A write that would exceed the limit of an item collection:
    /// ItemCollectionSizeLimitExceededException.
    #[error("Collection size exceeded.")]
    ItemCollectionSizeLimitExceeded,
    /// No capacity is left: ProvisionedThroughputExceededException, ThrottlingException, or
    /// RequestLimitExceeded for the account.
    #[error(transparent)]
    Throttled(Box<Throttled>),
    /// The values of the request's items would take too much memory: RequestLimitExceeded, as for a
    /// client with too many requests at once.
    #[error(
        "The items of this request have too many values to be in memory together; ask for fewer of them at once, or later."
    )]
    TooManyValues,
    /// A member or combination that this version does not serve: ValidationException with a plain
    /// sentence.
    #[error("{0} is not supported by this version of ddbfs")]
    NotSupported(&'static str),
    /// Something that another service cannot report or do, as a whole sentence:
    /// ValidationException.
    #[error("{0}")]
    Unavailable(&'static str),
    /// A write to a read-only mount: AccessDeniedException.
    #[error("this mount only reads; mount with -o rw to write (and see --max-wcu and --budget)")]
    ReadOnly,
    /// A request that would cost more than its budget; the text gives the cost and the remedy:
    /// LimitExceededException.
    #[error("{0}")]
    Budget(String),
    /// A failure of another service, or a service that cannot be reached: the exception that it
    /// named.
    #[error(transparent)]
    Remote(Box<RemoteError>),
    /// The calling process has a pending signal, and no longer waits for another service:
    /// InternalServerError.
    #[error("interrupted")]
    Interrupted,
    /// A failure of the store: InternalServerError.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        Self::Remote(Box::new(error))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full: the write changed nothing; reads and deletes still work.
    #[error("the disk is full; free some space and write again")]
    NoSpace,
    #[error("the store failed: {0}")]
    Io(String),
    /// Bytes on disk that this version cannot read.
    #[error("the store holds bytes that cannot be read: {0}")]
    Corrupt(&'static str),
    /// Bytes on disk that this version cannot read, with the table and the record.
    #[error("the store holds bytes that cannot be read: {0}")]
    CorruptRecord(String),
    /// Damage of the data file as a whole, which must not be used any more: the sentence.
    #[error("{0}")]
    Damaged(String),
    #[error("the data directory was written by a newer format, version {0}; use a newer ddbfs")]
    Format(u8),
    #[error("the store is read-only after an earlier failure; restart ddbfs")]
    ReadOnly,
    #[error("the store is shutting down")]
    Closed,
}

impl StoreError {
    /// True for bytes that no version can read, rather than a store that fails.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::CorruptRecord(_))
    }
}
