//! The output of the rules of advice: one point of [`Advice`] with its level, and the text forms of
//! numbers, values and paths in it.

use crate::codec::item_files::rows::cell;
use crate::codec::sanitize::{WORD_CHARS_MAX, markdown};
use crate::codec::{calendar, count::plural, file_name};
use crate::database::EntryKey;
use crate::inspect::sampling::Distribution;
use crate::model::schema::KeyAttribute;
use crate::model::{AttributeValue, IndexName, TableName};

/// The importance of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdviceLevel {
    /// A cause of throttling, failure or a multiple of the cost under load.
    Warning,
    /// A cheaper or safer alternative.
    Hint,
    /// An observation.
    Note,
}

impl AdviceLevel {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Hint => "hint",
            Self::Note => "note",
        }
    }
}

/// One point of advice.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    pub level: AdviceLevel,
    /// `None`: the table itself.
    pub index: Option<IndexName>,
    /// A sentence or two with the numbers.
    pub finding: String,
    pub cost: AdviceCost,
    /// The rule, and its place in DynamoDB's documentation.
    pub rule: &'static str,
    /// The remedy. Paths are relative to the mount.
    pub remedy: String,
}

impl Advice {
    /// Compares by level, then by cost: the worse one first.
    #[must_use]
    pub fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.level
            .cmp(&other.level)
            .then(other.cost.compare(&self.cost))
    }

    /// Returns the names of the rule, `T-01`, which are between its last parentheses.
    #[must_use]
    pub fn rule_ids(&self) -> Vec<&'static str> {
        let ids = self.rule.rsplit_once('(').map_or("", |(_, ids)| ids);
        ids.trim_end_matches(['.', ')']).split(", ").collect()
    }
}

/// The damage that a fault does: by it points of one level are ranked, over all rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdviceCost {
    /// Throttle events a day.
    throttles: f64,
    /// The highest rate of one key, as a part of what a partition gives.
    of_limit: f64,
    /// A month, in the currency of the price table.
    money: f64,
    words: Vec<String>,
}

impl AdviceCost {
    /// Adds throttle events a day.
    pub fn throttles(mut self, events: u64) -> Self {
        self.throttles += events as f64;
        self.with(events > 0, || {
            format!("{} a day", plural(events, "throttle event"))
        })
    }

    /// Adds the rate of a key, as a part of what a partition gives.
    pub fn of_limit(mut self, part: f64, of: &str) -> Self {
        self.of_limit = part;
        self.with(true, || {
            format!(
                "{} of the {of} units a second that a partition gives",
                percent(part, 1.0)
            )
        })
    }

    /// Adds units a day.
    pub fn units(self, a_day: f64, kind: &str) -> Self {
        self.with(a_day > 0.0, || {
            format!("{} {kind} units a day", units(a_day))
        })
    }

    /// Adds items of a vector index that are not found.
    pub fn unfound(self, missing: u64) -> Self {
        self.with(missing > 0, || {
            format!("{} that no search finds", plural(missing, "item"))
        })
    }

    /// Adds stored bytes.
    pub fn bytes(self, stored: u64) -> Self {
        self.with(stored > 0, || bytes(stored))
    }

    /// Adds money a month; less than a cent is not told.
    pub fn money(mut self, a_month: f64, currency: &str) -> Self {
        self.money += a_month;
        self.with(a_month >= 0.005, || {
            format!("{a_month:.2} {currency} a month")
        })
    }

    fn with(mut self, is_told: bool, words: impl FnOnce() -> String) -> Self {
        self.words.extend(is_told.then(words));
        self
    }

    /// Returns the cost in words; empty if the finding has no number of its own.
    #[must_use]
    pub fn text(&self) -> String {
        self.words.join(", ")
    }

    /// Returns the cost with its numbers.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "text": self.text(),
            "throttle_events_a_day": self.throttles,
            "part_of_limit": self.of_limit,
            "money_a_month": self.money,
        })
    }

    /// Compares by damage: requests that fail, then keys beyond a limit, then money.
    pub fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let beyond = |cost: &Self| {
            if cost.of_limit < 1.0 {
                0.0
            } else {
                cost.of_limit
            }
        };
        self.throttles
            .total_cmp(&other.throttles)
            .then(beyond(self).total_cmp(&beyond(other)))
            .then(self.money.total_cmp(&other.money))
            .then(self.of_limit.total_cmp(&other.of_limit))
    }
}

/// The maximum of characters shown of a value.
const VALUE_CHARS_MAX: usize = 60;
const DATE_BYTES: usize = "2026-01-02".len();

/// Returns the first paragraph on an incomplete table.
pub fn incomplete_note(unfinished: &Option<String>) -> String {
    unfinished
        .as_ref()
        .map_or_else(String::new, |lacking| format!("**{lacking}.**\n\n"))
}

/// Returns what advice is about: `table Orders`, `index by-status`.
#[must_use]
pub fn subject(table: &TableName, index: Option<&IndexName>) -> String {
    index.map_or_else(
        || format!("table {table}"),
        |index| format!("index {index}"),
    )
}

/// Formats bytes: `120 bytes`, `2.5 KB`, `10 GB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    let Some(power) = (bytes.checked_ilog2().unwrap_or(0) / 10).checked_sub(1) else {
        return plural(bytes, "byte");
    };
    let place = usize::try_from(power)
        .unwrap_or(usize::MAX)
        .min(units.len() - 1);
    let unit = (0..=place).fold(1.0, |unit, _| unit * 1024.0);
    let amount = format!("{:.1}", bytes as f64 / unit);
    format!("{} {}", amount.trim_end_matches(".0"), units[place])
}

/// Formats a share: `62 %`; a small one as `0.4 %`, and nearly all as `99.7 %`.
pub fn percent(part: f64, whole: f64) -> String {
    let percent = if whole > 0.0 {
        part * 100.0 / whole
    } else {
        0.0
    };
    let is_fine = percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0;
    if percent > 0.0 && percent < 0.1 {
        return "below 0.1 %".to_owned();
    }
    if is_fine {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Formats units, with a decimal below 10.
pub fn units(units: f64) -> String {
    if units < 10.0 && units.fract() != 0.0 {
        format!("{units:.1}")
    } else {
        format!("{units:.0}")
    }
}

/// Formats key values in quotes; long ones are cut.
pub fn value(values: &[AttributeValue]) -> String {
    let text = values.iter().map(cell).collect::<Vec<_>>().join(" + ");
    format!("\"{}\"", markdown(&text, VALUE_CHARS_MAX))
}

/// Returns the names of attributes, joined by `between`.
pub fn names<'a>(attributes: impl IntoIterator<Item = &'a KeyAttribute>, between: &str) -> String {
    let names: Vec<String> = attributes
        .into_iter()
        .map(|attribute| markdown(&attribute.name, WORD_CHARS_MAX))
        .collect();
    names.join(between)
}

/// Formats a time as `2026-01-02`.
pub fn day(ms: u64) -> String {
    calendar::iso(ms).chars().take(DATE_BYTES).collect()
}

/// Formats a time as `2026-01-02T03:04Z`.
pub fn minute(ms: u64) -> String {
    let mut text = calendar::iso(ms);
    text.truncate("2026-01-02T03:04".len());
    text + "Z"
}

/// Returns a partition's name as in paths: `p04`.
pub fn partition(id: u32) -> String {
    format!("p{id:02}")
}

/// Describes the distribution of entries over values, or of bytes over items; never by a mean.
pub fn distribution(spread: &Distribution, noun: &str, amount: impl Fn(u64) -> String) -> String {
    let half = format!(
        "half of the {noun} have {} or fewer",
        amount(spread.percentile(50))
    );
    let largest = amount(spread.max());
    if spread.count < 100 {
        return format!(
            "{half}, the largest has {largest}, {} % of all",
            spread.percent_of_largest(0)
        );
    }
    let top = spread.percent_of_largest(1);
    format!(
        "{half}, 99 % have {} or fewer, the largest has {largest}; the largest 1 % have {top} % of all",
        amount(spread.percentile(99))
    )
}

/// Returns an item's path stem relative to the mount: `Orders/items/u1/o7`.
pub fn item_stem(table: &TableName, key: &EntryKey) -> String {
    let partition = &key.base.partition;
    match &key.base.sort {
        Some(sort) => format!(
            "{}/{}",
            collection(table, partition),
            file_name::item_stem(sort)
        ),
        None => format!("{table}/items/{}", file_name::hash_item_stem(partition)),
    }
}

/// Returns an item collection's directory relative to the mount.
pub fn collection(table: &TableName, partition: &AttributeValue) -> String {
    format!("{table}/items/{}", file_name::collection_name(&[partition]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_values() {
        let check = |found: String, expected: &str| assert_eq!(found, expected);
        check(bytes(0), "0 bytes");
        check(bytes(1023), "1023 bytes");
        check(bytes(2560), "2.5 KB");
        check(bytes(10 << 30), "10 GB");
        check(bytes(u64::MAX), "16777216 TB");
        check(percent(1.0, 300.0), "0.3 %");
        check(percent(2.0, 3.0), "67 %");
        check(percent(399.0, 400.0), "99.8 %");
        check(percent(1.0, 2000.0), "below 0.1 %");
        check(percent(0.0, 0.0), "0 %");
        check(units(0.5), "0.5");
        check(units(12.5), "12");
        check(
            value(&[AttributeValue::S("x".repeat(99))]),
            &format!("\"{}…\"", "x".repeat(60)),
        );
        check(minute(1_700_000_000_000), "2023-11-14T22:13Z");
        check(day(1_700_000_000_000), "2023-11-14");
    }
}
