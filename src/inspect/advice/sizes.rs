//! Rules on the sizes of items.

use super::facts::Facts;
use super::point::{Advice, Level};
use super::words::{bytes, item_stem, plural};
use crate::model::limits::{ITEM_BYTES_MAX, PAGE_BYTES_MAX, READ_UNIT_BYTES, WRITE_UNIT_BYTES};

/// With fewer items there is no usual size.
const ITEMS_MIN: u64 = 20;
/// An item of this many times the usual size, and at least so large, is an outlier, if at most so many percent are.
const OUTLIER_TIMES: u64 = 50;
const OUTLIER_BYTES_MIN: u64 = 16 * 1024;
const OUTLIERS_PERCENT_MAX: u64 = 5;
/// The part of what an item may have, in percent, from which the next growth may be refused.
const FULL_PERCENT: u64 = 85;

/// A few items much larger than the others.
pub fn outliers(facts: &Facts) -> Vec<Advice> {
    let (spread, largest) = (&facts.sizes.spread, facts.sizes.largest.first());
    let usual = spread.percentile(50);
    let least = (usual * OUTLIER_TIMES).max(OUTLIER_BYTES_MIN);
    let (count, Some((size, key))) = (spread.at_least(least), largest) else { return Vec::new() };
    let is_full = *size >= near_limit();
    if spread.count < ITEMS_MIN || count == 0 || count * 100 > spread.count * OUTLIERS_PERCENT_MAX || is_full {
        return Vec::new();
    }
    let stem = item_stem(&facts.description.schema.name, key);
    vec![Advice {
        level: Level::Hint,
        subject: format!("table {}", facts.description.schema.name),
        finding: format!(
            "The largest item, `{stem}.json`, has {}, half of the items {} or fewer; {} {} or more: {}.",
            bytes(*size),
            bytes(usual),
            format_args!("{} {}", plural(count, "item"), if count == 1 { "has" } else { "have" }),
            bytes(least),
            cost(*size)
        ),
        rule: "Every write and read of an item costs by its whole size, and so does every query that meets it: a page ends at 1 MB (G-49, G-60, P-23).",
        remedy: format!(
            "Keep what makes it large in an item of its own, or outside with its address in the item; `{stem}.meta` has its units, `find {}/items -size +{}k` the others.",
            facts.description.schema.name,
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

/// Items that can hardly grow.
pub fn near_full(facts: &Facts) -> Vec<Advice> {
    let count = facts.sizes.spread.at_least(near_limit());
    let Some((size, key)) = facts.sizes.largest.first().filter(|_| count > 0) else { return Vec::new() };
    let stem = item_stem(&facts.description.schema.name, key);
    vec![Advice {
        level: Level::Warning,
        subject: format!("table {}", facts.description.schema.name),
        finding: format!(
            "{} {} {} or more of the 400 KB that an item may have; the largest, `{stem}.json`, has {}: {}.",
            plural(count, "item"),
            if count == 1 { "has" } else { "have" },
            bytes(near_limit()),
            bytes(*size),
            cost(*size)
        ),
        rule: "An update that would make an item larger than 400 KB is refused, and a list or map that grows inside an item gets there (P-21, G-60).",
        remedy: format!(
            "Make each element of what grows an item of its own under the same partition key, or keep it outside; `{stem}.d/` has its attributes as files."
        ),
    }]
}
