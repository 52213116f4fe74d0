//! Which words may not stand as bare attribute names (docs/dynamodb.md 3.1).

use std::sync::LazyLock;

/// The words of the developer guide ("Reserved words in DynamoDB"), upper case, sorted by bytes for binary search.
static RESERVED_WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("reserved_words.txt").lines().collect());

/// Is `word` one of the 573 reserved words, in any case?
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    RESERVED_WORDS.binary_search(&upper.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_distinct() {
        assert_eq!(RESERVED_WORDS.len(), 573);
        assert!(RESERVED_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn every_word_is_found_in_any_case() {
        for word in RESERVED_WORDS.iter() {
            assert!(is_reserved(word), "{word}");
            assert!(is_reserved(&word.to_ascii_lowercase()), "{word}");
        }
        assert!(is_reserved("Status"));
    }

    #[test]
    fn other_words_are_free() {
        for word in ["", "pk", "GameTitle", "STATUSX", "TopScore"] {
            assert!(!is_reserved(word), "{word}");
        }
    }
}
