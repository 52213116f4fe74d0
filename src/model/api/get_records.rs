//! GetRecords.

use super::streams::StreamRecord;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetRecordsRequest {
    /// From GetShardIterator or from the last GetRecords.
    pub shard_iterator: String,
    /// 1 to 1000; default 1000.
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GetRecordsResponse {
    pub records: Vec<StreamRecord>,
    /// `None` at the end of a closed shard.
    pub next_shard_iterator: Option<String>,
}
