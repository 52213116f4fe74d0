//! Rules of advice on the sizes of items, and on item collections that grow without end. Each rule
//! is a function from [`TableFacts`] to a list of [`Advice`].

use super::expiry::IdleExpiry;
use super::facts::{CollectionGrowth, DAY_MS, TableFacts};
use super::format::{Advice, AdviceCost, AdviceLevel, bytes, collection, day, item_stem, value};
use crate::codec::count::plural;
use crate::model::IndexKind;
use crate::model::limits::{ITEM_BYTES_MAX, PAGE_BYTES_MAX, READ_UNIT_BYTES, WRITE_UNIT_BYTES};

/// The minimum of items from which there is a usual size.
const ITEMS_MIN: u64 = 20;
/// An outlier has this many times the usual size, at least OUTLIER_BYTES_MIN, and at most
/// OUTLIERS_PERCENT_MAX of the items are one.
const OUTLIER_TIMES: u64 = 50;
const OUTLIER_BYTES_MIN: u64 = 16 * 1024;
const OUTLIERS_PERCENT_MAX: u64 = 5;
/// The part of the item limit, in percent, from which the next growth may be refused.
const FULL_PERCENT: u64 = 85;

/// Reports a few items much larger than the others.
pub fn outliers(facts: &TableFacts) -> Vec<Advice> {
    let (spread, largest) = (&facts.sizes.distribution, facts.sizes.largest.first());
    let usual = spread.percentile(50);
    let least = (usual * OUTLIER_TIMES).max(OUTLIER_BYTES_MIN);
    let (count, Some((size, key))) = (spread.at_least(least), largest) else {
        return Vec::new();
    };
    let is_full = *size >= near_limit();
    if spread.count < ITEMS_MIN
        || count == 0
        || count * 100 > spread.count * OUTLIERS_PERCENT_MAX
        || is_full
    {
        return Vec::new();
    }
    let stem = item_stem(facts.name(), key);
    vec![Advice {
        level: AdviceLevel::Hint,
        index: None,
        finding: format!(
            "The largest item, `{stem}.json`, has {}, half of the items {} or fewer; {} {} or more: {}.",
            bytes(*size),
            bytes(usual),
            format_args!(
                "{} {}",
                plural(count, "item"),
                if count == 1 { "has" } else { "have" }
            ),
            bytes(least),
            cost(*size)
        ),
        cost: AdviceCost::default().bytes(*size),
        rule: "Every write and read of an item costs by its whole size, and so does every query that meets it: a page ends at 1 MB (G-49, G-60, P-23).",
        remedy: format!(
            "Keep what makes it large in an item of its own, or outside with its address in the item. `{stem}.meta` has its units, `find {}/items -size +{}k` the others.",
            facts.name(),
            least / 1024
        ),
    }]
}

fn cost(size: u64) -> String {
    let page = (PAGE_BYTES_MAX as u64).div_ceil(size.max(1));
    format!(
        "a write costs {}, a consistent read {}, and a page of a query is full with {page} of such",
        plural(size.div_ceil(WRITE_UNIT_BYTES as u64), "unit"),
        size.div_ceil(READ_UNIT_BYTES as u64)
    )
}

fn near_limit() -> u64 {
    ITEM_BYTES_MAX as u64 * FULL_PERCENT / 100
}

/// Reports items that can hardly grow.
pub fn near_full(facts: &TableFacts) -> Vec<Advice> {
    let count = facts.sizes.distribution.at_least(near_limit());
    let Some((size, key)) = facts.sizes.largest.first().filter(|_| count > 0) else {
        return Vec::new();
    };
    let stem = item_stem(facts.name(), key);
    vec![Advice {
        level: AdviceLevel::Warning,
        index: None,
        finding: format!(
            "{} {} {} or more of the 400 KB that an item may have; the largest, `{stem}.json`, has {}: {}.",
            plural(count, "item"),
            if count == 1 { "has" } else { "have" },
            bytes(near_limit()),
            bytes(*size),
            cost(*size)
        ),
        cost: AdviceCost::default().bytes(*size),
        rule: "An update that would make an item larger than 400 KB is refused, and a list or map that grows inside an item gets there (P-21, G-60).",
        remedy: format!(
            "Make each element of what grows an item of its own under the same partition key, or keep it outside; `{stem}.d/` has its attributes as files."
        ),
    }]
}

/// The parts of the collection limit, in percent, from which action is needed; 8 of 10 GB
/// (docs/requirements.md L-41).
const PERCENT_WARNING: u64 = 80;
const PERCENT_HINT: u64 = 10;
/// The number of days until a collection is full from which action is needed.
const DAYS_WARNING: u64 = 30;
const DAYS_HINT: u64 = 365;

/// Reports collections of a table with local indexes that grow towards their limit.
pub fn unbounded_collections(facts: &TableFacts) -> Vec<Advice> {
    let Some(growth) = &facts.growth else {
        return Vec::new();
    };
    let days = growth
        .full_ms()
        .map(|full_ms| full_ms.saturating_sub(growth.now_ms) / DAY_MS);
    let level = match (growth.percent(), days) {
        (PERCENT_WARNING.., _) | (_, Some(..=DAYS_WARNING)) => AdviceLevel::Warning,
        (PERCENT_HINT.., _) | (_, Some(..=DAYS_HINT)) => AdviceLevel::Hint,
        _ => return Vec::new(),
    };
    let (schema, path) = (&facts.description.schema, path(facts, growth));
    vec![Advice {
        level,
        index: None,
        finding: fullest(facts, growth),
        cost: AdviceCost::default().bytes(growth.billed_bytes),
        rule: "With a local index an item collection stays in one partition and cannot pass its limit, 10 GB: what makes it larger is refused; warn at 8 GB (P-16, L-32, L-37, L-41, L-42).",
        remedy: format!(
            "Put a period of time into the partition key, or use a global index instead of the local one; `ddbfs archive` moves old items of `{path}` away, `{}/partitions/big.tsv` has the largest.",
            schema.name
        ),
    }]
}

fn path(facts: &TableFacts, growth: &CollectionGrowth) -> String {
    growth
        .partition
        .first()
        .map_or_else(String::new, |partition| collection(facts.name(), partition))
}

/// Returns the fullest collection and its pace.
pub fn fullest(facts: &TableFacts, growth: &CollectionGrowth) -> String {
    let locals = facts
        .description
        .schema
        .indexes_of(IndexKind::Local)
        .count() as u64;
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

fn pace(growth: &CollectionGrowth) -> String {
    let since = day(growth.since_ms);
    if growth.billed_bytes >= growth.bytes_max {
        return "It is full: every write that makes it larger is refused.".to_owned();
    }
    match (growth.bytes_a_day, growth.full_ms()) {
        (None, _) => format!(
            "All of it was written on {since} or after, too short ago to tell how fast it grows."
        ),
        (Some(bytes_a_day), Some(full_ms)) => {
            format!(
                "In the last week it grew by {} a day: full on {}. Its oldest item is of {since}.",
                bytes(bytes_a_day),
                day(full_ms)
            )
        }
        (Some(_), None) => {
            format!("Nothing was written to it in the last week; its oldest item is of {since}.")
        }
    }
}

/// Reports an attribute that looks like an expiry while time to live is off.
pub fn idle_expiry(facts: &TableFacts) -> Vec<Advice> {
    let off = |IdleExpiry { attribute, over }: &IdleExpiry| Advice {
        level: AdviceLevel::Note,
        index: None,
        finding: format!(
            "{attribute} looks like an expiry, and time to live is off: {over} of {} are over.",
            plural(facts.table.stats.entries, "item")
        ),
        cost: AdviceCost::default(),
        rule: "Time to live deletes items whose time is over, without write units (docs/dynamodb.md 16).",
        remedy: format!(
            "`echo enable {attribute} > {}/ttl` turns it on and deletes {} at once.",
            facts.name(),
            plural(*over, "item")
        ),
    };
    facts.idle_expiry.iter().map(off).collect()
}
