//! Rules of advice on the recorded load: hot keys, throttles, unused indexes, wasted reads. Each
//! rule is a function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{SourceTraffic, TableFacts, Traffic};
use super::format::{Advice, AdviceLevel};
use super::format::{minute, percent, units, value};
use super::keys::{KeySource, key_sources};
use crate::codec::count::plural;
use crate::model::IndexKind;
use crate::model::metrics::{HotKey, ReadCounts};

/// The minimum of load, as Contributor Insights weighs it, from which its distribution allows a
/// conclusion.
const WEIGHT_MIN: f64 = 3000.0;
/// The minimum of units of a table from which the absence of reads of an index allows a conclusion.
const UNITS_MIN: f64 = 500.0;
/// The minimum of distinct values to judge: with fewer, one of them always has a large share.
const VALUES_MIN: u64 = 10;
/// The minimum of evaluated items to judge reads as wasteful.
const EVALUATED_MIN: u64 = 1000;
/// The ratio of evaluated to returned items from which reads are wasteful.
const WASTE_RATIO: u64 = 10;
/// The part of the load that makes a key hot, and the part for one that comes near to the limits of
/// a partition.
const HOT_SHARE: f64 = 0.2;
const NEAR_HOT_SHARE: f64 = 0.05;
/// The ratio of a hot key's share of the load to its share of the data.
const LOAD_TO_DATA_RATIO: f64 = 1.5;
/// The part of a partition's limits from which a key is close to being throttled.
const NEAR_SHARE: f64 = 0.5;

fn with_traffic<'f>(
    facts: &'f TableFacts,
) -> impl Iterator<Item = (KeySource<'f>, &'f Traffic, &'f SourceTraffic)> {
    let traffic = facts.traffic.as_ref();
    key_sources(facts).into_iter().filter_map(move |keyed| {
        let of = traffic?.source(keyed.index.map(|index| &index.schema.name))?;
        Some((keyed, traffic?, of))
    })
}

fn key_name(hot: &HotKey) -> String {
    hot.key
        .as_ref()
        .map_or_else(|| "a key that has no items".to_owned(), |key| value(key))
}

/// Reports keys with a large share of the load.
pub fn hot_keys(facts: &TableFacts) -> Vec<Advice> {
    with_traffic(facts)
        .filter_map(|(keyed, traffic, of)| hot_key(&keyed, traffic, of))
        .collect()
}

fn hot_key(
    keyed: &KeySource<'_>,
    traffic: &Traffic,
    source_traffic: &SourceTraffic,
) -> Option<Advice> {
    let (all, hot, gives) = (
        &source_traffic.day,
        source_traffic.hot.first()?,
        &traffic.partition,
    );
    let busiest = &hot.peak.load;
    let of_partition = busiest.read / gives.read + busiest.write / gives.write;
    let is_near = of_partition >= NEAR_SHARE || hot.load.throttles() > 0;
    let share = hot.load.weight() / all.weight().max(1.0);
    let hot_share = if is_near { NEAR_HOT_SHARE } else { HOT_SHARE };
    let is_hot = share >= hot_share.max(share_of_data(keyed, hot) * LOAD_TO_DATA_RATIO);
    if all.weight() < WEIGHT_MIN || keyed.source.stats.partition_keys < VALUES_MIN || !is_hot {
        return None;
    }
    Some(Advice {
        level: if is_near {
            AdviceLevel::Warning
        } else {
            AdviceLevel::Hint
        },
        subject: keyed.subject.clone(),
        finding: format!(
            "{} {} takes {} of the load of the last day: {} of {} read and {} of {} write units. In its busiest second it was asked for {} read and {} write units, {} of the {} and {} that a partition gives.",
            keyed.key,
            key_name(hot),
            percent(share, 1.0),
            units(hot.load.read),
            units(all.read),
            units(hot.load.write),
            units(all.write),
            units(busiest.read),
            units(busiest.write),
            percent(of_partition, 1.0),
            units(gives.read),
            units(gives.write)
        ),
        rule: "A hot key is throttled beyond 3,000 read or 1,000 write units a second, whatever the table has; a write weighs three times a read (T-02, T-04, T-07, T-21).",
        remedy: format!(
            "For reads a cache (`ddbfs serve --cache` shows what one would do); for writes suffixes (`ddbfs shards count`); `{}/partitions/hot.day.tsv` has the others.",
            keyed.path
        ),
    })
}

/// Returns the key's share of all entries: as much load as data is no news.
fn share_of_data(keyed: &KeySource<'_>, hot: &HotKey) -> f64 {
    let found = keyed
        .source
        .largest
        .iter()
        .find(|collection| hot.key.as_ref() == Some(&collection.partition));
    found.map_or(0.0, |collection| {
        collection.entries as f64 / keyed.source.distribution.sum.max(1) as f64
    })
}

/// Reports requests that were throttled.
pub fn throttles(facts: &TableFacts) -> Vec<Advice> {
    with_traffic(facts)
        .filter(|(.., of)| of.day.throttles() > 0)
        .map(|(keyed, _, of)| throttled(facts, keyed, of))
        .collect()
}

fn throttled(facts: &TableFacts, keyed: KeySource<'_>, source_traffic: &SourceTraffic) -> Advice {
    let hot = source_traffic
        .hot
        .iter()
        .filter(|key| key.load.throttles() > 0)
        .max_by_key(|key| key.load.throttles());
    let on = hot.map_or_else(String::new, |hot| {
        format!(
            ", {} of them on {} {} in partition {}",
            hot.load.throttles(),
            keyed.key,
            key_name(hot),
            hot.partition
        )
    });
    let limit = source_traffic
        .provisioned()
        .map_or_else(String::new, |given| {
            format!(
                " The busiest minutes got {} of {} read and {} of {} write units a second.",
                units(source_traffic.peak.read),
                given.read_capacity_units,
                units(source_traffic.peak.write),
                given.write_capacity_units
            )
        });
    Advice {
        level: AdviceLevel::Warning,
        finding: format!(
            "{} {} throttled in the last day: {} and {}{on}.{limit}",
            plural(source_traffic.day.throttles(), "request"),
            if source_traffic.day.throttles() == 1 {
                "was"
            } else {
                "were"
            },
            plural(source_traffic.day.read_throttles, "read"),
            plural(source_traffic.day.write_throttles, "write")
        ),
        rule: "There are three causes: uneven data, a hot key, more than is provisioned; an index without write units throttles its table (T-01, T-02, T-04, G-44, G-45).",
        remedy: format!(
            "If one key has most of them, spread it; otherwise more units in `{}/schema.json`. `{}/partitions/heat.day.tsv` tells partitions from each other, `{1}/partitions/hot.day.tsv` keys.",
            facts.name(),
            keyed.path
        ),
        subject: keyed.subject,
    }
}

/// Reports indexes that are written and never read, while the table is read.
pub fn unused_indexes(facts: &TableFacts) -> Vec<Advice> {
    let Some(traffic) = &facts.traffic else {
        return Vec::new();
    };
    let all = traffic.load();
    let mut unused = Vec::new();
    for index in &facts.indexes {
        let Some(of) = traffic
            .source(Some(&index.schema.name))
            .map(SourceTraffic::load)
        else {
            continue;
        };
        if all.read + all.write < UNITS_MIN || all.read == 0.0 || of.read > 0.0 || of.write == 0.0 {
            continue;
        }
        let is_global = index.schema.kind == IndexKind::Global;
        unused.push(Advice {
            level: AdviceLevel::Hint,
            subject: facts.subject(Some(&index.schema.name)),
            finding: format!(
                "No read of it since {}; its writes took {} of {} write units, {}.",
                minute(traffic.since_ms),
                units(of.write),
                units(all.write),
                percent(of.write, all.write)
            ),
            rule: "Every index makes writes dearer and is stored and billed whether it is read or not (G-36, G-52, G-62, L-23).",
            remedy: if is_global {
                format!(
                    "When a whole cycle of the load was seen, a month's end too: `rmdir {}/gsi/{}`.",
                    facts.name(),
                    index.schema.name
                )
            } else {
                "A local index goes with its table only (L-08): leave it out of the next table.".to_owned()
            },
        });
    }
    unused
}

/// Reports queries and scans that read much and return little of it.
pub fn waste(facts: &TableFacts) -> Vec<Advice> {
    let sources = facts.traffic.iter().flat_map(|traffic| &traffic.sources);
    sources
        .flat_map(|source| {
            [
                (source, "Queries", &source.queries),
                (source, "Scans", &source.scans),
            ]
        })
        .filter_map(|(source, kind, reads)| wasted(facts, source, kind, reads))
        .collect()
}

fn wasted(
    facts: &TableFacts,
    source: &SourceTraffic,
    kind: &str,
    reads: &ReadCounts,
) -> Option<Advice> {
    if reads.evaluated < EVALUATED_MIN || reads.returned * WASTE_RATIO > reads.evaluated {
        return None;
    }
    let name = facts.name();
    Some(Advice {
        level: AdviceLevel::Hint,
        subject: facts.subject(source.index.as_ref()),
        finding: format!(
            "{kind} evaluated {} in the last day and returned {}, {}: about {} of the {} read units that they took were for nothing.",
            plural(reads.evaluated, "item"),
            reads.returned,
            percent(reads.returned as f64, reads.evaluated as f64),
            units(
                reads.units * (reads.evaluated - reads.returned.min(reads.evaluated)) as f64
                    / reads.evaluated as f64
            ),
            units(reads.units)
        ),
        rule: "A filter is applied after reading: what it drops is paid for, and the more the table grows (G-02, G-25, L-44).",
        remedy: format!(
            "Put what the filter asks for into a key: `gsi NAME attribute:S` into `{name}/ctl` makes an index of it, and one of the items that are wanted alone is short; `explain.json` beside a query's results tells its cost and a cheaper path."
        ),
    })
}
