//! The decoder of item records, into items and texts; `record/mod.rs` has the format and the
//! encoder. The bytes come from disk: every length is checked, depth is capped, nothing panics.

use crate::codec::json::write::{ItemWriter, JsonSink, Notation};
use crate::model::attribute_value::Map;
use crate::model::error::StoreError;
use crate::model::limits::NESTING_LEVELS_MAX;
use crate::model::number::TEXT_BYTES_MAX;
use crate::model::{AttributeType, AttributeValue, Item, Number};

const SHORT: StoreError = StoreError::Corrupt("a record ends within a value");
const LENGTH: StoreError = StoreError::Corrupt("a record has a length that cannot be read");
const TAG: StoreError = StoreError::Corrupt("a record has an unknown value tag");
const ORDER: StoreError =
    StoreError::Corrupt("a record has attributes or elements twice or out of order");
const COUNT: StoreError =
    StoreError::Corrupt("a record has another number of attributes than it says");
const NUMBER: StoreError = StoreError::Corrupt("a record has a number that cannot be read");

/// The first byte of each value.
pub mod tag {
    pub const S: u8 = 1;
    pub const N: u8 = 2;
    pub const B: u8 = 3;
    pub const FALSE: u8 = 4;
    pub const TRUE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const SS: u8 = 7;
    pub const NS: u8 = 8;
    pub const BS: u8 = 9;
    pub const L: u8 = 10;
    pub const M: u8 = 11;
}

/// A reader that takes bytes from the front.
#[derive(Debug, Clone, Copy)]
pub struct RecordCursor<'a> {
    rest: &'a [u8],
}

impl<'a> RecordCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], StoreError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub fn byte(&mut self) -> Result<u8, StoreError> {
        self.array().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Result<u32, StoreError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, StoreError> {
        self.array().map(u64::from_le_bytes)
    }

    fn length(&mut self) -> Result<usize, StoreError> {
        let mut length: u64 = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                // Only the shortest form: records are compared by their bytes.
                let shortest = byte != 0 || shift == 0;
                return if shortest {
                    usize::try_from(length).map_err(|_| SHORT)
                } else {
                    Err(LENGTH)
                };
            }
        }
        Err(LENGTH)
    }

    /// Reads a length and that many bytes.
    fn bytes(&mut self) -> Result<&'a [u8], StoreError> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, StoreError> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| StoreError::Corrupt("a record has a text that is not UTF-8"))
    }

    /// Reads the text of a number, checked to consist of digits, `-` and `.` only.
    fn number_text(&mut self) -> Result<&'a [u8], StoreError> {
        let text = self.bytes()?;
        let legal = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        if text.is_empty() || text.len() > TEXT_BYTES_MAX || !text.iter().all(legal) {
            return Err(NUMBER);
        }
        Ok(text)
    }

    fn number(&mut self) -> Result<Number, StoreError> {
        number(self.number_text()?)
    }

    /// Returns a cursor over the elements of a set, list or map.
    fn nested(&mut self) -> Result<Self, StoreError> {
        let size = usize::try_from(self.u32()?).map_err(|_| SHORT)?;
        self.take(size).map(Self::new)
    }

    fn skip_value(&mut self) -> Result<(), StoreError> {
        StoredValue::read(self).map(drop)
    }
}

/// A stored value with its elements not decoded.
#[derive(Debug, Clone, Copy)]
pub struct StoredValue<'a> {
    pub kind: AttributeType,
    /// The text of S, the canonical text of N, the bytes of B; the encoded elements of a set, list
    /// or map.
    pub bytes: &'a [u8],
}

impl<'a> StoredValue<'a> {
    fn read(cursor: &mut RecordCursor<'a>) -> Result<Self, StoreError> {
        let (kind, bytes) = match cursor.byte()? {
            tag::S => (AttributeType::S, cursor.bytes()?),
            tag::N => (AttributeType::N, cursor.bytes()?),
            tag::B => (AttributeType::B, cursor.bytes()?),
            tag::FALSE | tag::TRUE => (AttributeType::Bool, &[][..]),
            tag::NULL => (AttributeType::Null, &[][..]),
            tag::SS => (AttributeType::Ss, cursor.nested()?.rest),
            tag::NS => (AttributeType::Ns, cursor.nested()?.rest),
            tag::BS => (AttributeType::Bs, cursor.nested()?.rest),
            tag::L => (AttributeType::L, cursor.nested()?.rest),
            tag::M => (AttributeType::M, cursor.nested()?.rest),
            _ => return Err(TAG),
        };
        Ok(Self { kind, bytes })
    }

    /// Calls `visit` with the members of a map; other types have none.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the members.
    pub fn each_member(
        &self,
        mut visit: impl FnMut(&'a str, StoredValue<'a>),
    ) -> Result<(), StoreError> {
        let mut inside = RecordCursor::new(if self.kind == AttributeType::M {
            self.bytes
        } else {
            &[]
        });
        while !inside.is_empty() {
            let name = inside.text()?;
            visit(name, StoredValue::read(&mut inside)?);
        }
        Ok(())
    }

    /// Returns the value's size in bytes by DynamoDB's rules (docs/dynamodb.md 5.1).
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the elements.
    pub fn size(&self) -> Result<usize, StoreError> {
        self.size_in(NESTING_LEVELS_MAX)
    }

    fn size_in(&self, levels: usize) -> Result<usize, StoreError> {
        let levels = inner_levels(levels)?;
        let mut inside = RecordCursor::new(self.bytes);
        let mut size = match self.kind {
            AttributeType::S | AttributeType::B => return Ok(self.bytes.len()),
            AttributeType::N => return Ok(number(self.bytes)?.size()),
            AttributeType::Bool | AttributeType::Null => 1,
            AttributeType::L | AttributeType::M => 3,
            _ => 0,
        };
        while !inside.is_empty() {
            size += match self.kind {
                AttributeType::Ns => inside.number()?.size(),
                AttributeType::L => 1 + Self::read(&mut inside)?.size_in(levels)?,
                AttributeType::M => {
                    1 + inside.bytes()?.len() + Self::read(&mut inside)?.size_in(levels)?
                }
                _ => inside.bytes()?.len(),
            };
        }
        Ok(size)
    }
}

/// Parses the canonical text of a number: records are compared by their bytes.
fn number(text: &[u8]) -> Result<Number, StoreError> {
    let text = std::str::from_utf8(text).map_err(|_| NUMBER)?;
    let number: Number = text.parse().map_err(|_| NUMBER)?;
    if number.text(&mut [0; TEXT_BYTES_MAX]) == text {
        Ok(number)
    } else {
        Err(NUMBER)
    }
}

/// Calls `visit` with every attribute in stored order.
pub fn each_attribute<'a>(
    content: &'a [u8],
    mut visit: impl FnMut(&'a str, StoredValue<'a>),
) -> Result<(), StoreError> {
    attributes(content, |name, cursor| {
        visit(name, StoredValue::read(cursor)?);
        Ok(true)
    })
}

/// Returns the first attribute, if there is one.
pub fn first(content: &[u8]) -> Result<Option<(&str, StoredValue<'_>)>, StoreError> {
    let mut found = None;
    attributes(content, |name, cursor| {
        found = Some((name, StoredValue::read(cursor)?));
        Ok(false)
    })?;
    Ok(found)
}

/// Calls `visit` with every name and the cursor at its value, which it reads or skips. `false` ends
/// the walk.
fn attributes<'a>(
    content: &'a [u8],
    mut visit: impl FnMut(&'a str, &mut RecordCursor<'a>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut cursor = RecordCursor::new(content);
    // Nothing is reserved for the count: a damaged one would ask for gigabytes. Here it ends with
    // the bytes.
    for _ in 0..cursor.u32()? {
        let name = cursor.text()?;
        if !visit(name, &mut cursor)? {
            return Ok(());
        }
    }
    if cursor.is_empty() {
        Ok(())
    } else {
        Err(COUNT)
    }
}

/// Calls `visit` with every name and all bytes of its attribute, in stored order.
pub fn each_span<'a>(
    content: &'a [u8],
    mut visit: impl FnMut(&'a str, &'a [u8]),
) -> Result<(), StoreError> {
    let mut cursor = RecordCursor::new(content);
    for _ in 0..cursor.u32()? {
        let begun = cursor.rest;
        let name = cursor.text()?;
        cursor.skip_value()?;
        visit(name, &begun[..begun.len() - cursor.rest.len()]);
    }
    if cursor.is_empty() {
        Ok(())
    } else {
        Err(COUNT)
    }
}

/// The memory of a value in a list that grew, and of the text around it in a response.
const VALUE_BYTES: usize = 64;
/// The memory of a map's node.
const NODE_BYTES: usize = 656;
/// The members of each node at least, where a map has several nodes.
const NODE_MEMBERS_MIN: usize = 6;

/// Returns the memory that the values of an item take together with their text in a response, in
/// bytes: at most a hundred and twenty times the item's size.
pub fn values_bytes(content: &[u8]) -> Result<usize, StoreError> {
    let (mut bytes, mut members) = (0, 0);
    attributes(content, |name, cursor| {
        members += 1;
        bytes += VALUE_BYTES + name.len() + value_bytes(cursor, NESTING_LEVELS_MAX)?;
        Ok(true)
    })?;
    Ok(bytes + nodes_bytes(members))
}

fn nodes_bytes(members: usize) -> usize {
    NODE_BYTES * (members / NODE_MEMBERS_MIN).max(1)
}

/// Returns the memory of the value at the cursor, which may have `levels` levels.
fn value_bytes(cursor: &mut RecordCursor<'_>, levels: usize) -> Result<usize, StoreError> {
    let levels = inner_levels(levels)?;
    let value = StoredValue::read(cursor)?;
    let (mut body, mut bytes, mut members) = (RecordCursor::new(value.bytes), VALUE_BYTES, 0);
    match value.kind {
        AttributeType::L => {
            while !body.is_empty() {
                bytes += value_bytes(&mut body, levels)?;
            }
        }
        AttributeType::M => {
            while !body.is_empty() {
                members += 1;
                bytes += VALUE_BYTES + body.bytes()?.len() + value_bytes(&mut body, levels)?;
            }
            bytes += nodes_bytes(members);
        }
        AttributeType::Ss | AttributeType::Ns | AttributeType::Bs => {
            while !body.is_empty() {
                bytes += VALUE_BYTES + body.bytes()?.len();
            }
        }
        AttributeType::S | AttributeType::N | AttributeType::B => bytes += value.bytes.len(),
        AttributeType::Bool | AttributeType::Null => {}
    }
    Ok(bytes)
}

/// Decodes the attributes that `keep` accepts.
pub fn item(content: &[u8], keep: &dyn Fn(&str) -> bool) -> Result<Item, StoreError> {
    let mut item = Item::default();
    attributes(content, |name, cursor| {
        if !keep(name) {
            cursor.skip_value()?;
        } else if item
            .0
            .insert(name.to_owned(), value(cursor, NESTING_LEVELS_MAX)?)
            .is_some()
        {
            return Err(ORDER);
        }
        Ok(true)
    })?;
    Ok(item)
}

/// Decodes one attribute into `out`, reusing the memory of a text or bytes; true if it is there.
pub fn attribute_into(
    content: &[u8],
    attribute: &str,
    out: &mut AttributeValue,
) -> Result<bool, StoreError> {
    let mut found = false;
    attributes(content, |name, cursor| {
        if name != attribute {
            cursor.skip_value()?;
            return Ok(true);
        }
        value_into(cursor, out)?;
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

fn value_into(cursor: &mut RecordCursor<'_>, into: &mut AttributeValue) -> Result<(), StoreError> {
    match (cursor.rest.first(), &mut *into) {
        (Some(&tag::S), AttributeValue::S(text)) => {
            cursor.byte()?;
            text.clear();
            text.push_str(cursor.text()?);
        }
        (Some(&tag::B), AttributeValue::B(bytes)) => {
            cursor.byte()?;
            bytes.clear();
            bytes.extend_from_slice(cursor.bytes()?);
        }
        _ => *into = value(cursor, NESTING_LEVELS_MAX)?,
    }
    Ok(())
}

/// Returns the levels left for the content of a list or map.
fn inner_levels(levels: usize) -> Result<usize, StoreError> {
    match levels {
        0 => Err(StoreError::Corrupt("a record has too many levels")),
        levels => Ok(levels - 1),
    }
}

/// Decodes the value at the cursor, which may have `levels` levels.
fn value(cursor: &mut RecordCursor<'_>, levels: usize) -> Result<AttributeValue, StoreError> {
    let levels = inner_levels(levels)?;
    Ok(match cursor.byte()? {
        tag::S => AttributeValue::S(cursor.text()?.to_owned()),
        tag::N => AttributeValue::N(cursor.number()?),
        tag::B => AttributeValue::B(cursor.bytes()?.to_vec()),
        tag::FALSE => AttributeValue::Bool(false),
        tag::TRUE => AttributeValue::Bool(true),
        tag::NULL => AttributeValue::Null,
        tag::SS => AttributeValue::Ss(set(cursor, |cursor| cursor.text().map(str::to_owned))?),
        tag::NS => AttributeValue::Ns(set(cursor, RecordCursor::number)?),
        tag::BS => AttributeValue::Bs(set(cursor, |cursor| cursor.bytes().map(<[u8]>::to_vec))?),
        tag::L => {
            let mut body = cursor.nested()?;
            let mut list = Vec::new();
            while !body.is_empty() {
                list.push(value(&mut body, levels)?);
            }
            AttributeValue::L(list)
        }
        tag::M => AttributeValue::M(map(cursor, levels)?),
        _ => return Err(TAG),
    })
}

fn map(cursor: &mut RecordCursor<'_>, levels: usize) -> Result<Map, StoreError> {
    let mut body = cursor.nested()?;
    let mut map = Map::new();
    while !body.is_empty() {
        let name = body.text()?;
        if map
            .last_key_value()
            .is_some_and(|(last, _)| last.as_str() >= name)
        {
            return Err(ORDER);
        }
        map.insert(name.to_owned(), value(&mut body, levels)?);
    }
    Ok(map)
}

fn set<'a, T: Ord>(
    cursor: &mut RecordCursor<'a>,
    element: impl Fn(&mut RecordCursor<'a>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut body = cursor.nested()?;
    let mut set = Vec::new();
    while !body.is_empty() {
        let next = element(&mut body)?;
        if set.last().is_some_and(|last| *last >= next) {
            return Err(ORDER);
        }
        set.push(next);
    }
    if set.is_empty() {
        Err(StoreError::Corrupt("a record has an empty set"))
    } else {
        Ok(set)
    }
}

/// Writes the attributes that `keep` accepts, straight from the bytes. [`item`] checks order and
/// spelling; this does not, as it runs for every row that is shown.
pub fn walk<N: Notation, S: JsonSink>(
    content: &[u8],
    keep: &dyn Fn(&str) -> bool,
    writer: &mut ItemWriter<'_, N, S>,
) -> Result<(), StoreError> {
    writer.item_begin();
    attributes(content, |name, cursor| {
        if keep(name) {
            writer.name(name);
            walk_value(cursor, NESTING_LEVELS_MAX, writer)?;
        } else {
            cursor.skip_value()?;
        }
        Ok(true)
    })?;
    writer.item_end();
    Ok(())
}

fn walk_value<N: Notation, S: JsonSink>(
    cursor: &mut RecordCursor<'_>,
    levels: usize,
    writer: &mut ItemWriter<'_, N, S>,
) -> Result<(), StoreError> {
    let levels = inner_levels(levels)?;
    match cursor.byte()? {
        tag::S => writer.string(cursor.text()?),
        tag::N => writer.number(cursor.number_text()?),
        tag::B => writer.binary(cursor.bytes()?),
        tag::FALSE => writer.boolean(false),
        tag::TRUE => writer.boolean(true),
        tag::NULL => writer.null(),
        tag @ (tag::SS | tag::NS | tag::BS) => walk_set(tag, cursor.nested()?, writer)?,
        tag::L => {
            writer.list_begin();
            let mut body = cursor.nested()?;
            while !body.is_empty() {
                walk_value(&mut body, levels, writer)?;
            }
            writer.list_end();
        }
        tag::M => {
            let mut body = cursor.nested()?;
            // The look-ahead runs on a copy; this cursor stays at the first member.
            let tag_like = is_tag_like(body)?;
            writer.map_begin(tag_like);
            while !body.is_empty() {
                writer.name(body.text()?);
                walk_value(&mut body, levels, writer)?;
            }
            writer.map_end(tag_like);
        }
        _ => return Err(TAG),
    }
    Ok(())
}

/// True if the map of these bytes has exactly one member and its name starts with `$`.
fn is_tag_like(mut body: RecordCursor<'_>) -> Result<bool, StoreError> {
    if body.is_empty() || !body.bytes()?.starts_with(b"$") {
        return Ok(false);
    }
    body.skip_value()?;
    Ok(body.is_empty())
}

fn walk_set<N: Notation, S: JsonSink>(
    tag: u8,
    mut body: RecordCursor<'_>,
    writer: &mut ItemWriter<'_, N, S>,
) -> Result<(), StoreError> {
    debug_assert!(matches!(tag, tag::SS | tag::NS | tag::BS));
    writer.set_begin(match tag {
        tag::NS => AttributeType::Ns,
        tag::BS => AttributeType::Bs,
        _ => AttributeType::Ss,
    });
    while !body.is_empty() {
        match tag {
            tag::NS => writer.set_number(body.number_text()?),
            tag::BS => writer.set_binary(body.bytes()?),
            _ => writer.set_string(body.text()?),
        }
    }
    writer.set_end();
    Ok(())
}
