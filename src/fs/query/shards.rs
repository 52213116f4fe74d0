//! `@pk.shards=<prefix>,<first>,<last>`: the values of a write-sharded partition key, prefix and number.

use super::fault::ClauseFault;
use super::value::{self, whole_number};

use crate::fs::prelude::*;

/// Queries of one path. DynamoDB's own advice on write sharding goes to 200.
const SHARDS_MAX: u64 = 200;

/// The values, in the order of their numbers. A first number with leading zeros gives all of them its width.
pub(super) fn parse(attribute: &KeyAttribute, text: &str) -> Result<Vec<AttributeValue>, ClauseFault> {
    let form = || ClauseFault::ShardsForm { found: text.to_owned() };
    let parts: Vec<&str> = text.split(',').collect();
    let [prefix, first, last] = parts.as_slice() else { return Err(form()) };
    let (Some(from), Some(to)) = (whole_number::<u64>(first), whole_number::<u64>(last)) else { return Err(form()) };
    if from > to || to - from >= SHARDS_MAX {
        return Err(ClauseFault::ShardsCount { max: SHARDS_MAX });
    }
    let width = if first.starts_with('0') { first.len() } else { 0 };
    let parse = |number: u64| {
        let text = format!("{prefix}{number:0width$}");
        value::parse(&text, attribute.attribute_type)
            .map_err(|fault| ClauseFault::Value { attribute: attribute.name.clone(), fault })
    };
    (from..=to).map(parse).collect()
}
