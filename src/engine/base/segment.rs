//! Segments of a parallel scan: ranges of the hash space, segment k of n being `[k·2^128/n, (k+1)·2^128/n)`.

use crate::codec::digest::Digest;
use crate::model::api::Segment;
use crate::model::error::QueryError;

/// The digests of a segment: from the first, up to but not including the second; no second is the end of the hash space.
#[must_use]
pub fn digests(segment: Segment) -> (Digest, Option<Digest>) {
    let upper = (segment.index + 1 < segment.total).then(|| boundary(segment.index + 1, segment.total));
    (boundary(segment.index, segment.total), upper)
}

/// Is a digest in the segment?
#[must_use]
pub fn contains(segment: Segment, digest: &Digest) -> bool {
    let (lower, upper) = digests(segment);
    lower <= *digest && upper.is_none_or(|upper| *digest < upper)
}

/// # Errors
/// `SegmentRange` when the segment is not below the total.
pub fn check(segment: Segment) -> Result<(), QueryError> {
    if segment.index < segment.total {
        return Ok(());
    }
    Err(QueryError::SegmentRange { segment: segment.index, total: segment.total })
}

/// `ceil(k·2^128/n)` for k < n, with 2^128 = q·n + r.
fn boundary(k: u32, n: u32) -> Digest {
    let (k, n) = (u128::from(k), u128::from(n.max(1)));
    let (q, r) = (u128::MAX / n, u128::MAX % n + 1);
    // r is at most n, so k·r is far below 2^128, and the sum below 2^128 since k < n.
    (k * q + (k * r).div_ceil(n)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_boundaries() {
        let cases: &[(u32, u32, u128)] = &[
            (0, 1, 0),
            (0, 1_000_000, 0),
            (1, 2, 1 << 127),
            (1, 4, 1 << 126),
            (3, 4, 3 << 126),
            (1, 3, 0x5555_5555_5555_5555_5555_5555_5555_5556),
            (2, 3, 0xAAAA_AAAA_AAAA_AAAA_AAAA_AAAA_AAAA_AAAB),
        ];
        for (k, n, expected) in cases {
            assert_eq!(boundary(*k, *n), expected.to_be_bytes(), "{k} of {n}");
        }
    }

    #[test]
    fn segments_share_the_hash_space_without_gap_or_overlap() {
        for total in [1, 2, 3, 7, 4096, 1_000_000] {
            let mut at = [0; 16];
            for index in (0..total).step_by(1 + total as usize / 50) {
                let (lower, upper) = digests(Segment { index, total });
                assert!(at <= lower);
                assert_eq!(upper.is_none(), index + 1 == total);
                if let Some(upper) = upper {
                    assert_eq!(digests(Segment { index: index + 1, total }).0, upper);
                    assert!(lower < upper);
                    assert!(contains(Segment { index, total }, &lower) && !contains(Segment { index, total }, &upper));
                    at = upper;
                }
            }
        }
    }
}
