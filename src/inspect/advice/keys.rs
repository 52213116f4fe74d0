//! Rules on partition keys.

use super::facts::Facts;
use super::facts::SourceFacts;
use super::point::{Advice, Level};
use crate::inspect::sharding::{PARTITION_WRITE_UNITS, shards};
use crate::inspect::violations::table::cell;
use crate::model::{AttributeValue, IndexKind};

/// With fewer entries nothing is said of how they are spread.
const ENTRIES_MIN: u64 = 100;
/// Distinct values for each hundred entries that are few.
const VALUES_PERCENT_MIN: u64 = 1;
/// So few values are few whatever the entries.
const VALUES_MIN: u64 = 10;
/// The part of all entries, in percent, that makes a value dominant.
const DOMINANT_PERCENT: u64 = 10;
/// Suffixes proposed where nothing is known of the load.
const SHARDS_GUESS: u64 = 10;
/// How many times sparser than a plain sequence a sequence of numbers may be.
const SEQUENCE_GAPS_MAX: u128 = 10;

/// A table or global index, its partition key's names and facts. Local indexes share the table's.
fn sources(facts: &Facts) -> Vec<(String, String, &SourceFacts)> {
    let schema = &facts.description.schema;
    let mut all = vec![(format!("table {}", schema.name), schema.key.partition.name.clone(), &facts.table)];
    for index in facts.indexes.iter().filter(|index| index.schema.kind == IndexKind::Global) {
        let names: Vec<&str> = index.schema.partition.iter().map(|attribute| attribute.name.as_str()).collect();
        all.push((format!("index {}", index.schema.name), names.join(" + "), &index.source));
    }
    all
}

fn is_few(source: &SourceFacts) -> bool {
    let (entries, values) = (source.stats.entries, source.stats.partition_keys);
    entries >= ENTRIES_MIN && (values < VALUES_MIN || values * 100 < entries * VALUES_PERCENT_MIN)
}

/// A suffix range for the table's own write throughput, or a guess.
fn proposed_shards(facts: &Facts) -> u64 {
    let provisioned = facts.description.schema.throughput.map(|throughput| throughput.write_capacity_units);
    provisioned.and_then(|units| shards(units, facts.table.mean_bytes())).unwrap_or(SHARDS_GUESS)
}

pub fn few_values(facts: &Facts) -> Vec<Advice> {
    let few = sources(facts).into_iter().filter(|(_, _, source)| is_few(source));
    few.map(|(subject, key, source)| Advice {
        level: Level::Warning,
        finding: format!(
            "{key} has {} distinct values over {} entries, {} entries a value.",
            source.stats.partition_keys,
            source.stats.entries,
            source.stats.entries / source.stats.partition_keys.max(1)
        ),
        rule: "Prefer partition keys with many distinct values: one value is served by one partition, at most 3,000 read and 1,000 write units a second (P-24, T-02, T-16).",
        remedy: format!(
            "Use an attribute with more values (an order, customer or session id), compose the key of several attributes, or add a suffix 1 to {} to it and read the values back with @pk.shards={key}-,1,{0} or `ddbfs shards`.",
            proposed_shards(facts)
        ),
        subject,
    })
    .collect()
}

pub fn dominant_value(facts: &Facts) -> Vec<Advice> {
    let mut all = Vec::new();
    for (subject, key, source) in sources(facts) {
        let Some(largest) = source.largest.first() else { continue };
        let percent = largest.entries * 100 / source.entries_walked.max(1);
        // Few values are told of already; of two values one always has half.
        if source.stats.entries < ENTRIES_MIN || percent < DOMINANT_PERCENT || is_few(source) {
            continue;
        }
        let value: Vec<String> = largest.partition.iter().map(cell).collect();
        all.push(Advice {
            level: Level::Warning,
            subject,
            finding: format!(
                "{key} {:?} has {percent} % of the entries: {} of {}.",
                value.join(" + "),
                largest.entries,
                source.entries_walked
            ),
            rule: "Uneven data makes a hot partition: what one value gets beyond 3,000 read or 1,000 write units a second is throttled, however much the table has (T-02, T-04, T-21).",
            remedy: format!("Spread this value over suffixes 1 to {}, or give the index another partition key.", proposed_shards(facts)),
        });
    }
    all
}

/// Keys that a source database counted: nobody can ask for them.
pub fn sequence(facts: &Facts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let has_global = schema.indexes_of(IndexKind::Global).next().is_some();
    if schema.key.sort.is_some() || !has_global || facts.sample.len() < 3 {
        return Vec::new();
    }
    let name = &schema.key.partition.name;
    let values: Vec<&AttributeValue> = facts.sample.iter().filter_map(|item| item.get(name)).collect();
    let Some(kind) = sequence_kind(&values) else { return Vec::new() };
    vec![Advice {
        level: Level::Hint,
        subject: format!("table {}", schema.name),
        finding: format!("{name} looks like {kind} made by a database, and there is an index to find items by something else."),
        rule: "A key that no request knows makes every read go through an index: eventually consistent, and one more write for each (T-18, T-19, T-22).",
        remedy: "Make what requests ask for the key of the table, and keep uniqueness with attribute_not_exists instead of a sequence (T-20).".to_owned(),
    }]
}

fn sequence_kind(values: &[&AttributeValue]) -> Option<&'static str> {
    let text = |value: &&AttributeValue| match value {
        AttributeValue::S(text) => Some(text.clone()),
        AttributeValue::N(number) => Some(number.to_string()),
        _ => None,
    };
    let texts: Vec<String> = values.iter().map(text).collect::<Option<_>>()?;
    if texts.iter().all(|text| is_uuid(text)) {
        return Some("a UUID");
    }
    let numbers: Vec<u128> = texts.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let (min, max) = (numbers.iter().min()?, numbers.iter().max()?);
    // A part of a long sequence in hash order is spread over all of it: only the digits can tell then.
    let dense = (max - min) / (numbers.len() as u128) < SEQUENCE_GAPS_MAX;
    dense.then_some("a sequence number")
}

fn is_uuid(text: &str) -> bool {
    let places = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| if places.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() })
}

/// How many values have to be written at once to use what is provisioned.
pub fn write_shards(facts: &Facts) -> Vec<Advice> {
    let schema = &facts.description.schema;
    let Some(throughput) = schema.throughput else { return Vec::new() };
    let units = throughput.write_capacity_units;
    if units <= PARTITION_WRITE_UNITS {
        return Vec::new();
    }
    let needed = units.div_ceil(PARTITION_WRITE_UNITS);
    let bytes = facts.table.mean_bytes();
    vec![Advice {
        level: Level::Note,
        subject: format!("table {}", schema.name),
        finding: format!(
            "{units} write units a second are provisioned; at {bytes} bytes an item they need at least {needed} values of {} written at the same time.",
            schema.key.partition.name
        ),
        rule: "Suffixes for one value: writes a second × item KB, rounded up, ÷ 1,000 (T-09, T-10).",
        remedy: "Count the values that are written in one second at peak; with fewer, add suffixes.".to_owned(),
    }]
}
