//! The operations of DynamoDB Streams: the engine has them all.

use super::LocalDatabase;
use crate::database::Streams;
use crate::model::Error;
use crate::model::api::{
    DescribeStreamRequest, DescribeStreamResponse, GetRecordsRequest, GetRecordsResponse, GetShardIteratorRequest,
    GetShardIteratorResponse, ListStreamsRequest, ListStreamsResponse,
};

impl Streams for LocalDatabase {
    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        self.engine.list_streams(&request)
    }

    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        self.engine.describe_stream(&request)
    }

    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        self.engine.get_shard_iterator(&request)
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.engine.get_records(&request)
    }
}
