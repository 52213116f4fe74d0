//! Items to records.

use super::{FORMAT, HEADER_BYTES, read, tag};
use crate::codec::json::visit::ordered;
use crate::codec::plain_json::line_len;
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::number::TEXT_BYTES_MAX;
use crate::model::{AttributeValue, Item, Number};

/// Encodes an item. `first` are the key attribute names in the order in which to render them first (those the item has).
#[must_use]
pub fn encode(item: &Item, first: &[&str], version: Version, modified_ms: u64) -> Vec<u8> {
    let item_bytes = item.size();
    // Room for tags and lengths of small attributes.
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

/// The record that [`encode`] makes of the same item with another `first`: its attributes are moved, none is encoded again.
///
/// # Errors
/// [`StoreError::Corrupt`]
pub fn reordered(record: &[u8], first: &[&str]) -> Result<Vec<u8>, StoreError> {
    let (head, content) = record.split_at_checked(HEADER_BYTES).ok_or(StoreError::Corrupt("a record is too short"))?;
    let mut attributes = Vec::with_capacity(16);
    read::each_span(content, |name, span| attributes.push((name, span)))?;
    // Those that were first and are not any more go to their place among the others.
    attributes.sort_unstable_by_key(|(name, _)| (first.iter().position(|of_first| of_first == name).unwrap_or(first.len()), *name));
    let mut out = Vec::with_capacity(record.len());
    out.extend_from_slice(head);
    out.extend_from_slice(&u32_of(attributes.len()).to_le_bytes());
    attributes.iter().for_each(|(_, span)| out.extend_from_slice(span));
    Ok(out)
}

/// Gives a record another version and time.
pub fn stamp(record: &mut [u8], version: Version, modified_ms: u64) {
    if let Some(at) = record.get_mut(9..HEADER_BYTES) {
        at.copy_from_slice(&[version.to_le_bytes(), modified_ms.to_le_bytes()].concat());
    }
}

/// Items are at most 400 KB, so every length fits.
fn u32_of(length: usize) -> u32 {
    debug_assert!(u32::try_from(length).is_ok());
    u32::try_from(length).unwrap_or(u32::MAX)
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

/// The tag, the size of what `body` appends, and that.
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
        AttributeValue::Ss(set) => put_sized(tag::SS, out, |out| set.iter().for_each(|text| put_text(text.as_bytes(), out))),
        AttributeValue::Ns(set) => put_sized(tag::NS, out, |out| set.iter().for_each(|number| put_number(number, out))),
        AttributeValue::Bs(set) => put_sized(tag::BS, out, |out| set.iter().for_each(|bytes| put_text(bytes, out))),
        AttributeValue::L(list) => put_sized(tag::L, out, |out| list.iter().for_each(|element| put_value(element, out))),
        AttributeValue::M(map) => put_sized(tag::M, out, |out| {
            for (name, member) in map {
                put_text(name.as_bytes(), out);
                put_value(member, out);
            }
        }),
    }
}
