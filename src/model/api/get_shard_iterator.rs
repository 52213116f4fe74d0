//! GetShardIterator.

use super::streams::{SequenceNumber, StreamName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetShardIteratorRequest {
    pub stream: StreamName,
    pub shard_id: String,
    pub position: ShardPosition,
}

/// `ShardIteratorType` with what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardPosition {
    /// The oldest record that is kept.
    TrimHorizon,
    /// Behind the newest record.
    Latest,
    AtSequenceNumber(SequenceNumber),
    AfterSequenceNumber(SequenceNumber),
    /// The first record of this time or later, milliseconds since the epoch.
    AtTimestamp(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetShardIteratorResponse {
    /// Of the service's own making.
    pub shard_iterator: String,
}
