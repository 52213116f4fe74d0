//! The known word nearest to a misspelt one, by edit distance.

/// Longer texts are compared by their start; nobody misspells more.
const COMPARED_CHARS_MAX: usize = 64;

/// The word of `words` with the fewest edits from `text`; the first of equals. `None` when there are no words.
#[must_use]
pub fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    words.into_iter().min_by_key(|word| distance(text, word))
}

/// The word that `head`, without its `=`, looks like a misspelling of: one edit, two in words of five characters or more.
pub(in crate::fs) fn misspelt<'w>(head: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let close = |word: &&str| {
        let word = word.trim_end_matches('=');
        let allowed = if word.chars().count() < 5 { 1 } else { 2 };
        distance(head, word) <= allowed
    };
    words.into_iter().find(close)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let start = |text: &str| text.char_indices().nth(COMPARED_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    strsim::osa_distance(&a[..start(a)], &b[..start(b)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("limt", "limit", 1), ("lmiit", "limit", 1), ("", "ab", 2), ("dsc", "asc", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn short_words_forgive_one_edit_and_long_ones_two() {
        let words = ["desc", "limit=", "consistent"];
        for (head, expected) in [
            ("limt", Some("limit=")),
            ("lmt", Some("limit=")),
            ("dsc", Some("desc")),
            ("status", None),
            ("consistant", Some("consistent")),
            ("d", None),
        ] {
            assert_eq!(misspelt(head, words), expected, "{head}");
        }
    }
}
