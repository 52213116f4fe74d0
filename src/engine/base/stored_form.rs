//! The serialization of stored values: binary parts one after the other ([`encode_parts`]), and
//! JSON objects ([`StoredForm`]) with the version of the form in the member `v`. The other members
//! are those that the type derives.
//!
//! A program reads its own version and all earlier ones; it refuses a newer form with an error and
//! does not change it. Members may be added without a new version if they have a default and an
//! earlier program may drop them.

use std::cmp::Ordering;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::prelude::*;

/// A value with a stored form.
pub trait StoredForm: Serialize + DeserializeOwned {
    /// The version that is written.
    const VERSION: u8;
    /// The name of the value in errors: `a catalog entry`.
    const NAME: &'static str;

    /// Converts the form of an earlier version to the members of today; returns `None` if it is not
    /// of that version. A form without `v` is version 0.
    #[must_use]
    fn upgrade(_version: u64, value: Value) -> Option<Value> {
        Some(value)
    }

    /// True if the members are consistent with each other.
    #[must_use]
    fn is_consistent(&self) -> bool {
        true
    }
}

/// True if a member has its default and is left out of the form.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    v: u8,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Deserialize)]
struct FormVersion {
    #[serde(default)]
    v: u64,
}

/// Encodes a value as JSON.
///
/// # Errors
/// Fails with `Corrupt` for a value that has no form, such as a map with keys that are not strings.
pub fn encode<T: StoredForm>(value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(&Versioned {
        v: T::VERSION,
        value,
    })
    .map_err(|_| StoreError::Corrupt(T::NAME))
}

/// Decodes a value from JSON.
///
/// # Errors
/// Fails with `Corrupt` if the bytes are none of its forms, with `Format` if a newer version wrote
/// them.
pub fn decode<T: StoredForm>(bytes: &[u8]) -> Result<T, StoreError> {
    let damaged = |_| StoreError::Corrupt(T::NAME);
    let FormVersion { v } = serde_json::from_slice(bytes).map_err(damaged)?;
    let value: T = match v.cmp(&T::VERSION.into()) {
        Ordering::Greater => return Err(StoreError::Format(u8::try_from(v).unwrap_or(u8::MAX))),
        Ordering::Equal => serde_json::from_slice(bytes).map_err(damaged)?,
        Ordering::Less => {
            let upgraded = T::upgrade(v, serde_json::from_slice(bytes).map_err(damaged)?);
            serde_json::from_value(upgraded.ok_or(StoreError::Corrupt(T::NAME))?)
                .map_err(damaged)?
        }
    };
    if value.is_consistent() {
        Ok(value)
    } else {
        Err(StoreError::Corrupt(T::NAME))
    }
}

// The parts of stored keys and values, one after the other; the encoder of a part stands beside its
// decoder. Numbers are big-endian.

/// A part of stored bytes, or several.
pub trait Part<'a>: Sized {
    fn put(&self, out: &mut Vec<u8>);
    /// Takes the part at the beginning of `rest` and leaves the bytes behind it; returns `None` if
    /// `rest` does not begin with one.
    fn take(rest: &mut &'a [u8]) -> Option<Self>;
}

/// Encodes parts.
#[must_use]
pub fn encode_parts<'a>(parts: &impl Part<'a>) -> Vec<u8> {
    let mut out = Vec::new();
    parts.put(&mut out);
    out
}

/// Decodes parts that fill `bytes` completely.
///
/// # Errors
/// Fails with `Corrupt`, naming `name`, if they do not.
pub fn decode_parts<'a, P: Part<'a>>(
    mut bytes: &'a [u8],
    name: &'static str,
) -> Result<P, StoreError> {
    P::take(&mut bytes)
        .filter(|_| bytes.is_empty())
        .ok_or(StoreError::Corrupt(name))
}

/// Bytes with their length as u32 before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixed<'a>(pub &'a [u8]);

impl<'a> Part<'a> for Prefixed<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        // A wrong length would make the whole value unreadable.
        assert!(length < u32::MAX, "a record and a key are below 1 MB");
        length.put(out);
        self.0.put(out);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let length = usize::try_from(u32::take(rest)?).ok()?;
        let (bytes, behind) = rest.split_at_checked(length)?;
        *rest = behind;
        Some(Self(bytes))
    }
}

macro_rules! big_endian_parts {
    ($($number:ty)*) => {
        $(impl<'a> Part<'a> for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn take(rest: &mut &'a [u8]) -> Option<Self> {
                let (bytes, behind) = rest.split_first_chunk()?;
                *rest = behind;
                Some(Self::from_be_bytes(*bytes))
            }
        })*
    };
}
big_endian_parts!(u8 u16 u32 u64);

impl<'a> Part<'a> for &'a Digest {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(*self);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let (digest, behind) = rest.split_first_chunk()?;
        *rest = behind;
        Some(digest)
    }
}

/// All remaining bytes.
impl<'a> Part<'a> for &'a [u8] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        Some(std::mem::take(rest))
    }
}

/// All remaining bytes; `None` if there are none.
impl<'a> Part<'a> for Option<&'a [u8]> {
    fn put(&self, out: &mut Vec<u8>) {
        self.unwrap_or_default().put(out);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        Some(Some(std::mem::take(rest)).filter(|bytes| !bytes.is_empty()))
    }
}

/// All remaining bytes.
impl<'a> Part<'a> for &'a str {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        std::str::from_utf8(std::mem::take(rest)).ok()
    }
}

macro_rules! tuple_parts {
    ($($part:ident)*) => {
        impl<'a, $($part: Part<'a>),*> Part<'a> for ($($part,)*) {
            #[allow(non_snake_case)]
            fn put(&self, out: &mut Vec<u8>) {
                let ($($part,)*) = self;
                $($part.put(out);)*
            }

            fn take(rest: &mut &'a [u8]) -> Option<Self> {
                Some(($($part::take(rest)?,)*))
            }
        }
    };
}
tuple_parts!(A B);
tuple_parts!(A B C);
tuple_parts!(A B C D);
tuple_parts!(A B C D E);

#[cfg(test)]
mod parts_tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let parts = (1_u8, 258_u64, Prefixed(b"ab"), &b"cd"[..]);
        let bytes = [
            1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 2, b'a', b'b', b'c', b'd',
        ];
        assert_eq!(encode_parts(&parts), bytes);
        assert_eq!(decode_parts(&bytes, "parts"), Ok(parts));
        for cut in [0, 8, 12, 14] {
            let cut: Result<(u8, u64, Prefixed<'_>, &[u8]), _> =
                decode_parts(&bytes[..cut], "parts");
            assert_eq!(cut, Err(StoreError::Corrupt("parts")));
        }
        assert_eq!(
            decode_parts::<u64>(&[0; 9], "a number"),
            Err(StoreError::Corrupt("a number"))
        );
        assert_eq!(
            decode_parts(&[0, 1], "parts"),
            Ok((0_u8, Some(&[1_u8][..])))
        );
        assert_eq!(decode_parts(&[0], "parts"), Ok((0_u8, None::<&[u8]>)));
    }
}
