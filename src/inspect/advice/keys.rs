//! Rules of advice on partition keys: few values, dominant values, times, sequences. Each rule is a
//! function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{IndexFacts, SourceFacts, TableFacts};
use super::format::{Advice, AdviceLevel};
use super::format::{distribution, names, percent, value};
use super::values::{are_times, generator};
use crate::codec::count::plural;
use crate::codec::file_name;
use crate::inspect::sharding::{PARTITION_WRITE_UNITS, shard_count};
use crate::model::{AttributeValue, IndexKind};

/// The minimum of entries from which their distribution allows a conclusion.
const ENTRIES_MIN: u64 = 100;
/// A table with fewer distinct values for each hundred entries has few values.
const VALUES_PERCENT_MIN: u64 = 1;
/// Fewer distinct values than this are few for any number of entries.
const VALUES_MIN: u64 = 10;
/// The part of all entries, in percent, that makes a value dominant, if it also is DOMINANT_TIMES
/// its even share.
const DOMINANT_PERCENT: u64 = 10;
const DOMINANT_TIMES: u64 = 5;
/// The part of the items, in percent, up to which an index is a list of selected items, which may
/// share one key value.
const LIST_PERCENT: u64 = 10;
/// The minimum of entries for each date from which a date key concentrates the writes of a day.
const ENTRIES_A_DATE: u64 = 5;
/// The number of suffixes proposed if the load is unknown.
const SHARDS_GUESS: u64 = 10;

/// A table or global index with its partition key. Local indexes share the table's.
pub struct KeySource<'f> {
    pub index: Option<&'f IndexFacts>,
    /// `table Orders`, `index by-status`
    pub subject: String,
    /// The directory relative to the mount.
    pub path: String,
    /// The names of the partition key's attributes.
    pub key: String,
    pub source: &'f SourceFacts,
}

pub fn key_sources(facts: &TableFacts) -> Vec<KeySource<'_>> {
    let schema = &facts.description.schema;
    let (subject, path) = (facts.subject(None), schema.name.to_string());
    let mut all = vec![KeySource {
        index: None,
        subject,
        path,
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
            subject: facts.subject(Some(&index.schema.name)),
            path: format!("{}/gsi/{}", schema.name, index.schema.name),
            key: names(&index.schema.partition, " + "),
            source: &index.source,
        });
    }
    all
}

impl KeySource<'_> {
    fn has_few_values(&self, facts: &TableFacts) -> bool {
        let (entries, values) = (self.source.stats.entries, self.source.stats.partition_keys);
        let is_list =
            self.index.is_some() && entries * 100 <= facts.table.stats.entries * LIST_PERCENT;
        entries >= ENTRIES_MIN
            && !is_list
            && (values < VALUES_MIN || values * 100 < entries * VALUES_PERCENT_MIN)
    }

    fn has_times(&self) -> bool {
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
        self.source.stats.entries >= ENTRIES_MIN && are_times(&self.key, &values)
    }

    /// True if many entries share one value.
    fn is_grouped(&self) -> bool {
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

    fn distribution(&self) -> String {
        distribution(&self.source.distribution, "values", |entries| {
            entries.to_string()
        })
    }

    /// Returns advice to spread the largest value, with the path that reads it back; numbers take
    /// no suffix.
    fn suffixes(&self, facts: &TableFacts) -> String {
        let shards = proposed_shards(facts);
        let only = self
            .source
            .largest
            .first()
            .and_then(|found| match found.partition.as_slice() {
                [only @ AttributeValue::S(_)] => Some(file_name::encode(only)),
                _ => None,
            });
        only.map_or_else(String::new, |only| {
            format!(
                " Or add a suffix 1 to {shards} to the value and read it back as one with `{}/query/@pk.shards={only}-,1,{shards}/items.ndjson`; `ddbfs shards count` says how many it needs.",
                self.path
            )
        })
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

pub fn few_values(facts: &TableFacts) -> Vec<Advice> {
    let few = key_sources(facts)
        .into_iter()
        .filter(|keyed| keyed.has_few_values(facts) && !keyed.has_times());
    few.map(|keyed| {
        let (values, entries) = (keyed.source.stats.partition_keys, keyed.source.stats.entries);
        let sparse = keyed.index.map_or(String::new(), |index| {
            let names = names(index.schema.attributes(), " or ");
            format!(" Or leave {names} away in items that nobody asks the index for: a sparse index is a short list.")
        });
        Advice {
            level: AdviceLevel::Warning,
            finding: format!(
                "{} has {} over {}: {}; {}.",
                keyed.key,
                plural(values, "distinct value"),
                plural(entries, if keyed.index.is_some() { "entry" } else { "item" }),
                keyed.top(),
                keyed.distribution()
            ),
            rule: "Prefer partition keys with many distinct values: one value is served by one partition, at most 3,000 read and 1,000 write units a second (P-24, T-02, T-16).",
            remedy: format!(
                "Use an attribute with more values (an order, customer or session id) or compose the key of several attributes.{sparse}{}",
                keyed.suffixes(facts)
            ),
            subject: keyed.subject,
        }
    })
    .collect()
}

pub fn dominant_value(facts: &TableFacts) -> Vec<Advice> {
    let mut all = Vec::new();
    for keyed in key_sources(facts) {
        let (source, Some(largest)) = (keyed.source, keyed.source.largest.first()) else {
            continue;
        };
        let is_list = keyed.index.is_some()
            && source.stats.entries * 100 <= facts.table.stats.entries * LIST_PERCENT;
        let sum = source.distribution.sum;
        let is_dominant = largest.entries * 100 >= sum * DOMINANT_PERCENT
            && largest.entries * source.distribution.count >= sum * DOMINANT_TIMES;
        // Few values are reported already; of two values one always has half.
        if source.stats.entries < ENTRIES_MIN
            || !is_dominant
            || is_list
            || keyed.has_few_values(facts)
            || keyed.has_times()
        {
            continue;
        }
        all.push(Advice {
            level: AdviceLevel::Warning,
            finding: format!(
                "{} {} has {} of the entries: {} of {sum}; {}.",
                keyed.key,
                value(&largest.partition),
                percent(largest.entries as f64, sum as f64),
                largest.entries,
                keyed.distribution()
            ),
            rule: "Uneven data makes a hot partition: what one value gets beyond 3,000 read or 1,000 write units a second is throttled, however much the table has (T-02, T-04, T-21).",
            remedy: format!(
                "Compose the key of this attribute and another one; `{}/partitions/big.tsv` has the largest.{}",
                keyed.path,
                keyed.suffixes(facts)
            ),
            subject: keyed.subject,
        });
    }
    all
}

/// Reports keys that are dates or times: every write goes to today's date, and a moment is never
/// requested again.
pub fn times(facts: &TableFacts) -> Vec<Advice> {
    let all = key_sources(facts).into_iter().filter(KeySource::has_times);
    all.map(|keyed| {
        let (entries, values) = (keyed.source.stats.entries, keyed.source.stats.partition_keys);
        let (subject, key) = (keyed.subject.clone(), &keyed.key);
        let bounds = bounds(&keyed);
        if keyed.is_grouped() {
            return Advice {
                level: AdviceLevel::Warning,
                subject,
                finding: format!("{key} is a date: {values} of them, {bounds}, over {entries} entries; {}.", keyed.distribution()),
                rule: "Of dates today's takes every write: one partition does all the work, at most 1,000 write units a second, and the others none (T-02, T-04, T-21).",
                remedy: format!("Make the customer, device or session the partition key and the date the sort key.{}", keyed.suffixes(facts)),
            };
        }
        Advice {
            level: AdviceLevel::Hint,
            subject,
            finding: format!("{key} is a time: {values} of them, {bounds}, over {entries} entries, about one each."),
            rule: "A partition key is asked for by equality alone: nobody can ask for a range of these times, only scan (P-22, G-02).",
            remedy: format!("Make the time the sort key below a partition key that requests know; `{}/scan/` is what is left otherwise.", keyed.path),
        }
    })
    .collect()
}

/// Returns the least and greatest of the sampled values.
fn bounds(keyed: &KeySource<'_>) -> String {
    let mut values: Vec<&[AttributeValue]> = keyed
        .source
        .keys
        .iter()
        .map(|(key, _)| key.as_slice())
        .collect();
    // Times of one form sort as their text.
    values.sort_by_key(|values| value(values));
    let (first, last) = (
        values.first().copied().unwrap_or_default(),
        values.last().copied().unwrap_or_default(),
    );
    format!("from {} to {}", value(first), value(last))
}

/// Reports keys that a database generated in sequence: a client does not know them when it makes a
/// request.
pub fn sequence(facts: &TableFacts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let has_global = schema.indexes_of(IndexKind::Global).next().is_some();
    // A client that reads the table itself knows its keys.
    let base = facts
        .traffic
        .as_ref()
        .and_then(|traffic| traffic.source(None));
    let is_asked = base.is_some_and(|base| base.hot.iter().any(|key| key.load.read > 0.0));
    if schema.key.sort.is_some() || !has_global || facts.table.keys.len() < 3 || is_asked {
        return Vec::new();
    }
    let name = names([&schema.key.partition], "");
    let values: Vec<&AttributeValue> = facts
        .table
        .keys
        .iter()
        .filter_map(|(key, _)| key.first())
        .collect();
    let Some(kind) = generator(&values) else {
        return Vec::new();
    };
    vec![Advice {
        level: AdviceLevel::Hint,
        subject: facts.subject(None),
        finding: format!("{name} looks like {kind} made by a database, and there is an index to find items by something else."),
        rule: "A key that no request knows makes every read go through an index: eventually consistent, and one more write for each (T-18, T-19, T-22).",
        remedy: "Make what requests ask for the key of the table, and keep uniqueness with attribute_not_exists instead of a sequence (T-20).".to_owned(),
    }]
}

/// Returns advice on write sharding: the number of key values that must be written at once to use
/// the provisioned units.
pub fn write_shards(facts: &TableFacts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let Some(throughput) = schema.throughput else {
        return Vec::new();
    };
    let units = throughput.write_capacity_units;
    if units <= PARTITION_WRITE_UNITS {
        return Vec::new();
    }
    let needed = units.div_ceil(PARTITION_WRITE_UNITS);
    let bytes = facts.table.mean_bytes();
    vec![Advice {
        level: AdviceLevel::Note,
        subject: facts.subject(None),
        finding: format!(
            "{units} write units a second are provisioned; at {bytes} bytes an item they need at least {needed} values of {} written at the same time.",
            names([&schema.key.partition], "")
        ),
        rule: "Suffixes for one value: writes a second × item KB, rounded up, ÷ 1,000 (T-09, T-10).",
        remedy: format!(
            "Count the values that are written in one second at peak (`{}/partitions/hot.tsv`); with fewer, add suffixes.",
            schema.name
        ),
    }]
}
