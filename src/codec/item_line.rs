//! A line of NDJSON that holds an item: plain JSON or DynamoDB JSON, told apart by what it says.

use super::json::JsonError;
use super::{dynamodb_json, plain_json};
use crate::model::Item;

/// One item of a line: DynamoDB JSON when every top-level value is a lone type tag or nothing else makes an item of it, else plain JSON.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn parse(line: &[u8]) -> Result<Item, JsonError> {
    match plain_json::parse(line) {
        Ok(item) if plain_json::looks_like_dynamodb_json(&item) => dynamodb_json::parse(line),
        Ok(item) => Ok(item),
        // Typed items may be wrong as plain ones: they have twice the levels, and names such as `$x`. Where both are wrong, the reader
        // that came further was the one meant.
        Err(plain) => dynamodb_json::parse(line).map_err(|typed| if typed.offset > plain.offset { typed } else { plain }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::JsonFault;
    use crate::model::limits::NESTING_LEVELS_MAX;

    /// An item of so many levels: maps, and a text within.
    fn nested(levels: usize, text: &str) -> String {
        format!(r#"{{"a":{}{text}{}}}"#, r#"{"M":{"x":"#.repeat(levels - 1), "}}".repeat(levels - 1))
    }

    #[test]
    fn typed_items_may_be_wrong_as_plain_ones() {
        for text in [nested(NESTING_LEVELS_MAX, r#"{"S":"b"}"#), r#"{"a":{"M":{"$x":{"N":"1"}}}}"#.to_owned()] {
            assert!(plain_json::parse(text.as_bytes()).is_err(), "{text}");
            assert_eq!(parse(text.as_bytes()), dynamodb_json::parse(text.as_bytes()), "{text}");
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_fault_is_that_of_the_form_meant() {
        let check = |text: &str, expected: &JsonFault| assert_eq!(parse(text.as_bytes()).unwrap_err().fault, *expected, "{text}");
        check(r#"{"a":1,"b":{"$x":1}}"#, &JsonFault::UnknownTag("$x".into()));
        let text = nested(20, r#"{"X":"b"}"#);
        check(&text, &dynamodb_json::parse(text.as_bytes()).unwrap_err().fault);
    }
}
