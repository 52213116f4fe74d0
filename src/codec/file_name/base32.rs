//! A digest as 26 characters of base32, RFC 4648, lower case, no padding.

use crate::codec::digest::Digest;

/// 128 bits in fives.
pub(super) const TEXT_BYTES: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// The last character holds three bits; two zero bits fill it up.
const FILL_BITS: u32 = 2;

pub(super) fn encode(digest: Digest) -> String {
    let number = u128::from_be_bytes(digest);
    let character = |position: usize| {
        // Bits of the character number `position`, the first one being the topmost five.
        let below = 5 * (TEXT_BYTES - 1 - position) as u32;
        let bits = if below == 0 { number << FILL_BITS } else { number >> (below - FILL_BITS) };
        char::from(ALPHABET[(bits & 31) as usize])
    };
    (0..TEXT_BYTES).map(character).collect()
}

/// The digest of exactly such a text, in either case.
pub(super) fn decode(text: &str) -> Option<Digest> {
    if text.len() != TEXT_BYTES {
        return None;
    }
    let mut number: u128 = 0;
    for (position, byte) in text.bytes().enumerate() {
        let lower = byte.to_ascii_lowercase();
        let bits = ALPHABET.iter().position(|&character| character == lower)? as u128;
        if position + 1 < TEXT_BYTES {
            number = number << 5 | bits;
        } else if bits & ((1 << FILL_BITS) - 1) == 0 {
            number = number << (5 - FILL_BITS) | bits >> FILL_BITS;
        } else {
            return None;
        }
    }
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table_of_texts() {
        for (digest, text) in [
            ([0; 16], "aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            ([0xFF; 16], "77777777777777777777777774"),
            (*b"foobar0123456789", "mzxw6ytboiydcmrtgq2tmnzyhe"),
        ] {
            assert_eq!(encode(digest), text);
            assert_eq!(decode(text), Some(digest));
            assert_eq!(decode(&text.to_ascii_uppercase()), Some(digest));
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
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trips(digest: [u8; 16]) {
            prop_assert_eq!(decode(&encode(digest)), Some(digest));
        }
    }
}
