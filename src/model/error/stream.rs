//! Bad requests to DynamoDB Streams, and to the operations of time to live (docs/dynamodb.md 16, 17).

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
    /// The member is missing: ValidationException.
    #[error("{member} is required when ShardIteratorType is {iterator_type}")]
    MemberMissing { member: &'static str, iterator_type: &'static str },
    /// The member does not belong to the type: ValidationException.
    #[error("{member} must not be specified when ShardIteratorType is {iterator_type}")]
    MemberUnwanted { member: &'static str, iterator_type: &'static str },
    /// `ShardFilter` lacks a member: ValidationException.
    #[error("ShardFilter requires Type and ShardId")]
    ShardFilter,
    /// By its ARN: ResourceNotFoundException.
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

/// A change of a table's time to live that is refused: ValidationException.
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
