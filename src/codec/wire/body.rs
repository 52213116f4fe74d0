//! A request's body as JSON, by the one strict reader of the crate: a member given twice, half a surrogate pair, a byte order mark
//! are errors, and depth is bounded while reading.

use serde_json::{Map, Value};

use crate::codec::json::reader::{Reader, read_document};
use crate::codec::json::{JsonError, JsonFault};
use crate::model::error::ValueError;

/// Levels of brackets: two for each of an item's 32 levels, and some for the request around it.
const LEVELS_MAX: usize = 128;

/// Reads a body.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    read_document(text, |reader| value(reader, LEVELS_MAX))
}

fn value(reader: &mut Reader<'_>, levels: usize) -> Result<Value, JsonError> {
    let inner = levels.checked_sub(1).ok_or_else(|| reader.fault(ValueError::Nesting))?;
    match reader.peek()? {
        b'"' => Ok(Value::String(reader.string("a string")?.into_owned())),
        b'{' => {
            let mut map = Map::new();
            reader.members("an object", |reader, name, offset| {
                let value = value(reader, inner)?;
                match map.insert(name.clone().into_owned(), value) {
                    None => Ok(()),
                    Some(_) => Err(JsonError { offset, fault: JsonFault::DuplicateMember(name.into_owned()) }),
                }
            })?;
            Ok(Value::Object(map))
        }
        b'[' => {
            let mut list = Vec::new();
            reader.elements("a list", |reader| {
                list.push(value(reader, inner)?);
                Ok(())
            })?;
            Ok(Value::Array(list))
        }
        b'-' | b'0'..=b'9' => number(reader),
        _ => Ok(reader.literal("a JSON value")?.map_or(Value::Null, Value::Bool)),
    }
}

/// Numbers beyond a double are no numbers of the protocol: those of items are strings.
fn number(reader: &mut Reader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let text = reader.number_text()?;
    let number = serde_json::from_str(text).map_err(|_| JsonError { offset, fault: JsonFault::Expected("a number in range") })?;
    Ok(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fault, or what serde_json makes of the same text.
    fn check(text: &[u8], expected: Option<JsonFault>) {
        match expected {
            Some(fault) => assert_eq!(parse(text).map_err(|error| error.fault), Err(fault), "{text:?}"),
            None => assert_eq!(parse(text).unwrap(), serde_json::from_slice::<Value>(text).unwrap(), "{text:?}"),
        }
    }

    #[test]
    fn good_texts_are_read_as_any_reader_does() {
        let texts = [
            r#" {"a":[1,-2.5e3,0,true,false,null,"\u00e9\ud83d\ude00\n"],"b":{},"":{"a":{"a":1}}} "#,
            "[]",
            "18446744073709551615",
            r#""x""#,
            "null",
        ];
        texts.iter().for_each(|text| check(text.as_bytes(), None));
        check(format!("{}{}", "[".repeat(127), "]".repeat(127)).as_bytes(), None);
    }

    #[test]
    fn bad_texts_are_told_apart() {
        check(br#"{"a":1,"b":{"c":1,"c":2}}"#, Some(JsonFault::DuplicateMember("c".into())));
        check(br#"{"a":1,"\u0061":2}"#, Some(JsonFault::DuplicateMember("a".into())));
        check("\u{FEFF}{}".as_bytes(), Some(JsonFault::ByteOrderMark));
        check(b"{\"a\":\"\xff\"}", Some(JsonFault::NotUtf8));
        check(br#"{"a":"\ud800"}"#, Some(JsonFault::LoneSurrogate));
        check(b"", Some(JsonFault::UnexpectedEnd));
        check(b"{} {}", Some(JsonFault::TrailingData));
        check(b"[1e400]", Some(JsonFault::Expected("a number in range")));
        check(b"[01]", Some(JsonFault::Expected("',' or ']'")));
        check("[".repeat(1_000_000).as_bytes(), Some(ValueError::Nesting.into()));
    }
}
