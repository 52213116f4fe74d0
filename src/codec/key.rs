//! Ordered keys, an order-preserving encoding of key values for the store: the order of encodings
//! is the order of values, and no encoding is a prefix of another of its type, so that encodings
//! can be concatenated and the concatenations keep the order of the tuples. `digest` has the hash
//! of partition keys, `record` the stored items.
//!
//! ```text
//! S, B   each byte of the value, 0x00 escaped as 0x00 0xFF; then the terminator 0x00 0x00
//! N      0        0x02
//!        positive 0x03  exponent  digits  0x00
//!        negative 0x01, then the bytes that follow 0x03 of the positive number, each complemented
//!          exponent  one byte: the power of 100 of the first base-100 digit, -65 to 62, plus 128
//!          digits    base-100 digits aligned at the decimal point, first to last not zero, each one byte, plus 1
//! ```
//! An encoding does not say its type: the schema does. Stored keys hold these bytes, so they never
//! change.

use std::borrow::Borrow;

use super::digest::{Digest, digest};
use crate::model::error::StoreError;
use crate::model::number::DIGITS_MAX;
use crate::model::schema::KeyAttributeType;
use crate::model::{AttributeValue, Number};

const ESCAPED: u8 = 0x00;
const ESCAPE: u8 = 0xFF;
const TERMINATOR: [u8; 2] = [0x00, 0x00];

const NEGATIVE: u8 = 0x01;
const ZERO: u8 = 0x02;
const POSITIVE: u8 = 0x03;
const EXPONENT_BIAS: i16 = 128;
const DIGITS_END: u8 = 0x00;
/// 38 decimal digits that start at an odd place.
const PAIRS_MAX: usize = 20;

/// Appends the ordered encoding of an S, N or B value. Callers have checked that the value has a
/// key type.
pub fn encode(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => encode_bytes(text.as_bytes(), out),
        AttributeValue::B(bytes) => encode_bytes(bytes, out),
        AttributeValue::N(number) => encode_number(number, out),
        _ => debug_assert!(false, "a key value of type {}", value.attribute_type()),
    }
}

/// Returns the ordered encoding of an S or B prefix, without terminator: exactly the values that
/// begin with `prefix` have an encoding that begins with these bytes. `None` for a number.
#[must_use]
pub fn encode_prefix(value: &AttributeValue) -> Option<Vec<u8>> {
    let bytes = match value {
        AttributeValue::S(text) => text.as_bytes(),
        AttributeValue::B(bytes) => bytes,
        _ => return None,
    };
    let mut out = Vec::with_capacity(bytes.len());
    escape(bytes, &mut out);
    Some(out)
}

/// Returns the first key after all keys that start with `prefix`; `None` if there is none (all
/// bytes 0xFF).
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    // 0xFF has no successor: the last byte that has one is raised, and the bytes after it are
    // dropped.
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Decodes the value at the start of `bytes`; returns it with the bytes after it.
///
/// # Errors
/// [`StoreError::Corrupt`] if no value of that type has such an encoding.
pub fn decode(
    attribute_type: KeyAttributeType,
    bytes: &[u8],
) -> Result<(AttributeValue, &[u8]), StoreError> {
    match attribute_type {
        KeyAttributeType::S => {
            let (value, rest) = decode_bytes(bytes)?;
            let text = String::from_utf8(value)
                .map_err(|_| StoreError::Corrupt("a string key is not UTF-8"))?;
            Ok((AttributeValue::S(text), rest))
        }
        KeyAttributeType::B => {
            let (value, rest) = decode_bytes(bytes)?;
            Ok((AttributeValue::B(value), rest))
        }
        KeyAttributeType::N => {
            let (value, rest) = decode_number(bytes)?;
            Ok((AttributeValue::N(value), rest))
        }
    }
}

/// Returns the digest of the partition key values of a table or index, in schema order. It covers
/// the concatenation of the encodings, without types and names, which the schema has.
#[must_use]
pub fn partition_digest<V: Borrow<AttributeValue>>(values: &[V]) -> Digest {
    let mut bytes = Vec::new();
    for value in values {
        encode(value.borrow(), &mut bytes);
    }
    digest(&bytes)
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + TERMINATOR.len());
    for (position, run) in bytes.split(|&byte| byte == ESCAPED).enumerate() {
        if position > 0 {
            out.extend_from_slice(&[ESCAPED, ESCAPE]);
        }
        out.extend_from_slice(run);
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    escape(bytes, out);
    out.extend_from_slice(&TERMINATOR);
}

fn decode_bytes(bytes: &[u8]) -> Result<(Vec<u8>, &[u8]), StoreError> {
    let mut value = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let Some(at) = rest.iter().position(|&byte| byte == ESCAPED) else {
            return Err(StoreError::Corrupt("a key has no terminator"));
        };
        let (run, tail) = rest.split_at(at);
        value.extend_from_slice(run);
        match tail {
            [ESCAPED, ESCAPE, tail @ ..] => {
                value.push(ESCAPED);
                rest = tail;
            }
            [0x00, 0x00, tail @ ..] => return Ok((value, tail)),
            _ => return Err(StoreError::Corrupt("a key has a bad escape")),
        }
    }
}

fn encode_number(number: &Number, out: &mut Vec<u8>) {
    let mut buffer = [0; DIGITS_MAX as usize];
    let digits = number.digits(&mut buffer);
    if digits.is_empty() {
        out.push(ZERO);
        return;
    }
    let negative = number.parts().0;
    let mask = if negative { 0xFF } else { 0 };
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let magnitude = number.magnitude();
    // -65 + 128 to 62 + 128: one byte.
    out.push((magnitude.div_euclid(2) + EXPONENT_BIAS).to_le_bytes()[0] ^ mask);
    // A first digit at an even power of ten is alone in its pair.
    let (first, rest) = digits.split_at(if magnitude.rem_euclid(2) == 0 { 1 } else { 0 });
    out.extend(first.iter().map(|digit| (digit + 1) ^ mask));
    out.extend(
        rest.chunks(2)
            .map(|pair| (pair[0] * 10 + pair.get(1).unwrap_or(&0) + 1) ^ mask),
    );
    out.push(DIGITS_END ^ mask);
}

fn decode_number(bytes: &[u8]) -> Result<(Number, &[u8]), StoreError> {
    const BAD: StoreError = StoreError::Corrupt("a number key cannot be read");
    let (negative, rest) = match bytes {
        [ZERO, rest @ ..] => return Ok((Number::ZERO, rest)),
        [NEGATIVE, rest @ ..] => (true, rest),
        [POSITIVE, rest @ ..] => (false, rest),
        _ => return Err(BAD),
    };
    let mask = if negative { 0xFF } else { 0 };
    let (exponent, rest) = rest.split_first().ok_or(BAD)?;
    let end = rest
        .iter()
        .take(PAIRS_MAX + 1)
        .position(|byte| byte ^ mask == DIGITS_END)
        .ok_or(BAD)?;
    let (pairs, rest) = rest.split_at(end);
    let mut coefficient: u128 = 0;
    for (index, byte) in pairs.iter().enumerate() {
        let pair = (byte ^ mask) - 1;
        let last = index + 1 == pairs.len();
        if pair > 99 || (pair == 0 && (index == 0 || last)) {
            return Err(BAD);
        }
        // The last pair loses its trailing zero, so that 38 digits never overflow.
        let (scale, pair) = if last && pair % 10 == 0 {
            (10, pair / 10)
        } else {
            (100, pair)
        };
        coefficient = coefficient
            .checked_mul(scale)
            .and_then(|c| c.checked_add(u128::from(pair)))
            .ok_or(BAD)?;
    }
    let (Some(last), Ok(pair_count)) = (pairs.last(), i64::try_from(pairs.len())) else {
        return Err(BAD);
    };
    let lost = i64::from(((last ^ mask) - 1) % 10 == 0);
    let first_power = i64::from(exponent ^ mask) - i64::from(EXPONENT_BIAS);
    let power = 2 * (first_power - pair_count + 1) + lost;
    let number = Number::from_parts(negative, coefficient, power).map_err(|_| BAD)?;
    Ok((number, &rest[1..]))
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
