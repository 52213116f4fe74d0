//! The 128-bit digest of a partition key: BLAKE3, first 16 bytes.
//!
//! It places an item collection in the hash order of its table and names keys too long for a file name. Never change it:
//! stored keys hold it.

/// A digest in big-endian order: comparing bytes is comparing hash positions.
pub type Digest = [u8; 16];

/// Digest of an encoded key (see [`super::key`]).
#[must_use]
pub fn digest(encoded: &[u8]) -> Digest {
    let mut out = [0; 16];
    out.copy_from_slice(&blake3::hash(encoded).as_bytes()[..16]);
    out
}
