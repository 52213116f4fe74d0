//! A line of NDJSON that holds an item: plain JSON or DynamoDB JSON, told apart by what it says.

use super::json::JsonError;
use super::{dynamodb_json, plain_json};
use crate::model::Item;

/// One item of a line: DynamoDB JSON when every top-level value is a lone type tag, else plain JSON.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn parse(line: &[u8]) -> Result<Item, JsonError> {
    let item = plain_json::parse(line)?;
    // A typed value such as {"B":"…"} may not be fine as plain JSON and the other way round: the typed reader decides.
    if plain_json::looks_like_dynamodb_json(&item) { dynamodb_json::parse(line) } else { Ok(item) }
}
