//! DynamoDB's name for an error (docs/dynamodb.md 24): the one place, for all front ends.

use super::{Error, RecoveryError, ResourceError, StatementError, StreamError};

/// Of what a person can cause by a bad request.
pub const VALIDATION: &str = "ValidationException";
/// Of a failure that is not the request's.
pub const INTERNAL: &str = "InternalServerError";

const NOT_FOUND: &str = "ResourceNotFoundException";

impl Error {
    /// The exception's name as the API's model has it, without a namespace.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::ReadOnly | Self::Resource(ResourceError::Denied { .. }) => "AccessDeniedException",
            Self::Value(_)
            | Self::Key(_)
            | Self::Expression(_)
            | Self::Update(_)
            | Self::Legacy(_)
            | Self::Schema(_)
            | Self::Query(_)
            | Self::TimeToLive(_)
            | Self::Batch(_)
            | Self::Transaction(_)
            | Self::UpdateTable(_)
            | Self::Resource(_)
            | Self::DeletionProtected
            | Self::NotSupported(_)
            | Self::Unavailable(_) => VALIDATION,
            Self::Limit(_) | Self::Budget(_) => "LimitExceededException",
            Self::Statement(StatementError::Duplicate) => "DuplicateItemException",
            Self::Statement(_) => VALIDATION,
            Self::Recovery(error) => of_recovery(error),
            Self::ResourceNotFound | Self::TableNotFound(_) | Self::NotFound(_) => NOT_FOUND,
            Self::TableAlreadyExists(_) | Self::TableBeingDeleted(_) | Self::InUse(_) => "ResourceInUseException",
            Self::ConditionalCheckFailed { .. } => "ConditionalCheckFailedException",
            Self::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceededException",
            Self::Stream(error) => of_stream(error),
            Self::TransactionCanceled(_) => "TransactionCanceledException",
            Self::IdempotentParameterMismatch => "IdempotentParameterMismatchException",
            Self::Throttled(throttled) => throttled.exception(),
            Self::TooManyValues => "RequestLimitExceeded",
            Self::Remote(error) => error.exception,
            Self::Interrupted | Self::Store(_) => INTERNAL,
        }
    }
}

fn of_stream(error: &StreamError) -> &'static str {
    match error {
        StreamError::Arn
        | StreamError::Iterator
        | StreamError::SequenceNumber
        | StreamError::MemberMissing { .. }
        | StreamError::MemberUnwanted { .. }
        | StreamError::ShardFilter => VALIDATION,
        StreamError::NotFound(_) | StreamError::ShardNotFound => NOT_FOUND,
        StreamError::ExpiredIterator => "ExpiredIteratorException",
        StreamError::Trimmed => "TrimmedDataAccessException",
    }
}

fn of_recovery(error: &RecoveryError) -> &'static str {
    match error {
        RecoveryError::TableNotFound(_) => "TableNotFoundException",
        RecoveryError::TableAlreadyExists(_) => "TableAlreadyExistsException",
        RecoveryError::TableInUse(_) => "TableInUseException",
        RecoveryError::BackupNotFound(_) => "BackupNotFoundException",
        RecoveryError::BackupInUse(_) => "BackupInUseException",
        RecoveryError::RecoveryUnavailable(_) => "PointInTimeRecoveryUnavailableException",
        RecoveryError::RestoreTime { .. } => "InvalidRestoreTimeException",
        RecoveryError::ExportTime { .. } => "InvalidExportTimeException",
        RecoveryError::ExportNotFound(_) => "ExportNotFoundException",
        RecoveryError::ExportConflict => "ExportConflictException",
        RecoveryError::ImportNotFound(_) => "ImportNotFoundException",
        RecoveryError::ImportConflict => "ImportConflictException",
        RecoveryError::PolicyNotFound(_)
        | RecoveryError::PolicyRevision { .. }
        | RecoveryError::PolicyExists { .. }
        | RecoveryError::PolicyMissing { .. } => "PolicyNotFoundException",
        RecoveryError::GlobalTableNotFound(_) => "GlobalTableNotFoundException",
        RecoveryError::RestoreTimeChoice
        | RecoveryError::RestoreSourceChoice
        | RecoveryError::OverrideIndex(_)
        | RecoveryError::Parameter(_) => VALIDATION,
    }
}
