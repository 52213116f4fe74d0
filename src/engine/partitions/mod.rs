//! A model of DynamoDB's partitions: ranges of the hash space (and of the sort keys of one collection) with limits of size and
//! throughput, that split as the service's do. The store itself is one tree and has none.
//!
//! ```text
//! map.rs      the ranges, and their stored form
//! content.rs  what lies in a range
//! hot.rs      where one is cut for its load
//! sample.rs   which of its places were asked for
//! rounds.rs   what the rounds of splits remember
//! ```
//! The splits are made in `background::splits`.

pub mod content;
pub mod hot;
pub mod map;
pub mod rounds;
pub mod sample;

use std::sync::Arc;

pub use map::{Partition, PartitionMap};

use super::base::keys::{SourceId, StoreKey};
use super::base::stored;
use super::catalog::TableEntry;
use crate::model::IndexKind;
use crate::model::error::StoreError;
use crate::model::schema::ProvisionedThroughput;
use crate::store::{Read, Write};

/// What a partition gives for throughput that is asked for in advance, units a second (docs/dynamodb.md 22.1). Fixed, so that the partitions of a
/// table do not depend on options.
const READ_UNITS: u64 = 3_000;
const WRITE_UNITS: u64 = 1_000;

/// Of a new on-demand table or index: 12,000 read and 4,000 write units a second.
const ON_DEMAND_PARTITIONS: u64 = 4;

/// Partitions that provisioned throughput needs: `ceil(RCU/3000 + WCU/1000)`, at least one (docs/requirements.md P-10).
#[must_use]
pub fn needed_for(throughput: Option<ProvisionedThroughput>) -> usize {
    let count = match throughput {
        None => ON_DEMAND_PARTITIONS,
        Some(throughput) => {
            // In thirds of a write unit, so that there is no rounding before the end.
            let thirds = throughput.read_capacity_units + throughput.write_capacity_units * (READ_UNITS / WRITE_UNITS);
            thirds.div_ceil(READ_UNITS)
        }
    };
    usize::try_from(count.max(1)).unwrap_or(usize::MAX)
}

/// The partitions of a table or global index: as stored, or those it begins with.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn load(read: &dyn Read, table: &TableEntry, source: SourceId) -> Result<Arc<PartitionMap>, StoreError> {
    let map = match read.get(&StoreKey::Partitions(source).encode())? {
        Some(bytes) => stored::decode(bytes)?,
        None => PartitionMap::even(needed_for(table.throughput_of(source)), table.created_ms),
    };
    Ok(Arc::new(map))
}

/// The base of a table and its global indexes: what has partitions of its own.
pub fn sources(table: &TableEntry) -> impl Iterator<Item = SourceId> {
    std::iter::once(table.source).chain(table.sources_of(IndexKind::Global))
}

/// Stores the partitions of a table that is made or changed: as many as its throughput needs, and never fewer than it had, `old`
/// being what it was.
///
/// # Errors
/// Those of the store.
pub fn keep(batch: &mut dyn Write, old: Option<&TableEntry>, new: &TableEntry, now_ms: u64) -> Result<(), StoreError> {
    for source in sources(new) {
        let key = StoreKey::Partitions(source).encode();
        let before = batch.get(&key)?.map(<[u8]>::to_vec);
        let old = old.filter(|old| sources(old).any(|of_old| of_old == source));
        let mut map = match before.as_deref().map(stored::decode::<PartitionMap>) {
            Some(Ok(map)) => map,
            // Damage is told to who reads it; a table whose partitions are damaged can still be changed and dropped.
            Some(Err(_)) => continue,
            None => {
                PartitionMap::even(needed_for(old.unwrap_or(new).throughput_of(source)), old.map_or(now_ms, |old| old.created_ms))
            }
        };
        map.grow_to(needed_for(new.throughput_of(source)), now_ms);
        let bytes = stored::encode(&map)?;
        if before.is_none_or(|before| before != bytes) {
            batch.put(&key, &bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
            let throughput = ProvisionedThroughput { read_capacity_units, write_capacity_units };
            assert_eq!(needed_for(Some(throughput)), expected, "{throughput:?}");
        }
        assert_eq!(needed_for(None), 4);
    }
}
