//! Write sharding: a partition key value that takes more writes than a partition allows is spread
//! over values with a suffix, `121212-1` to `121212-5` (developer guide, "Using write sharding";
//! docs/requirements.md T-08 to T-17).

/// The writes of 1 KB that one partition takes in a second.
pub const PARTITION_WRITE_UNITS: u64 = 1000;
/// The maximum of suffixes of a key: more are never needed below the quota of a table.
pub const SHARDS_MAX: u64 = 1000;

/// Returns the number of suffixes that a key value needs: `writes × ceil(KB) ÷ 1000`, at least one
/// (T-09). Returns `None` if there would be too many.
#[must_use]
pub fn shard_count(writes_per_second: u64, item_bytes: u64) -> Option<u64> {
    let units = writes_per_second.checked_mul(item_bytes.div_ceil(1024).max(1))?;
    let shards = units.div_ceil(PARTITION_WRITE_UNITS).max(1);
    (shards <= SHARDS_MAX).then_some(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_09_t_10_the_range_of_suffixes() {
        let check = |writes, bytes, expected| {
            assert_eq!(
                shard_count(writes, bytes),
                expected,
                "{writes} writes of {bytes} bytes"
            )
        };
        check(5000, 1024, Some(5));
        check(5000, 1536, Some(10));
        check(900, 1024, Some(1));
        check(0, 0, Some(1));
        check(1001, 100, Some(2));
        check(40_000, 25 * 1024, Some(1000));
        check(40_000, 26 * 1024, None);
        check(u64::MAX, 2048, None);
    }
}
