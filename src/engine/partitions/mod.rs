//! A model of DynamoDB's partitions: ranges of the hash space (and of the sort keys of one
//! collection) with limits of size and throughput, that split as the service's do. The store itself
//! is one tree without partitions.
//!
//! ```text
//! map.rs      the ranges, and their stored form
//! content.rs  the content of a range
//! hot.rs      when and where a partition is cut for its load, samples of the load
//! ```
//! The splits are made in `background::splits`.

pub mod content;
pub mod hot;
pub mod map;

use std::collections::HashMap;

use super::{base::stored_form, prelude::*};
use crate::model::schema::ProvisionedThroughput;

pub use map::{Partition, PartitionMap};

/// The throughput of a partition in units per second, for provisioned throughput (docs/dynamodb.md
/// 22.1). Constant, so that the partitions of a table do not depend on options.
const READ_UNITS: u64 = 3_000;
const WRITE_UNITS: u64 = 1_000;

/// The partitions of a new on-demand table or index: 12,000 read and 4,000 write units a second.
const ON_DEMAND_PARTITIONS: u64 = 4;

/// Returns the number of partitions for provisioned throughput: `ceil(RCU/3000 + WCU/1000)`, at
/// least one (docs/requirements.md P-10).
#[must_use]
pub fn required_count(throughput: Option<ProvisionedThroughput>) -> usize {
    let count = match throughput {
        None => ON_DEMAND_PARTITIONS,
        Some(throughput) => {
            // In thirds of a write unit, so that nothing is rounded before the end.
            let thirds = throughput.read_capacity_units
                + throughput.write_capacity_units * (READ_UNITS / WRITE_UNITS);
            thirds.div_ceil(READ_UNITS)
        }
    };
    usize::try_from(count.max(1)).unwrap_or(usize::MAX)
}

/// Returns the partitions of a table or global index: the stored ones, or the initial ones.
pub fn load(
    read: &dyn Read,
    table: &TableEntry,
    source: SourceId,
) -> Result<Arc<PartitionMap>, StoreError> {
    let map = match read.get(&StoreKey::Partitions(source).encode())? {
        Some(bytes) => stored_form::decode(bytes)?,
        None => PartitionMap::even(
            required_count(table.throughput_of(source)),
            table.created_ms,
        ),
    };
    Ok(Arc::new(map))
}

/// Returns the sources with partitions of their own: the base of a table and its global indexes.
pub fn sources(table: &TableEntry) -> impl Iterator<Item = SourceId> {
    std::iter::once(table.source).chain(table.sources_of(IndexKind::Global))
}

/// Stores the partitions of a table that is created or changed: as many as its throughput needs,
/// and never fewer than before; `old` is the entry before the change.
pub fn store_maps(
    batch: &mut dyn Write,
    old: Option<&TableEntry>,
    new: &TableEntry,
    now_ms: u64,
) -> Result<(), StoreError> {
    for source in sources(new) {
        let key = StoreKey::Partitions(source).encode();
        let before = batch.get(&key)?.map(<[u8]>::to_vec);
        let old = old.filter(|old| sources(old).any(|of_old| of_old == source));
        let mut map = match before.as_deref().map(stored_form::decode::<PartitionMap>) {
            Some(Ok(map)) => map,
            // A reader gets the error; a table with a damaged map can still be changed and dropped.
            Some(Err(_)) => continue,
            None => PartitionMap::even(
                required_count(old.unwrap_or(new).throughput_of(source)),
                old.map_or(now_ms, |old| old.created_ms),
            ),
        };
        map.grow_to(required_count(new.throughput_of(source)), now_ms);
        let bytes = stored_form::encode(&map)?;
        if before.is_none_or(|before| before != bytes) {
            batch.put(&key, &bytes)?;
        }
    }
    Ok(())
}

// The state of the rounds of splits, so that a round looks only at changed sources.

/// The state that the rounds of splits keep.
#[derive(Debug, Default)]
pub struct SplitState(Mutex<SplitMemory>);

#[derive(Debug, Default)]
struct SplitMemory {
    /// The commit of the last full round.
    commit: Option<u64>,
    /// The bytes of a source when it last needed no split.
    measured: HashMap<SourceId, u64>,
    /// The time at which a partition, by source and number, was last checked for its load, in
    /// milliseconds since the epoch.
    last_checks: HashMap<(SourceId, u32), u64>,
}

impl SplitState {
    /// Records the commit of a round; returns true if it is another than that of the last round.
    pub fn replace_commit(&self, commit: u64) -> bool {
        self.0.lock().commit.replace(commit) != Some(commit)
    }

    /// Records a commit that needs no round.
    pub fn skip(&self, commit: u64) {
        self.0.lock().commit = Some(commit);
    }

    /// Returns the bytes of a source when it was last measured; 0 at first.
    #[must_use]
    pub fn measured(&self, source: SourceId) -> u64 {
        self.0.lock().measured.get(&source).copied().unwrap_or(0)
    }

    /// Records that a source of that many bytes needs no split.
    pub fn set_measured(&self, source: SourceId, bytes: u64) {
        self.0.lock().measured.insert(source, bytes);
    }

    /// Records a check of a hot partition; returns true if a check is due after `rest_ms`.
    pub fn is_due(&self, source: SourceId, partition: u32, now_ms: u64, rest_ms: u64) -> bool {
        let mut remembered = self.0.lock();
        let last = remembered.last_checks.get(&(source, partition)).copied();
        let is_due = last.is_none_or(|last| now_ms.saturating_sub(last) >= rest_ms);
        if is_due {
            remembered.last_checks.insert((source, partition), now_ms);
        }
        is_due
    }

    /// Removes sources that belong to no table any more.
    pub fn retain(&self, is_live: impl Fn(SourceId) -> bool) {
        let mut remembered = self.0.lock();
        remembered.measured.retain(|source, _| is_live(*source));
        remembered
            .last_checks
            .retain(|(source, _), _| is_live(*source));
    }
}

#[cfg(test)]
mod partitions_tests {
    use super::*;

    #[test]
    fn table_of_partitions_for_throughput() {
        let cases = [
            (1, 1, 1),
            (3000, 0, 1),
            (3000, 1, 2),
            (0, 1000, 1),
            (0, 3000, 3),
            (1500, 500, 1),
            (1501, 500, 2),
            (10_000, 10_000, 14),
        ];
        for (read_capacity_units, write_capacity_units, expected) in cases {
            let throughput = ProvisionedThroughput {
                read_capacity_units,
                write_capacity_units,
            };
            assert_eq!(required_count(Some(throughput)), expected, "{throughput:?}");
        }
        assert_eq!(required_count(None), 4);
    }
}
