//! A digest as 26 characters of base32, RFC 4648, lower case, no padding.

use data_encoding::BASE32_NOPAD_NOCASE;

use crate::codec::digest::Digest;

/// 128 bits in fives; the last character holds three, and two zero bits.
pub(super) const TEXT_BYTES: usize = 26;

pub(super) fn encode(digest: Digest) -> String {
    BASE32_NOPAD_NOCASE.encode(&digest).to_ascii_lowercase()
}

/// The digest of exactly such a text, in either case.
pub(super) fn decode(text: &str) -> Option<Digest> {
    BASE32_NOPAD_NOCASE.decode(text.as_bytes()).ok()?.try_into().ok()
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
