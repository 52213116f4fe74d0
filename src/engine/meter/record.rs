//! What was asked of a source over a while, by partition and by key, in bounded space.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::pyramid::Merge;
use crate::codec::digest::{Digest, hex, unhex};
use crate::model::layout::{Busiest, Load, WindowLoad};

/// Keys that a record tells of; what others were asked for is in the sums of their partitions.
pub const KEYS_MAX: usize = 50;
/// Partitions that a record tells of.
pub const PARTITIONS_MAX: usize = 256;

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "HeatForm", into = "HeatForm")]
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

/// [`HeatRecord`] in the store: rows of a partition's number, or the digest of a key in hexadecimal digits, and its load.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatForm {
    partitions: Vec<(u32, Row)>,
    keys: Vec<(String, Row)>,
}

/// Read and write units, throttled reads and writes; the busiest second and the same of it.
type Row = (f64, f64, u64, u64, u64, f64, f64, u64, u64);

fn row(heat: &WindowLoad) -> Row {
    // Shares of a scan have many digits, of which a thousandth of a unit is enough.
    let short = |units: f64| (units * 1e3).round() / 1e3;
    let (load, Busiest { second, load: top }) = (&heat.load, &heat.busiest);
    let (reads, writes) = (load.read_throttles, load.write_throttles);
    (
        short(load.read),
        short(load.write),
        reads,
        writes,
        *second,
        short(top.read),
        short(top.write),
        top.read_throttles,
        top.write_throttles,
    )
}

fn heat(row: Row) -> WindowLoad {
    let (read, write, read_throttles, write_throttles, second, top_read, top_write, top_reads, top_writes) = row;
    let top = Load { read: top_read, write: top_write, read_throttles: top_reads, write_throttles: top_writes };
    WindowLoad { load: Load { read, write, read_throttles, write_throttles }, busiest: Busiest { second, load: top } }
}

impl From<HeatRecord> for HeatForm {
    fn from(record: HeatRecord) -> Self {
        Self {
            partitions: record.partitions.iter().map(|(id, heat)| (*id, row(heat))).collect(),
            keys: record.keys.iter().map(|(key, heat)| (hex(key), row(heat))).collect(),
        }
    }
}

impl From<HeatForm> for HeatRecord {
    fn from(form: HeatForm) -> Self {
        let key = |(text, row): (String, Row)| Some((digest_of(&text)?, heat(row)));
        Self {
            partitions: form.partitions.into_iter().map(|(id, row)| (id, heat(row))).collect(),
            keys: form.keys.into_iter().filter_map(key).collect(),
        }
    }
}

fn digest_of(text: &str) -> Option<Digest> {
    unhex(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::base::stored::{decode, encode};

    fn load(units: f64) -> WindowLoad {
        let load = Load { read: units, write: units, read_throttles: 123_456, write_throttles: 123_456 };
        WindowLoad { load, busiest: Busiest { second: 1_700_000_000, load } }
    }

    #[test]
    fn a_full_record_is_stored_in_less_than_50_kb_and_read_as_it_was() {
        let mut record = HeatRecord::default();
        for n in 0..1_000_u32 {
            record.partitions.insert(n, load(f64::from(n) + 0.5));
            record.keys.insert(u128::from(n).to_be_bytes(), load(f64::from(n) + 0.125));
        }
        record.trim();
        assert_eq!((record.partitions.len(), record.keys.len()), (PARTITIONS_MAX, KEYS_MAX));
        // The hottest stayed.
        assert!(record.partitions.contains_key(&999) && record.keys.contains_key(&999_u128.to_be_bytes()));
        let bytes = encode(&record).unwrap();
        assert!(bytes.len() < 50_000, "{}", bytes.len());
        assert_eq!(decode::<HeatRecord>(&bytes).unwrap(), record);
    }
}
