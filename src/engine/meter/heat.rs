//! When a partition is split for its load; `partitions::hot` says where.

use crate::model::layout::{Load, PartitionLimits};

/// Share of its limits that a partition is asked for over the last minute before it splits. The service tells no number.
pub const HEAT_SPLIT_SHARE: f64 = 0.8;

/// How long a partition stays as it is after a split: as long as its load is looked back on.
pub const REST_MS: u64 = 60_000;

const SECONDS: f64 = 60.0;

/// The share of its limits that a partition is asked for, 1 for all; `load` is of the last 60 seconds.
#[must_use]
pub fn share(load: &Load, limits: &PartitionLimits) -> f64 {
    share_over(load, limits, SECONDS)
}

/// As [`share`], of the load of as many seconds.
#[must_use]
pub fn share_over(load: &Load, limits: &PartitionLimits, seconds: f64) -> f64 {
    load.read / seconds / limits.read_units_max + load.write / seconds / limits.write_units_max
}
