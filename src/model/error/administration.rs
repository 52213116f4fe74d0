//! Errors of the administrative operations, which are neither on tables nor on items: tags,
//! policies, backups, recovery, export, import, streams, time to live, and families of operations
//! for features that do not exist here (docs/dynamodb.md 16, 17, 18, 20, 21).

use super::value::INVALID;

/// An error of tags or resource ARNs: ValidationException unless another is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error("Atleast one Tag needs to be provided as Input.")]
    NoTags,
    #[error("Atleast one Tag Key needs to be provided as Input.")]
    NoTagKeys,
    #[error("The Tag Key provided is invalid, Key: {0}")]
    TagKey(String),
    #[error("The Tag Value provided is invalid, Value: {0}")]
    TagValue(String),
    #[error("{INVALID}ARNs must start with 'arn:': {0}")]
    NotAnArn(String),
    /// An ARN of another account or service: AccessDeniedException.
    #[error("User: arn:aws:iam::{account}:root is not authorized to perform: dynamodb:{operation} on resource: {arn}", account = crate::model::arn::ACCOUNT)]
    Denied {
        operation: &'static str,
        arn: String,
    },
    #[error(
        "{INVALID}Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {0}"
    )]
    NotATable(String),
    #[error("Invalid TableArn: Invalid ResourceArn provided as input {0}")]
    OtherRegion(String),
    #[error("Policy document exceeds the maximum size of 20480 bytes")]
    PolicyTooLarge,
    #[error("The policy document is not valid JSON")]
    PolicyNotJson,
    #[error("Invalid NextToken")]
    NextToken,
}

/// An error of backups, recovery, export, import or policies; the exception stands with each
/// variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// TableNotFoundException.
    #[error("Table not found: {0}")]
    TableNotFound(String),
    /// TableAlreadyExistsException.
    #[error("Table already exists: {0}")]
    TableAlreadyExists(String),
    /// TableInUseException.
    #[error("Table is in use: {0}")]
    TableInUse(String),
    /// BackupNotFoundException.
    #[error("Backup not found: {0}")]
    BackupNotFound(String),
    /// BackupInUseException.
    #[error("Backup is in use: {0}")]
    BackupInUse(String),
    /// PointInTimeRecoveryUnavailableException.
    #[error("Point in time recovery is not enabled for table '{0}'")]
    RecoveryUnavailable(String),
    /// InvalidRestoreTimeException.
    #[error(
        "The RestoreDateTime must be between EarliestRestorableDateTime ({earliest}) and LatestRestorableDateTime ({latest})"
    )]
    RestoreTime { earliest: String, latest: String },
    /// InvalidExportTimeException.
    #[error(
        "The export time must be between EarliestRestorableDateTime ({earliest}) and LatestRestorableDateTime ({latest})"
    )]
    ExportTime { earliest: String, latest: String },
    /// ExportNotFoundException.
    #[error("Export not found: {0}")]
    ExportNotFound(String),
    /// ExportConflictException.
    #[error("Another export with the same ClientToken has other parameters")]
    ExportConflict,
    /// ImportNotFoundException.
    #[error("Import not found: {0}")]
    ImportNotFound(String),
    /// ImportConflictException.
    #[error("Another import with the same ClientToken has other parameters")]
    ImportConflict,
    /// PolicyNotFoundException.
    #[error("Resource-based policy not found for the provided ResourceArn: {0}")]
    PolicyNotFound(String),
    /// PolicyNotFoundException; `target` is `table T` or `stream ARN`.
    #[error(
        "Resource-based policy not found for the provided ResourceArn: Requested update for policy with revision id {expected}, but the policy associated to target {target} has revision id {there}."
    )]
    PolicyRevision {
        target: String,
        expected: String,
        there: String,
    },
    /// PolicyNotFoundException.
    #[error(
        "Resource-based policy not found for the provided ResourceArn: Requested policy update expecting none to be present for {target}, but a policy exists with revision id {there}."
    )]
    PolicyExists { target: String, there: String },
    /// PolicyNotFoundException; the sentence is not the service's.
    #[error(
        "Resource-based policy not found for the provided ResourceArn: Requested update for policy with revision id {expected}, but no policy is associated to target {target}."
    )]
    PolicyMissing { target: String, expected: String },
    /// GlobalTableNotFoundException.
    #[error("Global table with name: '{0}' does not exist.")]
    GlobalTableNotFound(String),
    /// ValidationException.
    #[error("Exactly one of RestoreDateTime and UseLatestRestorableTime must be given")]
    RestoreTimeChoice,
    /// ValidationException.
    #[error("Exactly one of SourceTableName and SourceTableArn must be given")]
    RestoreSourceChoice,
    /// ValidationException.
    #[error(
        "{INVALID}No index of the source table has the key schema and projection of index: {0}"
    )]
    OverrideIndex(String),
    /// ValidationException.
    #[error("{INVALID}{0}")]
    Parameter(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// ValidationException.
    #[error("Invalid StreamArn")]
    Arn,
    /// ValidationException.
    #[error("Invalid ShardIterator")]
    Iterator,
    /// ValidationException.
    #[error("Invalid SequenceNumber")]
    SequenceNumber,
    /// A missing member: ValidationException.
    #[error("{member} is required when ShardIteratorType is {iterator_type}")]
    MemberMissing {
        member: &'static str,
        iterator_type: &'static str,
    },
    /// A member that the iterator type does not take: ValidationException.
    #[error("{member} must not be specified when ShardIteratorType is {iterator_type}")]
    MemberUnwanted {
        member: &'static str,
        iterator_type: &'static str,
    },
    /// A member that `ShardFilter` lacks: ValidationException.
    #[error("ShardFilter requires Type and ShardId")]
    ShardFilter,
    /// An unknown ARN: ResourceNotFoundException.
    #[error("Requested resource not found: Stream: {0} not found")]
    NotFound(String),
    /// ResourceNotFoundException.
    #[error("Requested resource not found: Shard does not exist")]
    ShardNotFound,
    /// ExpiredIteratorException.
    #[error("The shard iterator has expired and can no longer be used to retrieve stream records.")]
    ExpiredIterator,
    /// TrimmedDataAccessException.
    #[error("The operation attempted to read past the oldest stream record in a shard.")]
    Trimmed,
}

/// An error of UpdateTimeToLive: ValidationException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeToLiveError {
    #[error("TimeToLive is already enabled")]
    AlreadyEnabled,
    #[error("TimeToLive is already disabled")]
    AlreadyDisabled,
    #[error("TimeToLive is active on a different AttributeName: current AttributeName is {0}")]
    OtherAttribute(String),
    #[error("Time to live has been modified multiple times within a fixed interval")]
    TooOften,
}
