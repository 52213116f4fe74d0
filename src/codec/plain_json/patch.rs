//! A merge patch (RFC 7396) in plain JSON: what `X.patch` takes.
//!
//! `null` removes, an object is merged into a map, everything else replaces; `{"$null":true}` stores NULL. Types are written as in
//! plain JSON, and in a list `null` is NULL.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::parse::{tagged, value};
use super::{PlainJsonError, PlainJsonFault};
use crate::codec::json::reader::{Reader, fault_at, read_document};
use crate::model::attribute_value::{Map, check_attribute_name};
use crate::model::error::ValueError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::{AttributeType, AttributeValue, Item};

/// What becomes of an attribute or map member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberPatch {
    Remove,
    Set(AttributeValue),
    /// Into the map that is there, or into an empty one instead of anything else.
    Merge(BTreeMap<String, MemberPatch>),
}

/// What becomes of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch(pub BTreeMap<String, MemberPatch>);

/// Parses one JSON object.
///
/// # Errors
/// As for an item.
pub fn parse_patch(text: &[u8]) -> Result<Patch, PlainJsonError> {
    read_document(text, |reader| changes(reader, 0).map(Patch))
}

impl Patch {
    /// Carries it out.
    pub fn apply(&self, item: &mut Item) {
        apply(&self.0, &mut item.0);
    }

    /// Is every value an object of one member that is named like a type? Then DynamoDB JSON was meant.
    #[must_use]
    pub fn looks_like_dynamodb_json(&self) -> bool {
        let typed = |change: &MemberPatch| match change {
            MemberPatch::Merge(members) => members.len() == 1 && members.keys().all(|name| AttributeType::from_tag(name).is_some()),
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

fn changes(reader: &mut Reader<'_>, level: usize) -> Result<BTreeMap<String, MemberPatch>, PlainJsonError> {
    let mut map = BTreeMap::new();
    reader.members("a JSON object", |reader, name, offset| {
        let change = change(reader, level + 1)?;
        check_attribute_name(&name).map_err(|fault| fault_at(offset, fault))?;
        match map.entry(name.into_owned()) {
            Entry::Vacant(entry) => drop(entry.insert(change)),
            Entry::Occupied(entry) => return Err(fault_at(offset, PlainJsonFault::DuplicateMember(entry.key().clone()))),
        }
        Ok(())
    })?;
    Ok(map)
}

fn change(reader: &mut Reader<'_>, level: usize) -> Result<MemberPatch, PlainJsonError> {
    match reader.peek()? {
        b'n' => reader.literal("a JSON value").map(|_| MemberPatch::Remove),
        b'{' if level > NESTING_LEVELS_MAX => Err(reader.fault(ValueError::Nesting)),
        b'{' => {
            let Some((tag, offset, place)) = reader.lone_tag()? else { return changes(reader, level).map(MemberPatch::Merge) };
            *reader = place;
            let change = match &*tag {
                "$null" => null(reader)?,
                "$map" => MemberPatch::Merge(changes(reader, level)?),
                _ => MemberPatch::Set(tagged(reader, level, &tag, offset)?),
            };
            reader.expect(b'}', "'}'")?;
            Ok(change)
        }
        _ => value(reader, level).map(MemberPatch::Set),
    }
}

fn null(reader: &mut Reader<'_>) -> Result<MemberPatch, PlainJsonError> {
    let offset = reader.offset();
    match reader.literal("true")? {
        Some(true) => Ok(MemberPatch::Set(AttributeValue::Null)),
        _ => Err(fault_at(offset, PlainJsonFault::Expected("true"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::plain_json;

    /// The table of RFC 7396, appendix A, as far as both sides are objects; then the types.
    #[test]
    fn table_of_patches() {
        let check = |item: &str, patch: &str, expected: &str| {
            let mut patched = plain_json::parse(item.as_bytes()).unwrap();
            let found = match parse_patch(patch.as_bytes()) {
                Ok(patch) => {
                    patch.apply(&mut patched);
                    let mut line = Vec::new();
                    plain_json::write_line(&patched, &[], &mut line);
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
        check(r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#);
        check(r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#);
        check(r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#);
        check("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#);
        check(r#"{"a":1}"#, r#"{"a":{"$null":true}}"#, r#"{"a":null}"#);
        check(r#"{"a":1}"#, r#"{"a":[null]}"#, r#"{"a":[null]}"#);
        check(r#"{"a":1}"#, r#"{"a":{"$ss":["x"]},"b":{"$b64":"AQ=="}}"#, r#"{"a":{"$ss":["x"]},"b":{"$b64":"AQ=="}}"#);
        check(r#"{"a":{"$map":{"$x":1}}}"#, r#"{"a":{"$map":{"$x":2}}}"#, r#"{"a":{"$map":{"$x":2}}}"#);
        check(r#"{"a":{"x":1}}"#, r#"{"a":{}}"#, r#"{"a":{"x":1}}"#);
        check("{}", r#"{"a":{"$null":false}}"#, "expected true at byte 14");
        check("{}", r#"{"a":1,"a":2}"#, "the member \"a\" is there twice at byte 7");
        check("{}", r#"{"a":{"$no":1}}"#, "\"$no\" is no type tag; a map with one such member is written {\"$map\":{…}} at byte 6");
        check("{}", r#"{"a":{"b":"#, "expected more: the text ends at byte 10");
    }
}
