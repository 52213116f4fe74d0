//! DynamoDB Streams.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::Json;
use crate::codec::wire::{describe_stream, get_records, get_shard_iterator, list_streams};

pub const OPERATIONS: &[Operation] = &[
    Operation::read("GetRecords", records).long().of_streams(),
    Operation::read("GetShardIterator", iterator).of_streams(),
    Operation::read("DescribeStream", describe).of_streams(),
    Operation::read("ListStreams", list).of_streams(),
];

fn records(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.get_records(get_records::request(json)?)?;
    let mut out = Vec::new();
    get_records::response(&response, &mut out);
    Ok(out)
}

fn iterator(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.get_shard_iterator(get_shard_iterator::request(json)?)?;
    Ok(body(&get_shard_iterator::to_json(&response)))
}

fn describe(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.describe_stream(describe_stream::request(json)?)?;
    Ok(body(&describe_stream::to_json(&response)))
}

fn list(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.list_streams(list_streams::request(json)?)?;
    Ok(body(&list_streams::to_json(&response)))
}
