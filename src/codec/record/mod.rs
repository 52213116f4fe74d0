//! Item records: the stored form of a base item or an index entry; and rows, which are rendered
//! without building an [`Item`] unless one is needed.
//!
//! ```text
//! header, 25 bytes, integers little-endian
//!   0   u8   version of the format: 1
//!   1   u32  size of the item by DynamoDB's rules, bytes
//!   5   u32  length of the plain JSON line, newline included, bytes
//!   9   u64  version of the item
//!   17  u64  commit time, milliseconds since the epoch
//! content
//!   25  u32  number of attributes, then the attributes: key attributes first in schema order, the others by name
//! attribute, or member of a map
//!   length, the name in UTF-8, value
//! value: a tag byte, then
//!   1 S     length, UTF-8
//!   2 N     length, canonical text
//!   3 B     length, bytes
//!   4 BOOL false, 5 BOOL true, 6 NULL     nothing
//!   7 SS, 8 NS, 9 BS    u32 size, then in order of the elements: length, element (text, canonical text or bytes)
//!   10 L    u32 size, then the values
//!   11 M    u32 size, then the members by name
//! length: 7 bits a byte, low bits first, 0x80 set in all but the last; the shortest form
//! size: bytes of what follows within the value, so that a value is skipped without reading it
//! ```
//! One item has one content for one order of key attributes, so that contents are equal exactly if
//! items are.
//!
//! The form is binary, although JSON text could be sent as it is: plain JSON and DynamoDB JSON are
//! made of one form (1.1 µs for an item of 1 KB), and attributes are found, compared and left out
//! without decoding the others.

mod read;

use super::dynamodb_json::{self, DynamodbJson};
use super::json::write::{ItemWriter, ordered};
use super::plain_json::{self, PlainJson, line_len};
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::number::TEXT_BYTES_MAX;
use crate::model::{AttributeValue, Item, Number};
use read::{RecordCursor, tag};

pub use read::StoredValue;

/// The version of the format that [`encode()`] writes.
pub const FORMAT: u8 = 1;

const HEADER_BYTES: usize = 25;

/// A record with its header read and its attributes not decoded.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    item_bytes: u32,
    plain_json_bytes: u32,
    version: Version,
    modified_ms: u64,
    content: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`StoreError::Format`] for a record of a newer format, [`StoreError::Corrupt`] for any other
    /// bytes that are no record.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let (header, content) =
            bytes
                .split_at_checked(HEADER_BYTES)
                .ok_or(match bytes.first() {
                    Some(&format) if format > FORMAT => StoreError::Format(format),
                    _ => StoreError::Corrupt("a record is too short"),
                })?;
        let mut header = RecordCursor::new(header);
        match header.byte()? {
            FORMAT => {}
            0 => return Err(StoreError::Corrupt("a record has no format version")),
            newer => return Err(StoreError::Format(newer)),
        }
        Ok(Self {
            item_bytes: header.u32()?,
            plain_json_bytes: header.u32()?,
            version: header.u64()?,
            modified_ms: header.u64()?,
            content,
        })
    }

    /// Returns the item's size by DynamoDB's rules, in bytes.
    #[must_use]
    pub fn item_bytes(&self) -> u32 {
        self.item_bytes
    }

    /// Returns the length of [`Self::write_plain_json`]'s output in bytes, newline included.
    #[must_use]
    pub fn plain_json_bytes(&self) -> u32 {
        self.plain_json_bytes
    }

    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the commit time in milliseconds since the epoch.
    #[must_use]
    pub fn modified_ms(&self) -> u64 {
        self.modified_ms
    }

    /// Returns the attributes' bytes, without the header. They are equal exactly if two items are
    /// equal and were encoded with the same `first`.
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        self.content
    }

    /// Decodes all attributes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], also if a value is not in its one canonical form.
    pub fn to_item(&self) -> Result<Item, StoreError> {
        read::item(self.content, &|_| true)
    }

    /// Returns the memory, in bytes, that [`Self::to_item`]'s values take together with their text
    /// in a response; builds none of them.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn values_bytes(&self) -> Result<usize, StoreError> {
        read::values_bytes(self.content)
    }

    /// Decodes the attributes whose names `keep` accepts; skips the others.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn attributes(&self, keep: &dyn Fn(&str) -> bool) -> Result<Item, StoreError> {
        read::item(self.content, keep)
    }

    /// Calls `visit` with every top-level attribute as it is stored: the key's first, the others by
    /// name.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn each_attribute(
        &self,
        visit: impl FnMut(&'a str, StoredValue<'a>),
    ) -> Result<(), StoreError> {
        read::each_attribute(self.content, visit)
    }

    /// Decodes one top-level attribute; skips the others.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>, StoreError> {
        let mut value = AttributeValue::Null;
        Ok(self.attribute_into(name, &mut value)?.then_some(value))
    }

    /// Returns the name and the value of the first attribute; none of an empty item.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn first(&self) -> Result<Option<(&'a str, StoredValue<'a>)>, StoreError> {
        read::first(self.content)
    }

    /// Decodes one top-level attribute into `into`, reusing its memory; true if the record has it.
    /// Else the value stays as it was.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in the bytes read.
    pub fn attribute_into(
        &self,
        name: &str,
        into: &mut AttributeValue,
    ) -> Result<bool, StoreError> {
        read::attribute_into(self.content, name, into)
    }

    /// Appends the plain JSON line: compact, key attributes first, then by name, newline.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]; then nothing is appended.
    pub fn write_plain_json(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let start = out.len();
        // A damaged length reserves at most this much: the real one is at most six times the
        // record, plus names of types.
        out.reserve((self.plain_json_bytes as usize).min(64 + 16 * self.content.len()));
        let done = read::walk(
            self.content,
            &|_| true,
            &mut ItemWriter::<PlainJson, _>::new(out),
        );
        done.inspect_err(|_| out.truncate(start))
    }

    /// Appends `{"name":{"S":"…"},…}` without a newline; only the attributes that `keep` accepts.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]; then nothing is appended.
    pub fn write_dynamodb_json(
        &self,
        keep: &dyn Fn(&str) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let start = out.len();
        let done = read::walk(
            self.content,
            keep,
            &mut ItemWriter::<DynamodbJson, _>::new(out),
        );
        done.inspect_err(|_| out.truncate(start))
    }
}

/// A result row.
#[derive(Debug, Clone, Copy)]
pub enum ResultRow<'a> {
    /// All attributes of a record.
    Record(Record<'a>),
    /// A projected item.
    Item(&'a Item),
}

/// A callback that gets each result row in order.
pub type RowSink<'a> = dyn FnMut(ResultRow<'_>) + 'a;

/// A callback that gets each row of a batch with the index of its table in the request; true if
/// there is room for another row.
pub type BatchRowSink<'a> = dyn FnMut(usize, ResultRow<'_>) -> bool + 'a;

impl ResultRow<'_> {
    pub fn to_item(&self) -> Result<Item, StoreError> {
        match self {
            Self::Record(record) => record.to_item(),
            Self::Item(item) => Ok((*item).clone()),
        }
    }

    /// Returns the memory that [`Self::to_item`]'s values take, in bytes; for a projected item,
    /// which is in memory already, its size.
    ///
    /// # Errors
    /// As [`Record::values_bytes`].
    pub fn values_bytes(&self) -> Result<usize, StoreError> {
        match self {
            Self::Record(record) => record.values_bytes(),
            Self::Item(item) => Ok(item.size()),
        }
    }

    /// Appends the plain JSON line with its newline; a projected item is written with the names of
    /// `first` first.
    pub fn write_plain_json(&self, first: &[&str], out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self {
            Self::Record(record) => record.write_plain_json(out),
            Self::Item(item) => {
                plain_json::write_line(item, first, out);
                Ok(())
            }
        }
    }

    /// Appends the DynamoDB JSON object, no newline.
    pub fn write_dynamodb_json(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        match self {
            Self::Record(record) => record.write_dynamodb_json(&|_| true, out),
            Self::Item(item) => {
                dynamodb_json::write_item(item, out);
                Ok(())
            }
        }
    }
}

/// Encodes an item. `first` are the key attribute names, which are rendered first in this order, if
/// present.
#[must_use]
pub fn encode(item: &Item, first: &[&str], version: Version, modified_ms: u64) -> Vec<u8> {
    let item_bytes = item.size();
    // Capacity for the tags and lengths of small attributes.
    let mut out = Vec::with_capacity(HEADER_BYTES + 4 + item_bytes + 8 * item.0.len());
    out.push(FORMAT);
    out.extend_from_slice(&u32_of(item_bytes).to_le_bytes());
    out.extend_from_slice(&u32_of(line_len(item)).to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&modified_ms.to_le_bytes());
    out.extend_from_slice(&u32_of(item.0.len()).to_le_bytes());
    for (name, value) in ordered(item, first) {
        put_text(name.as_bytes(), &mut out);
        put_value(value, &mut out);
    }
    out
}

/// Returns the record that [`encode`] makes of the same item with another `first`; moves the
/// attributes and encodes none again.
///
/// # Errors
/// [`StoreError::Corrupt`] if the record cannot be read.
pub fn reorder(record: &[u8], first: &[&str]) -> Result<Vec<u8>, StoreError> {
    let (head, content) = record
        .split_at_checked(HEADER_BYTES)
        .ok_or(StoreError::Corrupt("a record is too short"))?;
    let mut attributes = Vec::with_capacity(16);
    read::each_span(content, |name, span| attributes.push((name, span)))?;
    // Attributes that are no longer first go to their place among the others.
    attributes.sort_unstable_by_key(|(name, _)| {
        (
            first
                .iter()
                .position(|of_first| of_first == name)
                .unwrap_or(first.len()),
            *name,
        )
    });
    let mut out = Vec::with_capacity(record.len());
    out.extend_from_slice(head);
    out.extend_from_slice(&u32_of(attributes.len()).to_le_bytes());
    attributes
        .iter()
        .for_each(|(_, span)| out.extend_from_slice(span));
    Ok(out)
}

/// Replaces a record's version and commit time.
pub fn set_version(record: &mut [u8], version: Version, modified_ms: u64) {
    assert!(record.len() >= HEADER_BYTES, "a record has a header");
    record[9..17].copy_from_slice(&version.to_le_bytes());
    record[17..HEADER_BYTES].copy_from_slice(&modified_ms.to_le_bytes());
}

/// Converts a length; items are at most 400 KB, so every length fits.
fn u32_of(length: usize) -> u32 {
    let fitting = u32::try_from(length);
    // Another length would be stored as a damaged record.
    assert!(fitting.is_ok(), "{length} bytes in an item");
    fitting.unwrap_or(u32::MAX)
}

fn put_length(length: usize, out: &mut Vec<u8>) {
    let mut rest = u32_of(length);
    while rest >= 0x80 {
        out.push((rest & 0x7F) as u8 | 0x80);
        rest >>= 7;
    }
    out.push((rest & 0x7F) as u8);
}

fn put_text(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn put_number(number: &Number, out: &mut Vec<u8>) {
    put_text(number.text(&mut [0; TEXT_BYTES_MAX]).as_bytes(), out);
}

/// Appends the tag, the size of `body`'s output, and that output.
fn put_sized(tag: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    let start = out.len();
    body(out);
    let size = u32_of(out.len() - start);
    out[at..start].copy_from_slice(&size.to_le_bytes());
}

fn put_value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => {
            out.push(tag::S);
            put_text(text.as_bytes(), out);
        }
        AttributeValue::N(number) => {
            out.push(tag::N);
            put_number(number, out);
        }
        AttributeValue::B(bytes) => {
            out.push(tag::B);
            put_text(bytes, out);
        }
        AttributeValue::Bool(value) => out.push(if *value { tag::TRUE } else { tag::FALSE }),
        AttributeValue::Null => out.push(tag::NULL),
        AttributeValue::Ss(set) => put_sized(tag::SS, out, |out| {
            set.iter().for_each(|text| put_text(text.as_bytes(), out))
        }),
        AttributeValue::Ns(set) => put_sized(tag::NS, out, |out| {
            set.iter().for_each(|number| put_number(number, out))
        }),
        AttributeValue::Bs(set) => put_sized(tag::BS, out, |out| {
            set.iter().for_each(|bytes| put_text(bytes, out))
        }),
        AttributeValue::L(list) => put_sized(tag::L, out, |out| {
            list.iter().for_each(|element| put_value(element, out))
        }),
        AttributeValue::M(map) => put_sized(tag::M, out, |out| {
            for (name, member) in map {
                put_text(name.as_bytes(), out);
                put_value(member, out);
            }
        }),
    }
}

#[cfg(test)]
#[path = "../record_tests.rs"]
mod tests;
