//! Range scans: helpers that visit, collect or delete the entries of a range of keys, and the
//! segments of a parallel scan. They are built on `store::try_walk`.

use crate::engine::prelude::*;
use crate::model::{api::Segment, error::QueryError};

/// True if a range has any key.
pub fn has_any(read: &dyn Read, range: &KeyRange) -> Result<bool, StoreError> {
    Ok(first(read, range, |_, _| Ok(Some(())))?.is_some())
}

/// Deletes the first keys of a range, at most `count`; returns how many there were.
pub fn delete_first(
    batch: &mut dyn Write,
    range: &KeyRange,
    count: usize,
) -> Result<usize, StoreError> {
    let doomed = take_while(batch.as_read(), range, count, |key, _| Some(key.to_vec()))?;
    for key in &doomed {
        batch.delete(key)?;
    }
    Ok(doomed.len())
}

/// Collects the results of `convert` for the first entries of a range, at most `count`, up to the
/// first `None`.
pub fn take_while<T>(
    read: &dyn Read,
    range: &KeyRange,
    count: usize,
    mut convert: impl FnMut(&[u8], &[u8]) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    read.walk(
        range,
        Direction::Forward,
        &mut |key, value| match convert(key, value).filter(|_| found.len() < count) {
            Some(taken) => {
                found.push(taken);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        },
    )?;
    Ok(found)
}

/// Collects the results of `convert` for the entries of a range, at most `limit`; returns also whether
/// there are more.
///
/// # Errors
/// Fails with errors of the store and of `convert`.
pub fn page<T>(
    read: &dyn Read,
    range: &KeyRange,
    limit: usize,
    mut convert: impl FnMut(&[u8], &[u8]) -> Result<Option<T>, StoreError>,
) -> Result<(Vec<T>, bool), StoreError> {
    let (mut found, mut has_more) = (Vec::new(), false);
    try_walk(read, range, Direction::Forward, |key, value| {
        if let Some(taken) = convert(key, value)? {
            has_more = found.len() == limit;
            if has_more {
                return Ok(ControlFlow::Break(()));
            }
            found.push(taken);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((found, has_more))
}

/// Visits the entries of a range.
///
/// # Errors
/// Fails with errors of the store and of `visit`.
pub fn each(
    read: &dyn Read,
    range: &KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    try_walk(read, range, Direction::Forward, |key, value| {
        visit(key, value).map(ControlFlow::Continue)
    })
}

/// Returns the result of `read_entry` for the first entry of a range.
///
/// # Errors
/// Fails with errors of the store and of `read_entry`.
pub fn first<T>(
    read: &dyn Read,
    range: &KeyRange,
    mut read_entry: impl FnMut(&[u8], &[u8]) -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut found = None;
    try_walk(read, range, Direction::Forward, |key, value| {
        found = read_entry(key, value)?;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Walks until a batch is full: by the number of entries or by the bytes that `visit` returns.
/// Returns the last key then; `None` at the end of the range.
///
/// # Errors
/// Fails with errors of the store and of `visit`.
pub fn batch(
    read: &dyn Read,
    range: &KeyRange,
    entries_max: usize,
    bytes_max: usize,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<usize, StoreError>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let (mut entries, mut bytes, mut last) = (0, 0, None);
    try_walk(read, range, Direction::Forward, |key, value| {
        bytes += visit(key, value)?;
        entries += 1;
        if entries < entries_max && bytes < bytes_max {
            return Ok(ControlFlow::Continue(()));
        }
        last = Some(key.to_vec());
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

// Segments of a parallel scan: ranges of the hash space; segment k of n is `[k·2^128/n,
// (k+1)·2^128/n)`.

/// Returns the first digest of a segment and the first one behind it; `None` is the end of the hash
/// space.
#[must_use]
pub fn segment_digests(segment: Segment) -> (Digest, Option<Digest>) {
    let upper =
        (segment.index + 1 < segment.total).then(|| boundary(segment.index + 1, segment.total));
    (boundary(segment.index, segment.total), upper)
}

/// True if a digest is in the segment.
#[must_use]
pub fn segment_contains(segment: Segment, digest: &Digest) -> bool {
    let (lower, upper) = segment_digests(segment);
    lower <= *digest && upper.is_none_or(|upper| *digest < upper)
}

/// Checks the number of a segment.
///
/// # Errors
/// Fails with `SegmentRange` if the segment is not below the total.
pub fn check_segment(segment: Segment) -> Result<(), QueryError> {
    if segment.index < segment.total {
        return Ok(());
    }
    Err(QueryError::SegmentRange {
        segment: segment.index,
        total: segment.total,
    })
}

/// Returns `ceil(k·2^128/n)` for k < n, with 2^128 = q·n + r.
fn boundary(k: u32, n: u32) -> Digest {
    let (k, n) = (u128::from(k), u128::from(n.max(1)));
    let (q, r) = (u128::MAX / n, u128::MAX % n + 1);
    // r is at most n, so k·r is far below 2^128, and the sum below 2^128 since k < n.
    (k * q + (k * r).div_ceil(n)).to_be_bytes()
}

#[cfg(test)]
mod segment_tests {
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
                let (lower, upper) = segment_digests(Segment { index, total });
                assert!(at <= lower);
                assert_eq!(upper.is_none(), index + 1 == total);
                if let Some(upper) = upper {
                    assert_eq!(
                        segment_digests(Segment {
                            index: index + 1,
                            total
                        })
                        .0,
                        upper
                    );
                    assert!(lower < upper);
                    assert!(
                        segment_contains(Segment { index, total }, &lower)
                            && !segment_contains(Segment { index, total }, &upper)
                    );
                    at = upper;
                }
            }
        }
    }
}
