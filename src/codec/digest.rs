//! The 128-bit digest of a partition key: BLAKE3, first 16 bytes.
//!
//! It places an item collection in the hash order of its table and names keys too long for a file name. Never change it:
//! stored keys hold it.

use data_encoding::{BASE32_NOPAD_NOCASE, HEXLOWER, HEXLOWER_PERMISSIVE};

/// A digest in big-endian order: comparing bytes is comparing hash positions.
pub type Digest = [u8; 16];

/// Returns the digest of an encoded key (see [`super::key`]).
#[must_use]
pub fn digest(encoded: &[u8]) -> Digest {
    let mut out = [0; 16];
    out.copy_from_slice(&blake3::hash(encoded).as_bytes()[..16]);
    out
}

/// Returns two lower-case hexadecimal digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// Decodes hexadecimal digits of either case; `None` for any other text.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()
}

/// The length of a digest in base32: 128 bits in groups of five. The last character holds three
/// bits and two zero bits.
pub const BASE32_BYTES: usize = 26;

/// Encodes a digest in base32: RFC 4648, lower case, no padding.
#[must_use]
pub fn base32(digest: Digest) -> String {
    BASE32_NOPAD_NOCASE.encode(&digest).to_ascii_lowercase()
}

/// Decodes the base32 of exactly one digest, in either case.
#[must_use]
pub fn parse_base32(text: &str) -> Option<Digest> {
    BASE32_NOPAD_NOCASE
        .decode(text.as_bytes())
        .ok()?
        .try_into()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_never_change() {
        let empty = [
            0xAF, 0x13, 0x49, 0xB9, 0xF5, 0xF9, 0xA1, 0xA6, 0xA0, 0x40, 0x4D, 0xEA, 0x36, 0xDC,
            0xC9, 0x49,
        ];
        let abc = [
            0x64, 0x37, 0xB3, 0xAC, 0x38, 0x46, 0x51, 0x33, 0xFF, 0xB6, 0x3B, 0x75, 0x27, 0x3A,
            0x8D, 0xB5,
        ];
        assert_eq!(digest(b""), empty);
        assert_eq!(digest(b"abc"), abc);
    }
}

#[cfg(test)]
mod base32_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table_of_texts() {
        for (digest, text) in [
            ([0; 16], "aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            ([0xFF; 16], "77777777777777777777777774"),
            (*b"foobar0123456789", "mzxw6ytboiydcmrtgq2tmnzyhe"),
        ] {
            assert_eq!(base32(digest), text);
            assert_eq!(parse_base32(text), Some(digest));
            assert_eq!(parse_base32(&text.to_ascii_uppercase()), Some(digest));
        }
    }

    #[test]
    fn other_texts_are_no_digests() {
        for text in [
            "",
            "a",
            "aaaaaaaaaaaaaaaaaaaaaaaaab",
            "1aaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "éaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(parse_base32(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trips(digest: [u8; 16]) {
            prop_assert_eq!(parse_base32(&base32(digest)), Some(digest));
        }
    }
}
