//! Item records: the stored form of a base item or an index entry.
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
//! One item has one content for one order of key attributes, so that contents are equal exactly when items are.
//!
//! Binary and no JSON text, although that could be sent as it is: plain JSON and DynamoDB JSON are made of one form (1.1 µs for an item
//! of 1 KB), and attributes are found, compared and left out without decoding the others.

mod encode;
mod read;
mod tag;

use super::dynamodb_json::DynamodbJson;
use super::plain_json::PlainJson;
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{AttributeValue, Item};
use read::Cursor;

pub use encode::{encode, reordered, stamp};
pub use read::StoredValue;

/// Version of the format that [`encode()`] writes.
pub const FORMAT: u8 = 1;

const HEADER_BYTES: usize = 25;

/// A record, its header read, its attributes not decoded.
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
    /// [`StoreError::Format`] for a record of a newer format, [`StoreError::Corrupt`] for what is no record.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let (header, content) = bytes.split_at_checked(HEADER_BYTES).ok_or(match bytes.first() {
            Some(&format) if format > FORMAT => StoreError::Format(format),
            _ => StoreError::Corrupt("a record is too short"),
        })?;
        let mut header = Cursor::new(header);
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

    /// Size by DynamoDB's rules.
    #[must_use]
    pub fn item_bytes(&self) -> u32 {
        self.item_bytes
    }

    /// Length of [`Self::write_plain_json`]'s output, newline included.
    #[must_use]
    pub fn plain_json_bytes(&self) -> u32 {
        self.plain_json_bytes
    }

    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Commit time in milliseconds since the epoch.
    #[must_use]
    pub fn modified_ms(&self) -> u64 {
        self.modified_ms
    }

    /// The attributes' bytes, without the header: equal exactly when two items are equal and were encoded with the same `first`.
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        self.content
    }

    /// Decodes all attributes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], also when a value is not in its one canonical form.
    pub fn to_item(&self) -> Result<Item, StoreError> {
        read::item(self.content)
    }

    /// What [`Self::to_item`]'s values take in memory with their text in an answer, in bytes; found without making them.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in what had to be read.
    pub fn values_bytes(&self) -> Result<usize, StoreError> {
        read::values_bytes(self.content)
    }

    /// Decodes the attributes whose names `keep` accepts, the others skipped.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in what had to be read.
    pub fn attributes(&self, keep: &dyn Fn(&str) -> bool) -> Result<Item, StoreError> {
        read::attributes_of(self.content, keep)
    }

    /// Calls `each` with every top-level attribute as it is stored: the key's first, the others by name.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in what had to be read.
    pub fn each_attribute(&self, each: impl FnMut(&'a str, StoredValue<'a>)) -> Result<(), StoreError> {
        read::each_attribute(self.content, each)
    }

    /// One top-level attribute, the others skipped.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in what had to be read.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>, StoreError> {
        read::attribute(self.content, name)
    }

    /// The same, into a value of before, whose room is used again; was it there? If not, the value stays as it was.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] in what had to be read.
    pub fn attribute_into(&self, name: &str, into: &mut AttributeValue) -> Result<bool, StoreError> {
        read::attribute_into(self.content, name, into)
    }

    /// Appends the plain JSON line: compact, key attributes first, then by name, newline.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and then nothing is appended.
    pub fn write_plain_json(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let start = out.len();
        // A wrong length costs at most this room: the real one is at most six times the record, plus names of types.
        out.reserve((self.plain_json_bytes as usize).min(64 + 16 * self.content.len()));
        let done = read::walk(self.content, &|_| true, &mut PlainJson::new(out));
        done.inspect_err(|_| out.truncate(start))
    }

    /// Appends `{"name":{"S":"…"},…}` with no newline; only the attributes that `keep` accepts.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and then nothing is appended.
    pub fn write_dynamodb_json(&self, keep: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let start = out.len();
        let done = read::walk(self.content, keep, &mut DynamodbJson::new(out));
        done.inspect_err(|_| out.truncate(start))
    }
}

#[cfg(test)]
#[path = "../record_tests.rs"]
mod tests;
