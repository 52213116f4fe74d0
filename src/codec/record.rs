//! Item records: the stored form of a base item or an index entry. (format byte by byte and table of exact bytes: to be written)
//!
//! The header says version of the format, DynamoDB size, plain-JSON size, item version and commit time. Attributes follow: key
//! attributes first in schema order, then the others by name, each skippable without decoding.

use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{AttributeValue, Item};

/// A record, its header checked, its attributes not decoded.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    bytes: &'a [u8],
}

/// Encodes an item. `first` are the key attribute names in the order in which to render them first (those the item has).
#[must_use]
pub fn encode(item: &Item, first: &[&str], version: Version, modified_ms: u64) -> Vec<u8> {
    let _ = (item, first, version, modified_ms);
    todo!()
}

impl<'a> Record<'a> {
    /// Checks the header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let _ = bytes;
        todo!()
    }

    /// Size by DynamoDB's rules.
    #[must_use]
    pub fn item_bytes(&self) -> u32 {
        todo!()
    }

    /// Length of [`Self::write_plain_json`]'s output, newline included.
    #[must_use]
    pub fn plain_json_bytes(&self) -> u32 {
        todo!()
    }

    #[must_use]
    pub fn version(&self) -> Version {
        todo!()
    }

    /// Commit time in milliseconds since the epoch.
    #[must_use]
    pub fn modified_ms(&self) -> u64 {
        todo!()
    }

    /// The attributes' bytes, without the header: equal exactly when two items are equal and were encoded with the same `first`.
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        todo!()
    }

    pub fn to_item(&self) -> Result<Item, StoreError> {
        todo!()
    }

    /// One top-level attribute, the others skipped.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>, StoreError> {
        let _ = name;
        todo!()
    }

    /// Appends the plain JSON line: compact, key attributes first, then by name, newline.
    pub fn write_plain_json(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let _ = out;
        todo!()
    }

    /// Appends `{"name":{"S":"…"},…}` with no newline; only the attributes that `keep` accepts.
    pub fn write_dynamodb_json(&self, keep: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let _ = (keep, out);
        todo!()
    }
}
