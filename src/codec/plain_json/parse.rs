//! Plain JSON to items.

use std::borrow::Cow;
use std::collections::btree_map::Entry;

use super::{PlainJsonError, PlainJsonFault};
use crate::codec::json::reader::{Reader, fault_at, read_document};
use crate::model::attribute_value::{Map, check_attribute_name};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{AttributeType, AttributeValue, Item};

/// Parses one JSON object (white space around it is fine) into an item.
///
/// # Errors
/// [`PlainJsonError`] with the byte offset; [`PlainJsonFault::UnexpectedEnd`] exactly when nothing is wrong with the text so far.
pub fn parse(text: &[u8]) -> Result<Item, PlainJsonError> {
    read_document(text, |reader| members(reader, 0).map(Item))
}

/// Parses one value, of an attribute.
///
/// # Errors
/// As [`parse`].
pub fn parse_value(text: &[u8]) -> Result<AttributeValue, PlainJsonError> {
    // A number ends with what follows it, which is nothing here.
    let whole = [text, b" "].concat();
    read_document(&whole, |reader| value(reader, 1)).map_err(|error| match error.offset {
        offset if offset >= text.len() => PlainJsonError { offset: text.len(), fault: PlainJsonFault::UnexpectedEnd },
        _ => error,
    })
}

/// Is every value of a parsed item (of at least one attribute) a map of one member that is named like a type? Then the text was
/// meant as `X.ddbjson`.
#[must_use]
pub fn looks_like_dynamodb_json(item: &Item) -> bool {
    let typed = |value: &AttributeValue| match value {
        AttributeValue::M(map) => map.len() == 1 && map.keys().all(|name| AttributeType::from_tag(name).is_some()),
        _ => false,
    };
    !item.0.is_empty() && item.0.values().all(typed)
}

/// Reads the members of a map at `level`; the item is level 0.
fn members(reader: &mut Reader<'_>, level: usize) -> Result<Map, PlainJsonError> {
    let mut map = Map::new();
    reader.members("a JSON object", |reader, name, offset| {
        let value = value(reader, level + 1)?;
        insert(&mut map, name, value).map_err(|fault| fault_at(offset, fault))
    })?;
    Ok(map)
}

/// Adds a member: its name legal and new.
pub(in crate::codec) fn insert(map: &mut Map, name: Cow<'_, str>, value: AttributeValue) -> Result<(), PlainJsonFault> {
    check_attribute_name(&name)?;
    match map.entry(name.into_owned()) {
        Entry::Vacant(entry) => drop(entry.insert(value)),
        Entry::Occupied(entry) => return Err(PlainJsonFault::DuplicateMember(entry.key().clone())),
    }
    Ok(())
}

pub(super) fn value(reader: &mut Reader<'_>, level: usize) -> Result<AttributeValue, PlainJsonError> {
    // Before the depth: a text that ends here wants more, it is not too deep.
    let first = reader.peek()?;
    if level > NESTING_LEVELS_MAX {
        return Err(reader.fault(ValueError::Nesting));
    }
    Ok(match first {
        b'"' => AttributeValue::S(reader.string("a string")?.into_owned()),
        b'-' | b'0'..=b'9' => AttributeValue::N(reader.number()?),
        b'[' => {
            let mut list = Vec::new();
            reader.elements("a list", |reader| {
                list.push(value(reader, level + 1)?);
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

/// Reads what stands behind the lone member `tag`.
pub(super) fn tagged(
    reader: &mut Reader<'_>,
    level: usize,
    tag: &str,
    tag_offset: usize,
) -> Result<AttributeValue, PlainJsonError> {
    let offset = reader.offset();
    let built = match tag {
        "$b64" => return reader.base64().map(AttributeValue::B),
        "$map" => return members(reader, level).map(AttributeValue::M),
        "$ss" => {
            AttributeValue::string_set(list(reader, "a list of strings", |reader| reader.string("a string").map(Cow::into_owned))?)
        }
        "$ns" => AttributeValue::number_set(list(reader, "a list of numbers", |reader| match reader.peek()? {
            b'"' => reader.number_string(),
            b'-' | b'0'..=b'9' => reader.number(),
            _ => Err(reader.fault(PlainJsonFault::Expected("a number"))),
        })?),
        "$bs" => AttributeValue::binary_set(list(reader, "a list of base64 strings", Reader::base64)?),
        _ => return Err(fault_at(tag_offset, PlainJsonFault::UnknownTag(tag.to_owned()))),
    };
    built.map_err(|error| fault_at(offset, error))
}

/// Reads a list, each element by `element`.
pub(in crate::codec) fn list<'a, T>(
    reader: &mut Reader<'a>,
    what: &'static str,
    element: impl Fn(&mut Reader<'a>) -> Result<T, PlainJsonError>,
) -> Result<Vec<T>, PlainJsonError> {
    let mut list = Vec::new();
    reader.elements(what, |reader| {
        list.push(element(reader)?);
        Ok(())
    })?;
    Ok(list)
}
