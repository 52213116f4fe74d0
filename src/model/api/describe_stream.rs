//! DescribeStream.

use super::create_table::KeySchemaElement;
use super::streams::{SequenceNumber, StreamName};
use crate::model::settings::StreamViewType;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeStreamRequest {
    pub stream: StreamName,
    /// 1 to 100; default 100.
    pub limit: Option<u32>,
    /// Shards after this one.
    pub exclusive_start_shard_id: Option<String>,
    /// `ShardFilter` of type `CHILD_SHARDS`: only the children of this shard.
    pub children_of: Option<String>,
}

/// The other two of the API are passed within a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamStatus {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeStreamResponse {
    pub stream: StreamName,
    pub status: StreamStatus,
    pub view_type: StreamViewType,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// The table's, also after the table is gone.
    pub key_schema: Vec<KeySchemaElement>,
    pub shards: Vec<Shard>,
    /// Present exactly when more remain.
    pub last_evaluated_shard_id: Option<String>,
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    pub shard_id: String,
    /// The one that it goes on with, if that is still told of; ours have none.
    pub parent_shard_id: Option<String>,
    pub starting: SequenceNumber,
    /// `None` while it is open.
    pub ending: Option<SequenceNumber>,
}
