//! Plain JSON, the text of `X.json` (docs/filesystem.md 4), lossless both ways; and its merge patch
//! (RFC 7396), the text written to `X.patch`.
//!
//! ```text
//! S "text"   N 12.5   BOOL true   NULL null   L […]   M {…}
//! B {"$b64":"…"}   SS {"$ss":["…"]}   NS {"$ns":[1,2]}   BS {"$bs":["…"]}
//! M with one member whose name starts with $: {"$map":{…}}. The item itself is never wrapped.
//! ```
//!
//! In a patch `null` removes, an object is merged into a map, everything else replaces;
//! `{"$null":true}` stores NULL. Types are written as in plain JSON, and in a list `null` is NULL.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::dynamodb_json::{self, insert, list};
use super::json::reader::{JsonReader, error_at, read_document};
use super::json::write::{CountingSink, Delimiters, ItemWriter, Notation};
use crate::model::attribute_value::{Map, check_attribute_name};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{ApiEnum, AttributeType, AttributeValue, Item};

pub use super::json::{JsonError as PlainJsonError, JsonFault as PlainJsonFault};

/// The notation of plain JSON.
#[derive(Debug)]
pub struct PlainJson;

impl Notation for PlainJson {
    const ITEM: Delimiters = (b"{", b"}\n");
    const STRING: Delimiters = (b"\"", b"\"");
    const NUMBER: Delimiters = (b"", b"");
    const BINARY: Delimiters = (b"{\"$b64\":\"", b"\"}");
    const BOOLEAN: Delimiters = (b"", b"");
    const NULL: &'static [u8] = b"null";
    const LIST: Delimiters = (b"[", b"]");
    const MAP: Delimiters = (b"{", b"}");
    const TAG_LIKE_MAP: Delimiters = (b"{\"$map\":{", b"}}");
    const SETS: [&'static [u8]; 3] = [b"{\"$ss\":[", b"{\"$ns\":[", b"{\"$bs\":["];
    const SET_NUMBER: Delimiters = (b"", b"");
}

/// Appends the item's line: compact, the names of `first` first, then by name, newline.
pub fn write_line(item: &Item, first: &[&str], out: &mut Vec<u8>) {
    ItemWriter::<PlainJson, _>::new(out).item(item, first);
}

/// Returns the item's line without its newline.
#[must_use]
pub fn line(item: &Item, first: &[&str]) -> String {
    let mut line = Vec::new();
    write_line(item, first, &mut line);
    line.pop();
    text_of(line)
}

/// Returns a value as it stands in an item's line.
#[must_use]
pub fn value(value: &AttributeValue) -> String {
    let mut text = Vec::new();
    ItemWriter::<PlainJson, _>::new(&mut text).value(value);
    text_of(text)
}

/// Returns the writer's output as text: names and strings are UTF-8, all else is ASCII.
fn text_of(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap_or_else(|error| {
        debug_assert!(false, "{error}");
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

/// Returns the length of [`write_line`]'s output, newline included.
#[must_use]
pub fn line_len(item: &Item) -> usize {
    let mut count = CountingSink::default();
    ItemWriter::<PlainJson, _>::new(&mut count).item(item, &[]);
    count.0
}

/// Parses one JSON object, with white space around it allowed, into an item.
///
/// # Errors
/// [`PlainJsonError`] with the byte offset; [`PlainJsonFault::UnexpectedEnd`] exactly if the text
/// is good so far.
pub fn parse(text: &[u8]) -> Result<Item, PlainJsonError> {
    read_document(text, |reader| members(reader, 0).map(Item))
}

/// Parses the value of one attribute.
///
/// # Errors
/// As [`parse`].
pub fn parse_value(text: &[u8]) -> Result<AttributeValue, PlainJsonError> {
    // A number ends at the byte after it, and nothing follows here: a blank is added.
    let whole = [text, b" "].concat();
    read_document(&whole, |reader| read_value(reader, 1)).map_err(|error| match error.offset {
        offset if offset >= text.len() => PlainJsonError {
            offset: text.len(),
            fault: PlainJsonFault::UnexpectedEnd,
        },
        _ => error,
    })
}

/// True if the item has an attribute and every value is a map of one member that is named like a
/// type. Such a text was meant as `X.ddbjson`.
#[must_use]
pub fn looks_like_dynamodb_json(item: &Item) -> bool {
    let typed = |value: &AttributeValue| match value {
        AttributeValue::M(map) => {
            map.len() == 1 && map.keys().all(|name| AttributeType::parse(name).is_some())
        }
        _ => false,
    };
    !item.0.is_empty() && item.0.values().all(typed)
}

/// Reads the members of a map at `level`; the item is level 0.
fn members(reader: &mut JsonReader<'_>, level: usize) -> Result<Map, PlainJsonError> {
    let mut map = Map::new();
    reader.members("a JSON object", |reader, name, offset| {
        let value = read_value(reader, level + 1)?;
        insert(&mut map, name, value).map_err(|fault| error_at(offset, fault))
    })?;
    Ok(map)
}

fn read_value(reader: &mut JsonReader<'_>, level: usize) -> Result<AttributeValue, PlainJsonError> {
    // Before the depth check: a text that ends here is incomplete, not too deep.
    let first = reader.peek()?;
    if level > NESTING_LEVELS_MAX {
        return Err(reader.error(ValueError::Nesting));
    }
    Ok(match first {
        b'"' => AttributeValue::S(reader.string("a string")?.into_owned()),
        b'-' | b'0'..=b'9' => AttributeValue::N(reader.number()?),
        b'[' => {
            let mut list = Vec::new();
            reader.elements("a list", |reader| {
                list.push(read_value(reader, level + 1)?);
                Ok(())
            })?;
            AttributeValue::L(list)
        }
        b'{' => match reader.lone_tag()? {
            None => AttributeValue::M(members(reader, level)?),
            Some((tag, offset, place)) => {
                // The look-ahead has read the tag and stands before its value.
                *reader = place;
                let value = tagged(reader, level, &tag, offset)?;
                reader.expect(b'}', "'}'")?;
                value
            }
        },
        _ => match reader.literal("a JSON value")? {
            Some(value) => AttributeValue::Bool(value),
            None => AttributeValue::Null,
        },
    })
}

/// Reads the value of the lone member `tag`.
fn tagged(
    reader: &mut JsonReader<'_>,
    level: usize,
    tag: &str,
    tag_offset: usize,
) -> Result<AttributeValue, PlainJsonError> {
    let offset = reader.offset();
    let built = match tag {
        "$b64" => return reader.base64().map(AttributeValue::B),
        "$map" => return members(reader, level).map(AttributeValue::M),
        "$ss" => AttributeValue::string_set(list(reader, "a list of strings", |reader| {
            reader.string("a string").map(Cow::into_owned)
        })?),
        "$ns" => {
            AttributeValue::number_set(list(reader, "a list of numbers", |reader| {
                match reader.peek()? {
                    b'"' => reader.number_string(),
                    b'-' | b'0'..=b'9' => reader.number(),
                    _ => Err(reader.error(PlainJsonFault::Expected("a number"))),
                }
            })?)
        }
        "$bs" => AttributeValue::binary_set(list(
            reader,
            "a list of base64 strings",
            JsonReader::base64,
        )?),
        _ => {
            return Err(error_at(
                tag_offset,
                PlainJsonFault::UnknownTag(tag.to_owned()),
            ));
        }
    };
    built.map_err(|error| error_at(offset, error))
}

/// Parses the item of one line. It is DynamoDB JSON if every top-level value is a lone type tag, or
/// if only that form makes an item of it; else it is plain JSON.
///
/// # Errors
/// [`PlainJsonError`] of the form that reads further.
pub fn parse_line(line: &[u8]) -> Result<Item, PlainJsonError> {
    match parse(line) {
        Ok(item) if looks_like_dynamodb_json(&item) => dynamodb_json::parse(line),
        Ok(item) => Ok(item),
        // A typed item may be a bad plain one: it has twice the levels, and names such as `$x`. If
        // both readers fail, the one that came further was meant.
        Err(plain) => dynamodb_json::parse(line).map_err(|typed| {
            if typed.offset > plain.offset {
                typed
            } else {
                plain
            }
        }),
    }
}

/// The change of an attribute or map member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberPatch {
    Remove,
    Set(AttributeValue),
    /// Merges into the present map; anything else is first replaced by an empty map.
    Merge(BTreeMap<String, MemberPatch>),
}

/// The changes of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePatch(pub BTreeMap<String, MemberPatch>);

/// Parses one JSON object as a patch.
///
/// # Errors
/// As [`parse`].
pub fn parse_patch(text: &[u8]) -> Result<MergePatch, PlainJsonError> {
    read_document(text, |reader| patch_members(reader, 0).map(MergePatch))
}

impl MergePatch {
    /// Applies the patch to `item`.
    pub fn apply(&self, item: &mut Item) {
        apply(&self.0, &mut item.0);
    }

    /// True if every value is an object of one member that is named like a type. Such a text was
    /// meant as DynamoDB JSON.
    #[must_use]
    pub fn looks_like_dynamodb_json(&self) -> bool {
        let typed = |change: &MemberPatch| match change {
            MemberPatch::Merge(members) => {
                members.len() == 1
                    && members
                        .keys()
                        .all(|name| AttributeType::parse(name).is_some())
            }
            MemberPatch::Remove | MemberPatch::Set(_) => false,
        };
        !self.0.is_empty() && self.0.values().all(typed)
    }
}

fn apply(changes: &BTreeMap<String, MemberPatch>, map: &mut Map) {
    for (name, change) in changes {
        match change {
            MemberPatch::Remove => drop(map.remove(name)),
            MemberPatch::Set(value) => drop(map.insert(name.clone(), value.clone())),
            MemberPatch::Merge(members) => {
                let place = map.entry(name.clone()).or_insert(AttributeValue::Null);
                if !matches!(place, AttributeValue::M(_)) {
                    *place = AttributeValue::M(Map::new());
                }
                if let AttributeValue::M(inner) = place {
                    apply(members, inner);
                }
            }
        }
    }
}

fn patch_members(
    reader: &mut JsonReader<'_>,
    level: usize,
) -> Result<BTreeMap<String, MemberPatch>, PlainJsonError> {
    let mut map = BTreeMap::new();
    reader.members("a JSON object", |reader, name, offset| {
        let change = patch_value(reader, level + 1)?;
        check_attribute_name(&name).map_err(|fault| error_at(offset, fault))?;
        match map.entry(name.into_owned()) {
            Entry::Vacant(entry) => drop(entry.insert(change)),
            Entry::Occupied(entry) => {
                return Err(error_at(
                    offset,
                    PlainJsonFault::DuplicateMember(entry.key().clone()),
                ));
            }
        }
        Ok(())
    })?;
    Ok(map)
}

fn patch_value(reader: &mut JsonReader<'_>, level: usize) -> Result<MemberPatch, PlainJsonError> {
    match reader.peek()? {
        b'n' => reader.literal("a JSON value").map(|_| MemberPatch::Remove),
        b'{' if level > NESTING_LEVELS_MAX => Err(reader.error(ValueError::Nesting)),
        b'{' => {
            let Some((tag, offset, place)) = reader.lone_tag()? else {
                return patch_members(reader, level).map(MemberPatch::Merge);
            };
            *reader = place;
            let change = match &*tag {
                "$null" => null_tag(reader)?,
                "$map" => MemberPatch::Merge(patch_members(reader, level)?),
                _ => MemberPatch::Set(tagged(reader, level, &tag, offset)?),
            };
            reader.expect(b'}', "'}'")?;
            Ok(change)
        }
        _ => read_value(reader, level).map(MemberPatch::Set),
    }
}

fn null_tag(reader: &mut JsonReader<'_>) -> Result<MemberPatch, PlainJsonError> {
    let offset = reader.offset();
    match reader.literal("true")? {
        Some(true) => Ok(MemberPatch::Set(AttributeValue::Null)),
        _ => Err(error_at(offset, PlainJsonFault::Expected("true"))),
    }
}

#[cfg(test)]
#[path = "plain_json_tests.rs"]
mod tests;

#[cfg(test)]
mod patch_tests {
    use super::*;

    /// Applies the table of RFC 7396, appendix A, as far as both sides are objects; then the types.
    #[test]
    fn table_of_patches() {
        let check = |item: &str, patch: &str, expected: &str| {
            let mut patched = parse(item.as_bytes()).unwrap();
            let found = match parse_patch(patch.as_bytes()) {
                Ok(patch) => {
                    patch.apply(&mut patched);
                    let mut line = Vec::new();
                    write_line(&patched, &[], &mut line);
                    String::from_utf8(line).unwrap().trim_end().to_owned()
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{item} {patch}");
        };
        check(r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#);
        check(r#"{"a":"b"}"#, r#"{"a":null}"#, "{}");
        check(r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#);
        check(r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#);
        check(r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#);
        check(
            r#"{"a":{"b":"c"}}"#,
            r#"{"a":{"b":"d","c":null}}"#,
            r#"{"a":{"b":"d"}}"#,
        );
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#);
        check("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
        check(r#"{"a":1}"#, r#"{"a":{"$null":true}}"#, r#"{"a":null}"#);
        check(r#"{"a":1}"#, r#"{"a":[null]}"#, r#"{"a":[null]}"#);
        check(
            r#"{"a":1}"#,
            r#"{"a":{"$ss":["x"]},"b":{"$b64":"AQ=="}}"#,
            r#"{"a":{"$ss":["x"]},"b":{"$b64":"AQ=="}}"#,
        );
        check(
            r#"{"a":{"$map":{"$x":1}}}"#,
            r#"{"a":{"$map":{"$x":2}}}"#,
            r#"{"a":{"$map":{"$x":2}}}"#,
        );
        check(r#"{"a":{"x":1}}"#, r#"{"a":{}}"#, r#"{"a":{"x":1}}"#);
        check("{}", r#"{"a":{"$null":false}}"#, "expected true at byte 14");
        check(
            "{}",
            r#"{"a":1,"a":2}"#,
            "the member \"a\" is there twice at byte 7",
        );
        check(
            "{}",
            r#"{"a":{"$no":1}}"#,
            "\"$no\" is no type tag; a map with one such member is written {\"$map\":{…}} at byte 6",
        );
        check(
            "{}",
            r#"{"a":{"b":"#,
            "expected more: the text ends at byte 10",
        );
    }
}

#[cfg(test)]
mod line_tests {
    use super::*;

    /// Returns an item of that many levels: maps, and a text within.
    fn nested(levels: usize, text: &str) -> String {
        format!(
            r#"{{"a":{}{text}{}}}"#,
            r#"{"M":{"x":"#.repeat(levels - 1),
            "}}".repeat(levels - 1)
        )
    }

    #[test]
    fn typed_items_may_be_wrong_as_plain_ones() {
        for text in [
            nested(NESTING_LEVELS_MAX, r#"{"S":"b"}"#),
            r#"{"a":{"M":{"$x":{"N":"1"}}}}"#.to_owned(),
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
            assert_eq!(
                parse_line(text.as_bytes()),
                dynamodb_json::parse(text.as_bytes()),
                "{text}"
            );
            assert!(parse_line(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_fault_is_that_of_the_form_meant() {
        let check = |text: &str, expected: &PlainJsonFault| {
            assert_eq!(
                parse_line(text.as_bytes()).unwrap_err().fault,
                *expected,
                "{text}"
            )
        };
        check(
            r#"{"a":1,"b":{"$x":1}}"#,
            &PlainJsonFault::UnknownTag("$x".into()),
        );
        let text = nested(20, r#"{"X":"b"}"#);
        check(
            &text,
            &dynamodb_json::parse(text.as_bytes()).unwrap_err().fault,
        );
    }
}
