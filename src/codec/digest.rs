//! The 128-bit digest of a partition key: BLAKE3, first 16 bytes.
//!
//! It places an item collection in the hash order of its table and names keys too long for a file name. Never change it:
//! stored keys hold it.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

/// A digest in big-endian order: comparing bytes is comparing hash positions.
pub type Digest = [u8; 16];

/// Digest of an encoded key (see [`super::key`]).
#[must_use]
pub fn digest(encoded: &[u8]) -> Digest {
    let mut out = [0; 16];
    out.copy_from_slice(&blake3::hash(encoded).as_bytes()[..16]);
    out
}

/// Two lower-case digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The bytes of such a text, in either case; `None` for any other.
#[must_use]
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_never_change() {
        let empty = [0xAF, 0x13, 0x49, 0xB9, 0xF5, 0xF9, 0xA1, 0xA6, 0xA0, 0x40, 0x4D, 0xEA, 0x36, 0xDC, 0xC9, 0x49];
        let abc = [0x64, 0x37, 0xB3, 0xAC, 0x38, 0x46, 0x51, 0x33, 0xFF, 0xB6, 0x3B, 0x75, 0x27, 0x3A, 0x8D, 0xB5];
        assert_eq!(digest(b""), empty);
        assert_eq!(digest(b"abc"), abc);
    }
}
