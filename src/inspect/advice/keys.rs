//! Rules of advice on partition keys: values with a large share, times, sequences. Each rule is a
//! function from [`TableFacts`] to a list of [`Advice`].

use super::facts::TableFacts;
use super::format::{Advice, AdviceCost, AdviceLevel};
use super::format::{names, percent, units, value};
use super::key_source::{ENTRIES_MIN, KeySource, key_sources};
use super::load::{Pressure, RateOrigin, month_of_rate, pressure};
use super::traffic;
use super::values::{KeyTimes, generator};
use crate::codec::count::plural;
use crate::inspect::sharding::PARTITION_WRITE_UNITS;
use crate::model::metrics::Period;
use crate::model::{AttributeValue, IndexKind};

/// The number of distinct values up to which all of them are told.
const VALUES_TOLD: u64 = 10;

/// Reports a value that would be too hot for its partition, by its share and the rate of its table
/// or index.
pub fn value_share(facts: &TableFacts) -> Vec<Advice> {
    let all = key_sources(facts);
    let judged = all
        .into_iter()
        .filter(|keyed| keyed.source.stats.entries >= ENTRIES_MIN)
        .filter(|keyed| {
            !(keyed.is_grouped() && keyed.times().is_some_and(|found| !found.is_ahead))
        });
    judged
        .filter_map(|keyed| value_advice(facts, keyed))
        .collect()
}

fn value_advice(facts: &TableFacts, keyed: KeySource<'_>) -> Option<Advice> {
    let source = keyed.source;
    let largest = source.largest.first()?;
    let sum = source.distribution.sum.max(1) as f64;
    let found = pressure(facts, &keyed, largest.entries as f64 / sum)?;
    let level = found.level()?;
    // A key that was seen to be too hot is told by the rule on the load.
    if traffic::hot_keys_of(facts, &keyed).is_some_and(|hot| hot.level <= level) {
        return None;
    }
    let values = if source.stats.partition_keys <= VALUES_TOLD {
        format!(
            "{} has {} over {}: {}.",
            keyed.key,
            plural(source.stats.partition_keys, "distinct value"),
            plural(source.stats.entries, keyed.thing()),
            keyed.top()
        )
    } else {
        format!(
            "{} {} has {} of the entries: {} of {}; {}.",
            keyed.key,
            value(&largest.partition),
            percent(largest.entries as f64, sum),
            largest.entries,
            source.distribution.sum,
            keyed.distribution()
        )
    };
    let sparse = keyed.index.map_or(String::new(), |index| {
        let names = names(index.schema.attributes(), " or ");
        format!(" Items that no query of the index looks for need no {names}: a sparse index is a short list.")
    });
    let suffixes = keyed
        .suffixes(facts)
        .map_or_else(String::new, |way| format!(" Or keep the key. {way}"));
    Some(Advice {
        level,
        finding: format!("{values} {}", ceiling(&keyed, &found)),
        cost: pressure_cost(facts, &found),
        rule: "One value is served by one partition. Beyond 3,000 read or 1,000 write units a second its requests are throttled, however much the table has (P-24, T-02, T-04, T-16, T-21).",
        remedy: format!(
            "Use an attribute with more values as partition key, or a key composed of several attributes. `{}/partitions/big.tsv` has the largest values.{sparse}{suffixes}",
            keyed.path
        ),
        index: keyed.index_name().cloned(),
    })
}

/// Returns the rate at which the value meets its limit, beside the rate that is expected.
fn ceiling(keyed: &KeySource<'_>, found: &Pressure) -> String {
    let (kind, rate) = (found.access.name(), units(found.rate));
    let expected = match found.origin {
        RateOrigin::Seen => format!("its busiest minute took {rate}"),
        RateOrigin::Provisioned => format!("{rate} are provisioned"),
        RateOrigin::OnDemand => format!("on demand it begins with {rate}"),
    };
    format!(
        "With {} on one value the {} serves at most {} {kind} units a second; {expected}.",
        percent(found.share, 1.0),
        keyed.kind(),
        units(found.ceiling())
    )
}

fn pressure_cost(facts: &TableFacts, found: &Pressure) -> AdviceCost {
    let of = format!("{} {}", units(found.limit), found.access.name());
    let cost = AdviceCost::default().of_limit(found.of_limit(), &of);
    match (&facts.traffic, found.origin) {
        (Some(traffic), RateOrigin::Provisioned) if found.of_limit() > 1.0 => {
            let unusable = found.rate - found.ceiling();
            cost.money(
                month_of_rate(traffic, found.access, unusable),
                &traffic.prices.currency,
            )
        }
        _ => cost,
    }
}

/// Reports keys that are dates or times: the writes of the present go to one value, and a moment is
/// never requested again.
pub fn times_as_keys(facts: &TableFacts) -> Vec<Advice> {
    key_sources(facts)
        .iter()
        .filter_map(|keyed| time_advice(facts, keyed, keyed.times()?))
        .collect()
}

fn time_advice(facts: &TableFacts, keyed: &KeySource<'_>, times: KeyTimes) -> Option<Advice> {
    let entries = keyed.source.stats.entries;
    let (index, key) = (keyed.index_name().cloned(), &keyed.key);
    let (unit, values) = (times.unit, bounds(keyed));
    if !keyed.is_grouped() {
        return Some(Advice {
            level: AdviceLevel::Hint,
            index,
            finding: format!("{key} is a time: {values}, over {entries} entries, about one each."),
            cost: AdviceCost::default(),
            rule: "A query names one value of the partition key. No query can ask for a range of these times, only a scan (P-22, G-02).",
            remedy: format!(
                "Make the time the sort key below a partition key that requests know. `{}/scan/` is what is left otherwise.",
                keyed.path
            ),
        });
    }
    // All writes of the present go to one value, unless they are for times to come.
    let found = pressure(facts, keyed, 1.0).filter(|_| !times.is_ahead)?;
    let suffixes = keyed.suffixes(facts).map_or_else(String::new, |way| {
        format!("To keep the query of one {unit}: {way} ")
    });
    Some(Advice {
        level: found.level()?,
        index,
        finding: format!(
            "{key} is a {unit}: {values}, over {entries} entries; {}. {}",
            keyed.distribution(),
            ceiling(keyed, &found)
        ),
        cost: pressure_cost(facts, &found),
        rule: "The present time takes every write: one partition serves them all, at most 1,000 write units a second, and the others none (T-02, T-04, T-21).",
        remedy: format!(
            "{suffixes}Where queries ask for one customer, device or session, make that the partition key and the {unit} the sort key."
        ),
    })
}

/// Returns the number of values, and the least and greatest of the sampled ones.
fn bounds(keyed: &KeySource<'_>) -> String {
    let mut sampled: Vec<&[AttributeValue]> = keyed
        .source
        .keys
        .iter()
        .map(|(key, _)| key.as_slice())
        .collect();
    // Times of one form sort as their text.
    sampled.sort_by_key(|values| value(values));
    let (first, last) = (
        sampled.first().copied().unwrap_or_default(),
        sampled.last().copied().unwrap_or_default(),
    );
    match keyed.source.stats.partition_keys {
        1 => format!("one value, {}", value(first)),
        values => format!("{values} values, from {} to {}", value(first), value(last)),
    }
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
    let is_asked = base.is_some_and(|base| {
        let hot = &base.window(Period::Day).hot;
        hot.iter().any(|key| key.load.read > 0.0)
    });
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
    let Some(kind) = generator(&values, facts.table.stats.partition_keys) else {
        return Vec::new();
    };
    vec![Advice {
        level: AdviceLevel::Hint,
        index: None,
        finding: format!("{name} looks like {kind} made by a database. An index finds items by something else, and no request reads the table by its key."),
        cost: AdviceCost::default(),
        rule: "A key that no request knows makes every read go through an index. Such a read is eventually consistent, and every write costs one more for the index (T-18, T-19, T-22).",
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
        index: None,
        finding: format!(
            "{units} write units a second are provisioned. At {bytes} bytes an item they need writes to at least {needed} values of {} at the same time.",
            names([&schema.key.partition], "")
        ),
        cost: AdviceCost::default(),
        rule: "Suffixes for one value: writes a second × item KB, rounded up, ÷ 1,000 (T-09, T-10).",
        remedy: format!(
            "Count the values that are written in one second at peak (`{}/partitions/hot.tsv`). If they are fewer, add suffixes.",
            schema.name
        ),
    }]
}
