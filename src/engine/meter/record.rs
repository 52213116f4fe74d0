//! What was asked of a source over a while, by partition and by key, in bounded space.

use std::collections::BTreeMap;

use super::pyramid::Merge;
use crate::codec::digest::Digest;
use crate::model::layout::WindowLoad;

/// Keys that a record tells of; what others were asked for is in the sums of their partitions.
pub const KEYS_MAX: usize = 64;
/// Partitions that a record tells of.
pub const PARTITIONS_MAX: usize = 128;

/// See the module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatRecord {
    /// By the number of the partition.
    pub partitions: BTreeMap<u32, WindowLoad>,
    pub keys: BTreeMap<Digest, WindowLoad>,
}

impl Merge for HeatRecord {
    fn merge(&mut self, other: &Self) {
        add_all(&mut self.partitions, &other.partitions);
        add_all(&mut self.keys, &other.keys);
    }

    fn trim(&mut self) {
        keep_hottest(&mut self.partitions, PARTITIONS_MAX);
        keep_hottest(&mut self.keys, KEYS_MAX);
    }

    fn is_none(&self) -> bool {
        self.partitions.is_empty() && self.keys.is_empty()
    }
}

fn add_all<K: Ord + Copy>(to: &mut BTreeMap<K, WindowLoad>, from: &BTreeMap<K, WindowLoad>) {
    from.iter().for_each(|(name, load)| to.entry(*name).or_default().merge(load));
}

/// The hottest first: by units, then by requests that were throttled.
pub fn hottest<K: Ord + Copy>(loads: &BTreeMap<K, WindowLoad>) -> Vec<(K, WindowLoad)> {
    let mut loads: Vec<(K, WindowLoad)> = loads.iter().map(|(name, load)| (*name, *load)).collect();
    let rank = |heat: &WindowLoad| (heat.load.weight(), heat.load.throttles());
    // Of equals the first by name: the sort is stable.
    loads.sort_by(|(_, a), (_, b)| rank(b).0.total_cmp(&rank(a).0).then(rank(b).1.cmp(&rank(a).1)));
    loads
}

fn keep_hottest<K: Ord + Copy>(loads: &mut BTreeMap<K, WindowLoad>, count: usize) {
    if loads.len() > count {
        *loads = hottest(loads).into_iter().take(count).collect();
    }
}
