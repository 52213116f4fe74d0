//! Rules on item collections that grow without end.

use super::facts::{DAY_MS, Facts, Growth};
use super::point::{Advice, Level};
use super::words::{bytes, collection, day, plural, value};
use crate::model::IndexKind;

/// The part of what a collection may have, in percent, from which one should act; 8 of 10 GB (docs/requirements.md L-41).
const PERCENT_WARNING: u64 = 80;
const PERCENT_HINT: u64 = 10;
/// Days until it is full.
const DAYS_WARNING: u64 = 30;
const DAYS_HINT: u64 = 365;

/// Collections of a table with local indexes cannot grow without end.
pub fn unbounded_collections(facts: &Facts) -> Vec<Advice> {
    let Some(growth) = &facts.growth else { return Vec::new() };
    let days = growth.full_ms().map(|full_ms| full_ms.saturating_sub(growth.now_ms) / DAY_MS);
    let level = match (growth.percent(), days) {
        (PERCENT_WARNING.., _) | (_, Some(..=DAYS_WARNING)) => Level::Warning,
        (PERCENT_HINT.., _) | (_, Some(..=DAYS_HINT)) => Level::Hint,
        _ => return Vec::new(),
    };
    let (schema, path) = (&facts.description.schema, path(facts, growth));
    vec![Advice {
        level,
        subject: format!("table {}", schema.name),
        finding: fullest(facts, growth),
        rule: "With a local index an item collection stays in one partition and cannot pass its limit, 10 GB: what makes it larger is refused; warn at 8 GB (P-16, L-32, L-37, L-41, L-42).",
        remedy: format!(
            "Put a period of time into the partition key, or use a global index instead of the local one; `ddbfs archive` moves old items of `{path}` away, `{}/partitions/big.tsv` has the largest.",
            schema.name
        ),
    }]
}

fn path(facts: &Facts, growth: &Growth) -> String {
    growth.partition.first().map_or_else(String::new, |partition| collection(&facts.description.schema.name, partition))
}

/// The fullest collection and its pace.
pub fn fullest(facts: &Facts, growth: &Growth) -> String {
    let locals = facts.description.schema.indexes_of(IndexKind::Local).count() as u64;
    format!(
        "Its fullest item collection, {} (`{}/`), has {} and {} with its {}: {} % of the {} that a collection may have here. {}",
        value(&growth.partition),
        path(facts, growth),
        plural(growth.items, "item"),
        bytes(growth.billed_bytes),
        plural(locals, "local index"),
        growth.percent(),
        bytes(growth.bytes_max),
        pace(growth)
    )
}

fn pace(growth: &Growth) -> String {
    let since = day(growth.since_ms);
    if growth.billed_bytes >= growth.bytes_max {
        return "It is full: every write that makes it larger is refused.".to_owned();
    }
    match (growth.bytes_a_day, growth.full_ms()) {
        (None, _) => format!("All of it was written on {since} or after, too short ago to tell how fast it grows."),
        (Some(bytes_a_day), Some(full_ms)) => {
            format!(
                "In the last week it grew by {} a day: full on {}. Its oldest item is of {since}.",
                bytes(bytes_a_day),
                day(full_ms)
            )
        }
        (Some(_), None) => format!("Nothing was written to it in the last week; its oldest item is of {since}."),
    }
}
