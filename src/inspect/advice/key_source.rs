//! The tables and indexes with partition keys, as the rules see them: the base, and each global index.

use super::facts::{IndexFacts, SourceFacts, SourceTraffic, TableFacts};
use super::format::{distribution, names, percent, value};
use super::values::{KeyTimes, times};
use crate::codec::file_name;
use crate::inspect::sharding::shard_count;
use crate::model::{AttributeValue, IndexKind, IndexName};

/// The minimum of entries from which their distribution allows a conclusion.
pub const ENTRIES_MIN: u64 = 100;
/// The minimum of entries for each date from which a date key concentrates the writes of a day.
const ENTRIES_A_DATE: u64 = 5;
/// The number of suffixes proposed if the load is unknown.
const SHARDS_GUESS: u64 = 10;

/// A table or global index with its partition key. Local indexes share the table's.
pub struct KeySource<'f> {
    pub index: Option<&'f IndexFacts>,
    /// The directory relative to the mount.
    pub path: String,
    /// The names of the partition key's attributes.
    pub key: String,
    pub source: &'f SourceFacts,
}

pub fn key_sources(facts: &TableFacts) -> Vec<KeySource<'_>> {
    let schema = &facts.description.schema;
    let mut all = vec![KeySource {
        index: None,
        path: schema.name.to_string(),
        key: names([&schema.key.partition], ""),
        source: &facts.table,
    }];
    for index in facts
        .indexes
        .iter()
        .filter(|index| index.schema.kind == IndexKind::Global)
    {
        all.push(KeySource {
            index: Some(index),
            path: format!("{}/gsi/{}", schema.name, index.schema.name),
            key: names(&index.schema.partition, " + "),
            source: &index.source,
        });
    }
    all
}

impl KeySource<'_> {
    /// Returns the name of the index; `None` for the table.
    pub fn index_name(&self) -> Option<&IndexName> {
        self.index.map(|index| &index.schema.name)
    }

    /// Returns the recorded load.
    pub fn traffic<'f>(&self, facts: &'f TableFacts) -> Option<&'f SourceTraffic> {
        facts.traffic.as_ref()?.source(self.index_name())
    }

    pub fn times(&self) -> Option<KeyTimes> {
        let single = |(key, modified_ms)| {
            <[_]>::first(key)
                .filter(|_| <[_]>::len(key) == 1)
                .map(|value| (value, modified_ms))
        };
        let values: Vec<(&AttributeValue, u64)> = self
            .source
            .keys
            .iter()
            .filter_map(|(key, modified_ms)| single((key.as_slice(), *modified_ms)))
            .collect();
        let is_judged = self.source.stats.entries >= ENTRIES_MIN;
        times(&self.key, &values).filter(|_| is_judged)
    }

    /// True if many entries share one value.
    pub fn is_grouped(&self) -> bool {
        self.source.stats.entries >= self.source.stats.partition_keys * ENTRIES_A_DATE
    }

    /// Returns the largest values with their shares.
    pub fn top(&self) -> String {
        let sum = self.source.distribution.sum as f64;
        let share = |entries: u64| percent(entries as f64, sum);
        let top = self
            .source
            .largest
            .iter()
            .map(|found| format!("{} {}", value(&found.partition), share(found.entries)));
        top.collect::<Vec<_>>().join(", ")
    }

    pub fn distribution(&self) -> String {
        distribution(&self.source.distribution, "values", |entries| {
            entries.to_string()
        })
    }

    pub fn thing(&self) -> &'static str {
        if self.index.is_some() {
            "entry"
        } else {
            "item"
        }
    }

    /// Returns `table` or `index`.
    pub fn kind(&self) -> &'static str {
        if self.index.is_some() {
            "index"
        } else {
            "table"
        }
    }

    /// Returns the way to spread the largest value, with the path that reads it back; numbers take
    /// no suffix.
    pub fn suffixes(&self, facts: &TableFacts) -> Option<String> {
        let shards = proposed_shards(facts);
        let [only @ AttributeValue::S(_)] = self.source.largest.first()?.partition.as_slice()
        else {
            return None;
        };
        let only = file_name::encode(only);
        Some(format!(
            "Add a suffix of 1 to {shards} to the value. `{}/query/@pk.shards={only}-,1,{shards}/items.ndjson` reads its parts as one.",
            self.path
        ))
    }
}

/// Returns a suffix range for the table's own write throughput, or a guess.
fn proposed_shards(facts: &TableFacts) -> u64 {
    let provisioned = facts
        .description
        .schema
        .throughput
        .map(|throughput| throughput.write_capacity_units);
    provisioned
        .and_then(|units| shard_count(units, facts.table.mean_bytes()))
        .filter(|shards| *shards > 1)
        .unwrap_or(SHARDS_GUESS)
}
