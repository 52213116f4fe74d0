//! Heuristics that classify samples of key values as times, generated ids or sequences, for the
//! rules on keys (`keys`).

use crate::codec::calendar;
use crate::codec::item_files::rows::cell;
use crate::inspect::shapes::class::{PartClass, class_of};
use crate::model::AttributeValue;

/// The maximum ratio of the range of numbers to their count at which they count as a sequence.
const SEQUENCE_GAPS_MAX: u128 = 10;
/// The part of the values, in percent, that must be alike.
const ALIKE_PERCENT: usize = 90;
const DAY_MS: u64 = 86_400_000;
/// Seconds since the epoch from 2001 to 2100: ten digits.
const EPOCH_SECONDS: std::ops::Range<u64> = 1_000_000_000..4_102_444_800;
/// The maximum distance between a time and that of its item's change for both to count as the same.
const SAME_TIME_MS: u64 = 2 * DAY_MS;
/// The maximum length of a history: a year is a hundredth of the times that seconds can be.
const HISTORY_MS_MAX: u64 = 365 * DAY_MS;
/// Parts of an attribute's name that mark a time.
const TIME_WORDS: [&str; 8] = [
    "time", "date", "day", "hour", "month", "epoch", "created", "updated",
];

/// The kind of times that key values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTimes {
    /// The length of one value's time: `date`, `minute`.
    pub unit: &'static str,
    /// True if many values lie in the future of their items' changes, as dates of appointments do:
    /// then writes do not go to the present one alone.
    pub is_ahead: bool,
}

/// Returns the kind of times that the values are; `None` if they are none. Each comes with the time
/// of its newest change, milliseconds since the epoch.
pub fn times(name: &str, values: &[(&AttributeValue, u64)]) -> Option<KeyTimes> {
    let name = name.to_ascii_lowercase();
    let is_named =
        TIME_WORDS.iter().any(|word| name.contains(word)) || name == "ts" || name.ends_with("_at");
    let texts: Vec<(String, u64)> = values
        .iter()
        .map(|(value, modified_ms)| (cell(value), *modified_ms))
        .collect();
    let start = common_prefix(&texts);
    let epochs = texts
        .iter()
        .filter_map(|(text, _)| epoch_ms(text.get(start..)?));
    let newest_ms = epochs.max().unwrap_or_default();
    let changed_ms = texts.iter().map(|(_, modified_ms)| *modified_ms).max();
    // Of a history that was loaded at once the newest time is near its changes.
    let is_history = changed_ms.is_some_and(|ms| ms.abs_diff(newest_ms) <= SAME_TIME_MS);
    let (mut found, mut ahead, mut unit) = (0, 0, "time");
    for (text, modified_ms) in &texts {
        let text = text.get(start..).unwrap_or_default();
        let epoch = epoch_ms(text).filter(|ms| {
            is_named
                || ms.abs_diff(*modified_ms) <= SAME_TIME_MS
                || is_history && newest_ms - ms <= HISTORY_MS_MAX
        });
        let tomorrow_ms = modified_ms.saturating_add(DAY_MS);
        let is_ahead = match epoch {
            Some(ms) => ms > tomorrow_ms,
            None if is_date(text) => {
                // Dates sort as their digits.
                let digits =
                    |text: &str| -> String { text.chars().filter(char::is_ascii_digit).collect() };
                let (date, tomorrow) = (digits(text), digits(&calendar::iso(tomorrow_ms)));
                date.as_str() > tomorrow.get(..date.len()).unwrap_or(&tomorrow)
            }
            None => continue,
        };
        found += 1;
        ahead += usize::from(is_ahead);
        unit = if epoch.is_some() {
            "time"
        } else {
            date_unit(text)
        };
    }
    let is_alike = found > 0 && found * 100 >= texts.len() * ALIKE_PERCENT;
    is_alike.then_some(KeyTimes {
        unit,
        is_ahead: ahead * 100 > found * (100 - ALIKE_PERCENT),
    })
}

/// Returns the length of time that a date of this form names.
fn date_unit(text: &str) -> &'static str {
    match text.len() {
        7 => "month",
        8 | 10 => "date",
        13 => "hour",
        16 => "minute",
        _ => "time",
    }
}

/// Returns the bytes of the common prefix, such as `LOG#`; 0 if there is none.
fn common_prefix(texts: &[(String, u64)]) -> usize {
    let end = |text: &str| text.rfind('#').map_or(0, |place| place + 1);
    let Some((first, _)) = texts.first() else {
        return 0;
    };
    let start = &first[..end(first)];
    if texts.iter().all(|(text, _)| text.starts_with(start)) {
        start.len()
    } else {
        0
    }
}

/// True for `2026-01`, with or without a day and a time, and for `20260102`.
fn is_date(text: &str) -> bool {
    use PartClass::{Date, DateTime, Day, Month};
    matches!(class_of(text), Some(Day | Date | Month | DateTime))
}

/// Parses seconds or milliseconds since the epoch; returns milliseconds.
fn epoch_ms(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    let is_seconds = EPOCH_SECONDS.contains(&number);
    let is_milliseconds = EPOCH_SECONDS.contains(&(number / 1000));
    is_seconds
        .then(|| number * 1000)
        .or_else(|| is_milliseconds.then_some(number))
}

/// Returns the generator of the values, if it was a database or a library: `a UUID`. The values are
/// a sample in hash order of `total`.
pub fn generator(values: &[&AttributeValue], total: u64) -> Option<&'static str> {
    let texts: Vec<String> = values.iter().map(|value| cell(value)).collect();
    let all = |is: fn(&str) -> bool| !texts.is_empty() && texts.iter().all(|text| is(text));
    if all(|text| class_of(text) == Some(PartClass::Uuid)) {
        return Some(if all(grows_with_time) {
            "a UUID that grows with time"
        } else {
            "a UUID"
        });
    }
    if all(|text| class_of(text) == Some(PartClass::Ulid)) {
        return Some("a ULID, which grows with time,");
    }
    if all(is_ksuid) {
        return Some("a KSUID, which grows with time,");
    }
    let numbers: Vec<u128> = texts
        .iter()
        .map(|text| text.parse().ok())
        .collect::<Option<_>>()?;
    let (min, max) = (numbers.iter().min()?, numbers.iter().max()?);
    // A sample in hash order is spread over all of the sequence.
    let dense = (max - min) / u128::from(total).max(numbers.len() as u128) < SEQUENCE_GAPS_MAX;
    dense.then_some("a sequence number")
}

/// True for a UUID of version 1, 6 or 7.
fn grows_with_time(uuid: &str) -> bool {
    matches!(uuid.as_bytes().get(14), Some(b'1' | b'6' | b'7'))
}

/// True for 27 characters of base 62, which in this decade begin with 1, 2 or 3.
fn is_ksuid(text: &str) -> bool {
    text.len() == 27
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.starts_with(['1', '2', '3'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    #[test]
    fn times_and_what_only_looks_like_them() {
        let modified_ms = 1_700_000_000_000;
        let check = |name: &str, texts: &[&str], expected: bool| {
            let values: Vec<AttributeValue> = texts.iter().map(|text| s(text)).collect();
            let values: Vec<_> = values.iter().map(|value| (value, modified_ms)).collect();
            assert_eq!(times(name, &values).is_some(), expected, "{name} {texts:?}");
        };
        check("pk", &["2026-01-02", "2026-12-31"], true);
        check("pk", &["2026-01", "2026-02"], true);
        check("pk", &["20260102"], true);
        check(
            "pk",
            &[
                "2015-09-15:17:24:31",
                "2015-09-15T17:24:31.000Z",
                "2015-09-15 17.24.31",
            ],
            true,
        );
        check("pk", &["LOG#2026-01-02", "LOG#2026-01-03"], true);
        check("pk", &["LOG#2026-01-02", "USER#2026-01-03"], false);
        check("pk", &["2026-01-02#3", "2026-01-02#4"], false);
        check("pk", &["2026-13-02"], false);
        check("pk", &["2026-01-02-invoice"], false);
        check("pk", &["20261302", "20260199"], false);
        check("pk", &["1699999999", "1699999000"], true);
        check("pk", &["1699999999123"], true);
        check("pk", &["1699999999", "1690000000", "1699000000"], true);
        check("pk", &["1699999999", "1590000000"], false);
        check("phone", &["1599999999", "1688888888"], false);
        check("created_at", &["1599999999", "1688888888"], true);
        check("pk", &["42"], false);
        check(
            "pk",
            &["1541815603606036480", "18446744073709551615"],
            false,
        );
        check("day", &["Monday"], false);
        check("day", &[], false);
    }

    #[test]
    fn times_have_a_length_and_may_lie_ahead() {
        // 2023-11-14T22:13:20Z
        let modified_ms = 1_700_000_000_000;
        let check = |text: &str, unit: &'static str, is_ahead: bool| {
            let found = times("pk", &[(&s(text), modified_ms)]);
            assert_eq!(found, Some(KeyTimes { unit, is_ahead }), "{text}");
        };
        check("2023-11", "month", false);
        check("2023-12", "month", true);
        check("2023-11-15", "date", false);
        check("20231116", "date", true);
        check("2023-11-14T22", "hour", false);
        check("2023-11-14T22:13", "minute", false);
        check("2024-01-01T00:00", "minute", true);
        check("1700000000", "time", false);
    }

    #[test]
    fn a_sequence_is_judged_by_all_of_its_values() {
        let values: Vec<AttributeValue> = (0..100).map(|n| s(&(n * 410).to_string())).collect();
        let values: Vec<&AttributeValue> = values.iter().collect();
        assert_eq!(generator(&values, 41_000), Some("a sequence number"));
        assert_eq!(generator(&values, 100), None);
    }

    #[test]
    fn generated_values() {
        let check = |texts: &[&str], expected: Option<&str>| {
            let values: Vec<AttributeValue> = texts.iter().map(|text| s(text)).collect();
            assert_eq!(
                generator(&values.iter().collect::<Vec<_>>(), 0),
                expected,
                "{texts:?}"
            );
        };
        check(&["6f1ed002-ab50-4e6a-9d35-4a1a0a9b7d11"], Some("a UUID"));
        check(
            &["018f1ed0-ab50-7e6a-9d35-4a1a0a9b7d11"],
            Some("a UUID that grows with time"),
        );
        check(
            &["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
            Some("a ULID, which grows with time,"),
        );
        check(
            &["2aMYhzHbOHaLbGmq3jxGc6fSwZZ"],
            Some("a KSUID, which grows with time,"),
        );
        check(
            &["1111111", "1111112", "1111113"],
            Some("a sequence number"),
        );
        check(&["49211234567", "33144556677", "15551234567"], None);
        check(&["a@example.com"], None);
        check(&[], None);
    }
}
