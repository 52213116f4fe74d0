//! DynamoDB Streams: a service of its own in the API, with its own target prefix, served beside the tables it tells of.

use crate::model::Error;
use crate::model::api::{
    DescribeStreamRequest, DescribeStreamResponse, GetRecordsRequest, GetRecordsResponse, GetShardIteratorRequest,
    GetShardIteratorResponse, ListStreamsRequest, ListStreamsResponse,
};

/// The operations of DynamoDB Streams. All of them read.
pub trait Streams: Send + Sync {
    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error>;
    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error>;
    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error>;
    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error>;
}
