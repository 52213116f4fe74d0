//! Counts with their nouns, for sentences.

use std::borrow::Cow;

use crate::model::metrics::RequestCounts;

/// Returns the noun for a count: `item` for one, else `items`, `indexes`, `entries`.
#[must_use]
pub fn noun(count: u64, word: &str) -> Cow<'_, str> {
    match (count, word.strip_suffix('y')) {
        (1, _) => word.into(),
        // A vowel before the y: keys.
        (_, Some(stem)) if !stem.ends_with('e') => format!("{stem}ies").into(),
        _ if word.ends_with('x') => format!("{word}es").into(),
        _ => format!("{word}s").into(),
    }
}

/// Formats a count: `1 item`, `2 items`.
#[must_use]
pub fn plural(count: u64, word: &str) -> String {
    format!("{count} {}", noun(count, word))
}

/// Formats throttled requests beside their events: `2 of 9 requests throttled (30 throttle events)`.
#[must_use]
pub fn throttled(requests: &RequestCounts, events: u64) -> String {
    format!(
        "{} of {} throttled ({})",
        requests.throttled,
        plural(requests.requests, "request"),
        plural(events, "throttle event")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_counts() {
        for (count, word, expected) in [
            (1, "item", "1 item"),
            (0, "item", "0 items"),
            (1, "entry", "1 entry"),
            (0, "entry", "0 entries"),
            (2, "index", "2 indexes"),
            (2, "key", "2 keys"),
        ] {
            assert_eq!(plural(count, word), expected);
        }
        let sent = RequestCounts {
            requests: 9,
            throttled: 2,
        };
        let expected = "2 of 9 requests throttled (30 throttle events)";
        assert_eq!(throttled(&sent, 30), expected);
    }
}
