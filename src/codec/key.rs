//! Ordered key bytes. (encoder, decoder and table of exact bytes: to be written)
//!
//! ```text
//! S, B   each byte, 0x00 escaped as 0x00 0xFF; then the terminator 0x00 0x00
//! N      class byte (negative, zero, positive), exponent, base-100 digits + 1, terminator; complemented when negative
//! ```
//! Prefix-free, so encodings can be concatenated; order of encodings is order of values.

use super::digest::Digest;
use crate::model::AttributeValue;

/// Appends the ordered encoding of an S, N or B value. Other types never reach a key: checked before.
pub fn encode(value: &AttributeValue, out: &mut Vec<u8>) {
    let _ = (value, out);
    todo!()
}

/// The ordered encoding of an S or B prefix, without terminator: every value that begins with `prefix` begins with these bytes.
/// `None` for a number.
#[must_use]
pub fn encode_prefix(value: &AttributeValue) -> Option<Vec<u8>> {
    let _ = value;
    todo!()
}

/// Digest of the partition key values of a table or index, in schema order.
#[must_use]
pub fn partition_digest(values: &[&AttributeValue]) -> Digest {
    let _ = values;
    todo!()
}
