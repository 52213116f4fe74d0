//! The facts on time to live: an attribute that looks like the time at which an item expires while
//! time to live is off, and the count of the items that turning it on deletes.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::database::{Browse, Collection, SourceName};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::expr::{KeyConditionShape, SortRange};
use crate::inspect::sampling::each_record;
use crate::model::api::DescribeTimeToLiveRequest;
use crate::model::limits::TTL_PAST_MS_MAX;
use crate::model::{AttributeValue, Error, Item, TableName, TableSchema};

/// The time from now in which an expiry lies; a time in milliseconds does not.
const FUTURE_MS: u64 = 10 * TTL_PAST_MS_MAX;
/// The part of an attribute's values, in percent, that are such times.
const TIMES_PERCENT_MIN: usize = 90;
/// The maximum of items that are counted.
const WALKED_MAX: u64 = 1_000_000;
/// The maximum of names that are looked at.
const NAMES_MAX: usize = 1000;

/// An attribute that looks like an expiry while time to live is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleExpiry {
    pub attribute: String,
    /// Items that time to live would delete at once.
    pub over: u64,
}

/// Returns the number of items that time to live by this attribute deletes at once, among the first
/// 1,000,000.
///
/// # Errors
/// Fails if the database fails.
pub fn items_over(
    database: &dyn Browse,
    table: &TableName,
    attribute: &str,
    now_ms: u64,
) -> Result<u64, Error> {
    let source = SourceName::from(table);
    let mut over = 0;
    each_record(database, &source, None, WALKED_MAX, &mut |record| {
        let value = record.attribute(attribute)?;
        let is_over = value.is_some_and(|at| is_within(&at, now_ms, 0));
        over += u64::from(is_over);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(over)
}

/// Returns the last items of collections: a sample has the first ones, and items that expire may
/// sort behind all others.
fn last_items(
    database: &dyn Browse,
    schema: &TableSchema,
    collections: &[Collection],
) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    let keys = collections.iter().filter_map(|of| of.partition.first());
    for key in keys.filter(|_| schema.key.sort.is_some()) {
        let equal = SortRange::Equal(key.clone());
        let name = schema.key.partition.name.clone();
        let request = ReadRequest {
            range: ReadRange::Query {
                condition: KeyConditionShape::new([(name, equal)]),
                forward: false,
            },
            limit: Some(1),
            ..ReadRequest::scan(schema.name.clone(), None)
        };
        let mut read = Ok(());
        database.peek_page(&request, &mut |row| {
            read = row.to_item().map(|item| items.push(item));
        })?;
        read?;
    }
    Ok(items)
}

/// Returns the attribute of a sample, or of the last items of the largest collections, that looks
/// like an expiry, if time to live is off.
pub fn find(
    database: &dyn Browse,
    schema: &TableSchema,
    sample: &[Item],
    largest: &[Collection],
    now_ms: u64,
) -> Result<Option<IdleExpiry>, Error> {
    let (table, last) = (&schema.name, last_items(database, schema, largest)?);
    let sample: Vec<&Item> = sample.iter().chain(&last).collect();
    let names = sample.iter().flat_map(|item| item.0.keys());
    let names = names.filter(|name| is_name(name)).take(NAMES_MAX);
    // Most items have the same: each is judged once.
    let mut seen = HashSet::new();
    let mut names = names.filter(|name| seen.insert(*name));
    let are_times = |name: &&String| {
        let values: Vec<_> = sample.iter().filter_map(|item| item.get(name)).collect();
        let is_time = |value: &&&AttributeValue| is_within(value, now_ms, FUTURE_MS);
        values.iter().filter(is_time).count() * 100 >= values.len() * TIMES_PERCENT_MIN
    };
    let Some(attribute) = names.find(are_times) else {
        return Ok(None);
    };
    let table_name = table.clone();
    let described = database.describe_time_to_live(DescribeTimeToLiveRequest { table_name })?;
    if described.attribute_name.is_some() {
        return Ok(None);
    }
    Ok(Some(IdleExpiry {
        attribute: attribute.clone(),
        over: items_over(database, table, attribute, now_ms)?,
    }))
}

/// True for seconds since the epoch that are less than this from now, and not too long ago for time
/// to live (docs/dynamodb.md 16).
fn is_within(value: &AttributeValue, now_ms: u64, future_ms: u64) -> bool {
    let AttributeValue::N(seconds) = value else {
        return false;
    };
    let ms = seconds.to_string().parse().unwrap_or(0.0) * 1e3;
    let [first, end] = [now_ms.saturating_sub(TTL_PAST_MS_MAX), now_ms + future_ms];
    ms > first as f64 && ms < end as f64
}

/// True for `expiresAt`, `exp`, `sessionTTL`, `delete_at`: a shell takes each as it is.
fn is_name(name: &str) -> bool {
    let plain = name.to_ascii_lowercase().replace(['_', '-'], "");
    plain.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (plain.contains("expir")
            || name.ends_with("TTL")
            || ["ttl", "exp", "timetolive", "deleteat"].contains(&&*plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_expiries() {
        for name in [
            "ttl",
            "TTL",
            "expiresAt",
            "expires_at",
            "expiry",
            "exp",
            "sessionTTL",
            "delete_at",
            "time-to-live",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "createdAt",
            "updated_at",
            "battle",
            "title",
            "export",
            "experience",
            "throttled",
            "at",
            "",
            "expires; rm -r x",
            "expires\n",
            "größe_ttl",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
