//! DynamoDB JSON: `{"name":{"S":"…"}}`, the form of the wire and of `X.ddbjson`: its parser, and
//! its notation for the writer in `json::write`. `plain_json` is the other JSON form of items.

use std::borrow::Cow;
use std::collections::btree_map::Entry;

use super::json::reader::{JsonReader, error_at, read_document};
use super::json::write::{Delimiters, ItemWriter, Notation};
use super::json::{JsonError, JsonFault};
use crate::model::attribute_value::{Map, check_attribute_name};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{ApiEnum, AttributeType, AttributeValue, Item};

/// The notation of DynamoDB JSON.
#[derive(Debug)]
pub struct DynamodbJson;

impl Notation for DynamodbJson {
    const ITEM: Delimiters = (b"{", b"}");
    const STRING: Delimiters = (b"{\"S\":\"", b"\"}");
    const NUMBER: Delimiters = (b"{\"N\":\"", b"\"}");
    const BINARY: Delimiters = (b"{\"B\":\"", b"\"}");
    const BOOLEAN: Delimiters = (b"{\"BOOL\":", b"}");
    const NULL: &'static [u8] = b"{\"NULL\":true}";
    const LIST: Delimiters = (b"{\"L\":[", b"]}");
    const MAP: Delimiters = (b"{\"M\":{", b"}}");
    const TAG_LIKE_MAP: Delimiters = Self::MAP;
    const SETS: [&'static [u8]; 3] = [b"{\"SS\":[", b"{\"NS\":[", b"{\"BS\":["];
    const SET_NUMBER: Delimiters = (b"\"", b"\"");
}

/// Appends the object, attributes by name, no newline.
pub fn write_item(item: &Item, out: &mut Vec<u8>) {
    ItemWriter::<DynamodbJson, _>::new(out).item(item, &[]);
}

/// Appends `{"S":"…"}`.
pub fn write_value(value: &AttributeValue, out: &mut Vec<u8>) {
    ItemWriter::<DynamodbJson, _>::new(out).value(value);
}

/// Parses one JSON object of typed values, with white space around it allowed, into an item.
/// Members of a value that are no type tags are ignored, as the service does.
///
/// # Errors
/// [`JsonError`] with the byte offset; [`JsonFault::UnexpectedEnd`] exactly if the text is good so
/// far.
pub fn parse(text: &[u8]) -> Result<Item, JsonError> {
    read_document(text, |reader| members(reader, "a JSON object", 0).map(Item))
}

/// Reads the members of a map at `level`; the item is level 0.
fn members(
    reader: &mut JsonReader<'_>,
    expected: &'static str,
    level: usize,
) -> Result<Map, JsonError> {
    let mut map = Map::new();
    reader.members(expected, |reader, name, offset| {
        let value = value(reader, level + 1)?;
        insert(&mut map, name, value).map_err(|fault| error_at(offset, fault))
    })?;
    Ok(map)
}

fn value(reader: &mut JsonReader<'_>, level: usize) -> Result<AttributeValue, JsonError> {
    let start = reader.offset();
    // Before the depth check: a text that ends here is incomplete, not too deep.
    reader.peek()?;
    if level > NESTING_LEVELS_MAX {
        return Err(reader.error(ValueError::Nesting));
    }
    let mut found: Option<AttributeValue> = None;
    let mut several = false;
    reader.members(
        "a typed value like {\"S\":\"…\"}",
        |reader, name, offset| {
            let Some(attribute_type) = AttributeType::parse(&name) else {
                return reader.skip_value();
            };
            let value = content(reader, attribute_type, level)?;
            match &found {
                Some(earlier) if earlier.attribute_type() == attribute_type => {
                    return Err(error_at(
                        offset,
                        JsonFault::DuplicateMember(name.into_owned()),
                    ));
                }
                // The fault is reported at the end of the value: faults within the value come
                // first.
                Some(_) => several = true,
                None => found = Some(value),
            }
            Ok(())
        },
    )?;
    if several {
        return Err(error_at(start, ValueError::SeveralTypes));
    }
    found.ok_or_else(|| error_at(start, ValueError::NoType))
}

/// Reads the value after a type tag.
fn content(
    reader: &mut JsonReader<'_>,
    attribute_type: AttributeType,
    level: usize,
) -> Result<AttributeValue, JsonError> {
    let offset = reader.offset();
    let string = |reader: &mut JsonReader<'_>| reader.string("a string").map(Cow::into_owned);
    let built = match attribute_type {
        AttributeType::S => Ok(AttributeValue::S(string(reader)?)),
        AttributeType::N => Ok(AttributeValue::N(reader.number_string()?)),
        AttributeType::B => Ok(AttributeValue::B(reader.base64()?)),
        AttributeType::Bool => Ok(AttributeValue::Bool(reader.boolean()?)),
        AttributeType::Null => match reader.boolean()? {
            true => Ok(AttributeValue::Null),
            false => Err(ValueError::NullFalse),
        },
        AttributeType::Ss => AttributeValue::string_set(list(reader, "a list of strings", string)?),
        AttributeType::Ns => AttributeValue::number_set(list(
            reader,
            "a list of numbers in quotes",
            JsonReader::number_string,
        )?),
        AttributeType::Bs => AttributeValue::binary_set(list(
            reader,
            "a list of base64 strings",
            JsonReader::base64,
        )?),
        AttributeType::L => Ok(AttributeValue::L(list(
            reader,
            "a list of typed values",
            |reader| value(reader, level + 1),
        )?)),
        AttributeType::M => Ok(AttributeValue::M(members(
            reader,
            "an object of typed values",
            level,
        )?)),
    };
    built.map_err(|error| error_at(offset, error))
}

/// Adds a member after checking that its name is legal and new.
pub(super) fn insert(
    map: &mut Map,
    name: Cow<'_, str>,
    value: AttributeValue,
) -> Result<(), JsonFault> {
    check_attribute_name(&name)?;
    match map.entry(name.into_owned()) {
        Entry::Vacant(entry) => drop(entry.insert(value)),
        Entry::Occupied(entry) => return Err(JsonFault::DuplicateMember(entry.key().clone())),
    }
    Ok(())
}

/// Reads a list, each element by `element`.
pub(super) fn list<'a, T>(
    reader: &mut JsonReader<'a>,
    expected: &'static str,
    element: impl Fn(&mut JsonReader<'a>) -> Result<T, JsonError>,
) -> Result<Vec<T>, JsonError> {
    let mut list = Vec::new();
    reader.elements(expected, |reader| {
        list.push(element(reader)?);
        Ok(())
    })?;
    Ok(list)
}

#[cfg(test)]
#[path = "dynamodb_json_tests.rs"]
mod tests;
