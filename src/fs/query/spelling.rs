//! Parses and shows values, attribute names, document paths and ranges of clauses; and finds the
//! known word nearest to a misspelt one, by edit distance. Values and names are percent-decoded
//! leniently, as names are at lookup (docs/filesystem.md 2); `+` is a plus.

use std::str::FromStr;

use super::clause_fault::ClauseFault;
use crate::codec::file_name;
use crate::expr::SortRange;
use crate::fs::prelude::*;
use crate::model::PathElement;

/// Decodes `text` as UTF-8; the result is never empty.
pub(super) fn decode_text(text: &str) -> Result<String, String> {
    match key_value(text, KeyAttributeType::S)? {
        AttributeValue::S(text) => Ok(text),
        other => {
            debug_assert!(false, "{other:?} is no text");
            Err("this is no text".to_owned())
        }
    }
}

/// Decodes `text` to a key value of this type.
pub(super) fn key_value(
    text: &str,
    attribute_type: KeyAttributeType,
) -> Result<AttributeValue, String> {
    if text.contains(file_name::ALIAS_MARK) {
        return Err("a shortened name (%~…) works only as the whole partition key".to_owned());
    }
    file_name::decode_value(text, attribute_type).map_err(|fault| fault.to_string())
}

/// Decodes `text` to a value of this key attribute.
pub(super) fn attribute_value(
    attribute: &KeyAttribute,
    text: &str,
) -> Result<AttributeValue, ClauseFault> {
    key_value(text, attribute.attribute_type)
        .map_err(|fault| ClauseFault::value(&attribute.name, fault))
}

/// Splits a clause into its word, or key with operator, and its value.
pub(super) fn split_clause(name: &str) -> (&str, Option<&str>) {
    name.split_once('=')
        .map_or((name, None), |(head, value)| (head, Some(value)))
}

/// Parses a number of decimal digits only, without a sign.
pub(super) fn whole_number<T: FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// Parses the paths of a `select=` clause, in order.
pub(super) fn document_paths(text: &str) -> Result<Vec<DocumentPath>, ClauseFault> {
    text.split(',').map(document_path).collect()
}

/// Parses one document path.
pub(super) fn document_path(text: &str) -> Result<DocumentPath, ClauseFault> {
    let hint = "paths are a, a.b, a[0], separated by ','; write . , [ in a name as %2E %2C %5B";
    let fault = || ClauseFault::new(format!("'{text}' is no document path"), hint);
    let mut path: Option<DocumentPath> = None;
    for step in text.split('.') {
        let (name, indexes) = split_indexes(step).ok_or_else(fault)?;
        let name = decode_text(name)
            .ok()
            .filter(|name| !name.is_empty())
            .ok_or_else(fault)?;
        let path = match &mut path {
            None => path.insert(DocumentPath::top_level(name)),
            Some(path) => {
                path.rest.push(PathElement::Name(name));
                path
            }
        };
        path.rest
            .extend(indexes.into_iter().map(PathElement::Index));
    }
    path.ok_or_else(fault)
}

/// Splits `a[0][1]` into `a` and 0, 1.
fn split_indexes(step: &str) -> Option<(&str, Vec<usize>)> {
    let Some(at) = step.find('[') else {
        return Some((step, Vec::new()));
    };
    let (name, brackets) = step.split_at(at);
    let inner = brackets.strip_prefix('[')?.strip_suffix(']')?;
    let indexes = inner
        .split("][")
        .map(whole_number)
        .collect::<Option<Vec<usize>>>()?;
    Some((name, indexes))
}

/// The maximum number of queries of one path. DynamoDB's own advice on write sharding goes to 200.
const SHARDS_MAX: u64 = 200;

/// Splits the two values of a `between` on this attribute.
pub(super) fn split_bounds<'t>(
    text: &'t str,
    attribute: &str,
) -> Result<[&'t str; 2], ClauseFault> {
    let parts: Vec<&str> = text.split(',').collect();
    parts.try_into().map_err(|_| {
        ClauseFault::new(
            format!("between on {attribute} takes two values, lower,upper"),
            "write a comma inside a value as %2C",
        )
    })
}

/// Returns the shards' values, in the order of their numbers. A first number with leading zeros
/// gives all of them its width.
pub(super) fn shard_values(
    attribute: &KeyAttribute,
    text: &str,
) -> Result<Vec<AttributeValue>, ClauseFault> {
    let fault = |message| {
        ClauseFault::new(
            message,
            "@pk.shards=121212-,1,5 queries 121212-1 to 121212-5; a comma in the prefix is %2C",
        )
    };
    let form = || {
        fault(format!(
            "shards are prefix,first,last with whole numbers, not '{text}'"
        ))
    };
    let parts: Vec<&str> = text.split(',').collect();
    let [prefix, first, last] = parts.as_slice() else {
        return Err(form());
    };
    let (Some(from), Some(to)) = (whole_number::<u64>(first), whole_number::<u64>(last)) else {
        return Err(form());
    };
    if from > to || to - from >= SHARDS_MAX {
        return Err(fault(format!(
            "shards are 1 to {SHARDS_MAX}, the first number not above the last"
        )));
    }
    let width = if first.starts_with('0') {
        first.len()
    } else {
        0
    };
    let parse = |number: u64| attribute_value(attribute, &format!("{prefix}{number:0width$}"));
    (from..=to).map(parse).collect()
}

/// Returns a document path as the clauses spell it, `a.b[0]`.
pub(super) fn show_path(path: &DocumentPath) -> String {
    path.to_text_with(str::to_owned)
}

/// Returns a condition on a key attribute as text, with these texts as its values.
pub(super) fn show_range(name: &str, range: &SortRange, values: &[String]) -> String {
    let operands: Vec<String> = std::iter::once(name.to_owned())
        .chain(values.iter().cloned())
        .collect();
    range.predicate().text(&operands)
}

/// Characters of a text that are compared: no misspelt word is longer.
const COMPARED_CHARS_MAX: usize = 64;

/// Similarity by Jaro and Winkler from which two words are near.
const NEAR_SIMILARITY: f64 = 0.8;

/// Returns the word of `words` that `text` was meant to be: of those that are near, the one with
/// the fewest edits, and the first of equals. A `=` at the end counts in neither.
#[must_use]
pub fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let text = text.trim_end_matches('=');
    let bare = |word: &'w str| word.trim_end_matches('=');
    words
        .into_iter()
        .filter(|word| is_misspelling(text, word) || is_similar(text, bare(word)))
        .min_by_key(|word| distance(text, bare(word)))
}

/// True if `head` looks like a misspelling of a word, without its `=`: one edit, two in words of
/// five characters or more.
pub(in crate::fs) fn is_misspelling(head: &str, word: &str) -> bool {
    let word = word.trim_end_matches('=');
    let allowed = if word.chars().count() < 5 { 1 } else { 2 };
    distance(head, word) <= allowed
}

/// True if two words have most of their characters in common, above all the first ones.
fn is_similar(a: &str, b: &str) -> bool {
    strsim::jaro_winkler(start(a), start(b)) >= NEAR_SIMILARITY
}

/// Returns the part of a text that is compared.
fn start(text: &str) -> &str {
    let end = text.char_indices().nth(COMPARED_CHARS_MAX);
    end.map_or(text, |(at, _)| &text[..at])
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(start(a), start(b))
}

#[cfg(test)]
mod value_tests {
    use super::*;

    fn check(text: &str, attribute_type: KeyAttributeType, expected: Result<AttributeValue, &str>) {
        let found = key_value(text, attribute_type).map_err(|fault| fault.to_string());
        assert_eq!(
            found,
            expected.map_err(str::to_owned),
            "{text} as {attribute_type:?}"
        );
    }

    fn s(text: &str) -> Result<AttributeValue, &'static str> {
        Ok(AttributeValue::S(text.to_owned()))
    }

    #[test]
    fn strings_are_percent_decoded_leniently() {
        use KeyAttributeType::S;
        check("u1", S, s("u1"));
        check("Comet%20Quest", S, s("Comet Quest"));
        check("Comet Quest", S, s("Comet Quest"));
        check("a=b,c#d", S, s("a=b,c#d"));
        check("a%2Cb", S, s("a,b"));
        check("a%2cb", S, s("a,b"));
        check("1+1", S, s("1+1"));
        check("caf%C3%A9 é", S, s("café é"));
        check("%00", S, s("\0"));
        check("", S, Err("a key value cannot be empty"));
        check(
            "100%",
            S,
            Err("two hexadecimal digits must follow '%'; write '%25' for the character itself"),
        );
        check(
            "100%2",
            S,
            Err("two hexadecimal digits must follow '%'; write '%25' for the character itself"),
        );
        check(
            "%zz",
            S,
            Err("two hexadecimal digits must follow '%'; write '%25' for the character itself"),
        );
        check("%FF", S, Err("the bytes of a string key are not UTF-8"));
        check(
            "abc%~",
            S,
            Err("a shortened name (%~…) works only as the whole partition key"),
        );
    }

    #[test]
    fn numbers_are_values_not_spellings() {
        use KeyAttributeType::N;
        let n = |text: &str| Ok(AttributeValue::N(text.parse().expect("a number")));
        check("42", N, n("42"));
        check("042.0", N, n("42"));
        check("1e3", N, n("1000"));
        check("-10", N, n("-10"));
        check("%2D10", N, n("-10"));
        check(
            "abc",
            N,
            Err("The parameter cannot be converted to a numeric value: abc"),
        );
        check("", N, Err("a key value cannot be empty"));
    }

    #[test]
    fn binaries_are_bytes() {
        use KeyAttributeType::B;
        check("%00%FFa", B, Ok(AttributeValue::B(vec![0, 0xFF, b'a'])));
        check("é", B, Ok(AttributeValue::B("é".as_bytes().to_vec())));
    }
}

#[cfg(test)]
mod select_tests {
    fn check(text: &str, expected: Option<&str>) {
        let shown = super::document_paths(text).ok().map(|paths| {
            paths
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        });
        assert_eq!(shown.as_deref(), expected, "{text}");
    }

    #[test]
    fn document_paths() {
        check("a", Some("[a]"));
        check("a,b", Some("[a] [b]"));
        check("a.b[0][12].c", Some("[a, b, [0], [12], c]"));
        check("a%2Eb,c%2Cd,e%5B0%5D", Some("[a.b] [c,d] [e[0]]"));
        check("Top Score", Some("[Top Score]"));
        for bad in [
            "", "a,", ",a", "a..b", ".a", "a.", "[0]", "a[]", "a[x]", "a[0", "a]0[", "a[+1]",
            "a[0]b", "%",
        ] {
            check(bad, None);
        }
    }
}

#[cfg(test)]
mod nearest_tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("limt", "limit", 1),
            ("lmiit", "limit", 1),
            ("", "ab", 2),
            ("dsc", "asc", 1),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_words_are_meant() {
        let words = ["desc", "limit=", "consistent", "pretty", "loud", "lt"];
        for (head, expected) in [
            ("limt", Some("limit=")),
            ("limt=", Some("limit=")),
            ("dsc", Some("desc")),
            ("descending", Some("desc")),
            ("consistant", Some("consistent")),
            ("consistent_read", Some("consistent")),
            ("prety", Some("pretty")),
            ("ltt", Some("lt")),
            ("status", None),
            ("bogus", None),
            ("throttle", None),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(nearest(head, words), expected, "{head}");
        }
        let long = "x".repeat(100_000);
        assert_eq!(nearest(&long, [&*long]), Some(&*long));
    }
}
