//! Time to live.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::time_to_live;

pub const OPERATIONS: &[Operation] =
    &[Operation::read("DescribeTimeToLive", describe), Operation::blocking("UpdateTimeToLive", update)];

fn describe(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let response = context.database.describe_time_to_live(time_to_live::describe_request(json)?)?;
    Ok(body(&time_to_live::describe_to_json(&response)))
}

fn update(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = time_to_live::update_request(json.root())?;
    drop(json);
    Ok(body(&time_to_live::update_to_json(&context.database.update_time_to_live(request)?)))
}
