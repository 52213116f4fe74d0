//! The rule of advice on time to live: an attribute that looks like the time at which an item
//! expires while time to live is off; and the count of the items that turning it on deletes.

use super::facts::{TableFacts, WALKED_MAX};
use super::format::{Advice, AdviceCost, AdviceLevel};
use crate::codec::count::plural;
use crate::database::{Browse, SourceName};
use crate::inspect::sampling::records;
use crate::model::api::DescribeTimeToLiveRequest;
use crate::model::{AttributeValue, Error, Item, TableName};

const YEAR_SECONDS: f64 = 365.25 * 86_400.0;
/// An item that expired longer ago is not deleted (docs/dynamodb.md 16).
const PAST_YEARS: f64 = -5.0;
/// The future in which an expiry lies; a time in milliseconds does not.
const FUTURE_YEARS: f64 = 50.0;
/// The part of an attribute's values, in percent, that are such times.
const TIMES_PERCENT_MIN: usize = 90;
/// The maximum of names that are looked at.
const NAMES_MAX: usize = 1000;

/// An attribute that looks like an expiry while time to live is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleExpiry {
    attribute: String,
    /// Items that time to live would delete at once.
    over: u64,
}

/// Returns the number of items that time to live by this attribute deletes at once, among the first
/// [`WALKED_MAX`].
///
/// # Errors
/// Fails if the database fails.
pub fn items_over(
    database: &dyn Browse,
    table: &TableName,
    attribute: &str,
    now_ms: u64,
) -> Result<u64, Error> {
    let source = SourceName {
        table: table.clone(),
        index: None,
    };
    let mut over = 0;
    records(database, &source, None, WALKED_MAX, &mut |record| {
        let value = record.attribute(attribute)?;
        let is_over = value.is_some_and(|at| is_within(&at, now_ms, 0.0));
        over += u64::from(is_over);
        Ok(())
    })?;
    Ok(over)
}

/// Returns the attribute of a sample that looks like an expiry, if time to live is off.
pub fn find(
    database: &dyn Browse,
    table: &TableName,
    sample: &[Item],
    now_ms: u64,
) -> Result<Option<IdleExpiry>, Error> {
    let names = sample.iter().flat_map(|item| item.0.keys());
    let mut names = names.filter(|name| is_name(name)).take(NAMES_MAX);
    let are_times = |name: &&String| {
        let values: Vec<_> = sample.iter().filter_map(|item| item.get(name)).collect();
        let is_time = |value: &&&AttributeValue| is_within(value, now_ms, FUTURE_YEARS);
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

/// True for seconds since the epoch that are not yet this many years from now, nor long ago.
fn is_within(value: &AttributeValue, now_ms: u64, years: f64) -> bool {
    let AttributeValue::N(number) = value else {
        return false;
    };
    let seconds = number.to_string().parse().unwrap_or(f64::INFINITY);
    let from_now = (seconds - now_ms as f64 / 1e3) / YEAR_SECONDS;
    PAST_YEARS < from_now && from_now < years
}

/// True for `expiresAt`, `exp`, `sessionTTL`, `delete_at`: a shell takes each as it is.
fn is_name(name: &str) -> bool {
    let plain = name.to_ascii_lowercase().replace(['_', '-'], "");
    plain.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (plain.contains("expir")
            || name.ends_with("TTL")
            || ["ttl", "exp", "timetolive", "deleteat"].contains(&&*plain))
}

pub fn off(facts: &TableFacts) -> Vec<Advice> {
    let off = |IdleExpiry { attribute, over }: &IdleExpiry| Advice {
        level: AdviceLevel::Note,
        subject: facts.subject(None),
        finding: format!(
            "{attribute} looks like an expiry, and time to live is off: {over} of {} are over.",
            plural(facts.table.stats.entries, "item")
        ),
        cost: AdviceCost::default(),
        rule: "Time to live deletes items whose time is over, and takes no write units (docs/dynamodb.md 16).",
        remedy: format!(
            "`echo enable {attribute} > {}/ttl` turns it on and deletes {} at once.",
            facts.name(),
            plural(*over, "item")
        ),
    };
    facts.idle_expiry.iter().map(off).collect()
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
