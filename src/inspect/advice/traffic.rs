//! Rules of advice on the recorded load: hot keys, throttles, unused indexes, wasted reads, scans.
//! Each rule is a function from [`TableFacts`] to a list of [`Advice`].

use super::facts::{IndexFacts, SourceTraffic, TableFacts, Traffic};
use super::format::{Advice, AdviceCost, AdviceLevel};
use super::format::{minute, partition, percent, subject, units, value};
use super::indexes::{LOCAL_STAYS, is_sparse, path};
use super::key_source::{KeySource, key_sources};
use super::load::{Access, HotLoad, NEAR_LIMIT, hot_loads, month_of_daily};
use crate::codec::count::plural;
use crate::model::IndexKind;
use crate::model::metrics::{HotKey, Load, Period, ReadCounts};
use crate::model::prices::MONTH_HOURS;

/// The minimum of units of a table from which the absence of reads of an index allows a conclusion.
const UNITS_MIN: f64 = 500.0;
/// The writes from which on a vector index without a search is called unused.
const VECTOR_WRITES_MIN: u64 = 100;
/// The minimum of evaluated items to judge reads as wasteful.
const EVALUATED_MIN: u64 = 1000;
/// The ratio of evaluated to returned items from which reads are wasteful.
const WASTE_RATIO: u64 = 10;
/// The part of all read units from which scans are worth a hint, and the number of times that they
/// read a whole table in a day: one is a report or a copy.
const SCAN_SHARE: f64 = 0.2;
const SCANS_OF_ALL_MIN: u64 = 2;
/// The part of the load that makes a key hot, and the part for one that comes near to the limits of
/// a partition.
const HOT_SHARE: f64 = 0.2;
const NEAR_HOT_SHARE: f64 = 0.05;
/// The ratio of a hot key's share of the load to its share of the data.
const LOAD_TO_DATA_RATIO: f64 = 1.5;
/// The part of the provisioned units from which the busiest minute explains throttles.
const USED_UP: f64 = 0.8;

fn key_name(hot: &HotKey) -> String {
    hot.key
        .as_ref()
        .map_or_else(|| "a key that has no items".to_owned(), |key| value(key))
}

/// Reports keys with a large share of the load.
pub fn hot_keys(facts: &TableFacts) -> Vec<Advice> {
    key_sources(facts)
        .iter()
        .filter_map(|keyed| hot_keys_of(facts, keyed))
        .collect()
}

/// Returns advice on the hottest key of a table or index.
pub fn hot_keys_of(facts: &TableFacts, keyed: &KeySource<'_>) -> Option<Advice> {
    let of = keyed.traffic(facts)?;
    let is_hot = |hot: &HotLoad<'_>| {
        let share = hot.share();
        if hot.is_near() {
            share >= NEAR_HOT_SHARE
        } else {
            share >= HOT_SHARE.max(share_of_data(keyed, hot.key) * LOAD_TO_DATA_RATIO)
        }
    };
    let rank = |hot: &HotLoad<'_>| (hot.is_near(), hot.of_limit(), hot.share());
    let hottest = hot_loads(facts, of).filter(is_hot).max_by(|a, b| {
        rank(a)
            .partial_cmp(&rank(b))
            .unwrap_or(std::cmp::Ordering::Equal)
    })?;
    Some(hot_key(keyed, of, &hottest))
}

fn hot_key(keyed: &KeySource<'_>, of: &SourceTraffic, hot: &HotLoad<'_>) -> Advice {
    let (kind, limit) = (hot.access.name(), units(hot.limit));
    // The busiest second shows no more than the key was given: its limit tells the rest.
    let whole = keyed.index.map_or("the table", |_| "the index");
    let ways = match hot.access {
        Access::Read => {
            "A cache takes reads off the key. `ddbfs serve --cache` shows what one would do."
        }
        Access::Write => {
            "Spread the key's writes over suffixes: one for each 1,000 write units a second."
        }
    };
    let day = of.window(Period::Day).hot.iter();
    let throttles = day
        .filter(|key| key.digest == hot.key.digest)
        .map(|key| hot.access.throttles(&key.load))
        .sum();
    Advice {
        level: if hot.is_near() {
            AdviceLevel::Warning
        } else {
            AdviceLevel::Hint
        },
        index: keyed.index_name().cloned(),
        finding: format!(
            "{} {} takes {} of the {kind} units of the last {}: {} of {}. In its busiest second it took {}, {} of the {limit} that a partition gives. With this share {whole} serves at most {} {kind} units a second. Its load is in partition {}.",
            keyed.key,
            key_name(hot.key),
            percent(hot.share(), 1.0),
            hot.period.name(),
            units(hot.units),
            units(hot.all),
            units(hot.peak),
            percent(hot.of_limit(), 1.0),
            units(hot.limit / hot.share()),
            partition(hot.key.partition)
        ),
        cost: AdviceCost::default()
            .throttles(throttles)
            .of_limit(hot.of_limit(), &format!("{limit} {kind}")),
        rule: "A key is throttled beyond 3,000 read or 1,000 write units a second, whatever the table has (T-02, T-04, T-07, T-21).",
        remedy: format!(
            "{ways} `{}/partitions/hot.{}.tsv` has the other keys.",
            keyed.path,
            hot.period.name()
        ),
    }
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

/// Reports throttle events.
pub fn throttles(facts: &TableFacts) -> Vec<Advice> {
    let all = key_sources(facts).into_iter().filter_map(|keyed| {
        let of = keyed.traffic(facts)?;
        let day = &of.window(Period::Day).load;
        (day.throttles() > 0).then(|| throttled(facts, &keyed, of, day))
    });
    all.collect()
}

fn throttled(facts: &TableFacts, keyed: &KeySource<'_>, of: &SourceTraffic, day: &Load) -> Advice {
    let access = if day.write_throttles >= day.read_throttles {
        Access::Write
    } else {
        Access::Read
    };
    let hot = of.window(Period::Day).hot.iter();
    let hot = hot
        .filter(|key| key.load.throttles() > 0)
        .max_by_key(|key| key.load.throttles());
    let on = hot.map_or_else(String::new, |hot| {
        format!(
            " {} of them were on {} {} in partition {}.",
            hot.load.throttles(),
            keyed.key,
            key_name(hot),
            partition(hot.partition)
        )
    });
    let (cause, remedy) = throttle_cause(facts, of, access, hot);
    let requests = facts.traffic.as_ref().map_or_else(String::new, |traffic| {
        let sent = traffic.metrics.requests[Period::Day as usize];
        format!(
            " {} of {} to the table were throttled as a whole.",
            sent.throttled,
            plural(sent.requests, "request")
        )
    });
    Advice {
        level: AdviceLevel::Warning,
        index: keyed.index_name().cloned(),
        finding: format!(
            "{} in the last day: {} of reads and {} of writes.{requests} A batch has an event for each item that it could not read or write.{on} {cause}",
            plural(day.throttles(), "throttle event"),
            day.read_throttles,
            day.write_throttles
        ),
        cost: AdviceCost::default().throttles(day.throttles()),
        rule: "There are three causes: uneven data, a hot key, more than is provisioned. An index without write units throttles its table (T-01, T-02, T-04, G-44, G-45).",
        remedy: format!(
            "{remedy} `{}/partitions/heat.day.tsv` tells partitions from each other, `{0}/partitions/hot.day.tsv` keys.",
            keyed.path
        ),
    }
}

/// Returns the cause of throttles and its remedy: the limit of one partition, or the units of the
/// table or index.
fn throttle_cause(
    facts: &TableFacts,
    of: &SourceTraffic,
    access: Access,
    hot: Option<&HotKey>,
) -> (String, String) {
    let (kind, limit) = (access.name(), super::load::limit(facts, access));
    let schema_path = format!("{}/schema.json", facts.name());
    let used = access.of(&of.busiest());
    let given = access.provisioned(of.billing);
    let took = given.map_or_else(String::new, |given| {
        format!(
            "Its busiest minute took {} of {} provisioned {kind} units a second.",
            units(used),
            units(given)
        )
    });
    let peak = hot.map_or(0.0, |hot| access.of(&hot.peak.load));
    // A key that meets the limit of its partition gets nothing from more units.
    if peak >= limit * NEAR_LIMIT && given.is_none_or(|given| given >= limit) {
        let cause = format!(
            "In its busiest second this key took {} {kind} units, and a partition gives {}, whatever the table has. {took}",
            units(peak),
            units(limit)
        );
        return (
            cause,
            "Spread this key; more units do not help it.".to_owned(),
        );
    }
    match given {
        Some(given) if used < given * USED_UP => (
            format!("{took} What is over comes in bursts or goes to few partitions."),
            format!(
                "Spread the requests over time and keys, or set more {kind} units in `{schema_path}`."
            ),
        ),
        _ => (took, format!("Set more {kind} units in `{schema_path}`.")),
    }
}

/// Reports indexes that are written and never read, while the table is read; and vector indexes that are
/// never searched.
pub fn unused_indexes(facts: &TableFacts) -> Vec<Advice> {
    let Some(traffic) = &facts.traffic else {
        return Vec::new();
    };
    let indexes = facts.indexes.iter().chain(&facts.vectors);
    let unused = indexes.filter_map(|index| {
        let of = traffic.source(Some(&index.schema.name))?;
        Some(Advice {
            level: AdviceLevel::Hint,
            index: Some(index.schema.name.clone()),
            finding: unused_finding(traffic, of)?,
            cost: unused_cost(traffic, of, index),
            rule: "Every index makes writes dearer and is stored and billed whether it is read or not (G-36, G-52, G-62, L-23).",
            remedy: match index.schema.kind {
                IndexKind::Local => LOCAL_STAYS.to_owned(),
                IndexKind::Global | IndexKind::Vector => format!(
                    "When a whole cycle of the load was seen, a month's end too: `rmdir {}`.",
                    path(facts, index)
                ),
            },
        })
    });
    unused.collect()
}

/// Returns what an index took without a read or search; `None` if it had one, or took little.
fn unused_finding(traffic: &Traffic, of: &SourceTraffic) -> Option<String> {
    let (since, usage) = (minute(traffic.since_ms), &of.usage);
    let vectors = usage.vector_write_bytes;
    if vectors.count >= VECTOR_WRITES_MIN && usage.vector_search_bytes.count == 0 {
        let writes = plural(vectors.count, "write");
        return Some(format!(
            "No search of it since {since}; {writes} took {} VectorWriteRequestBytes.",
            vectors.sum
        ));
    }
    let (all, of) = (traffic.load(), of.load());
    let is_used = all.read + all.write < UNITS_MIN || of.read > 0.0 || of.write == 0.0;
    (!is_used && all.read > 0.0).then(|| {
        format!(
            "No read of it since {since}; its writes took {} of {} write units, {}.",
            units(of.write),
            units(all.write),
            percent(of.write, all.write)
        )
    })
}

/// Returns the units of a day's writes to the index, its bytes, and the money of both.
fn unused_cost(traffic: &Traffic, of: &SourceTraffic, index: &IndexFacts) -> AdviceCost {
    let (written, prices) = (of.day.write.sum, &traffic.prices);
    let of_vectors = of.day.vector_write_bytes.sum * MONTH_HOURS / 24.0;
    let money = prices.month_of_bytes(index.billed_bytes() as f64)
        + prices.vector_write_cost(of_vectors)
        + month_of_daily(traffic, traffic.billing(of), Access::Write, written);
    AdviceCost::default()
        .units(written, "write")
        .bytes(index.billed_bytes())
        .money(money, &prices.currency)
}

/// Reports queries and scans that read much and return little of it.
pub fn waste(facts: &TableFacts) -> Vec<Advice> {
    let sources = facts.traffic.iter().flat_map(|traffic| &traffic.sources);
    sources
        .flat_map(|source| {
            [
                (source, "Queries", &source.day.queries),
                (source, "Scans", &source.day.scans),
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
    let for_nothing = reads.units * (reads.evaluated - reads.returned.min(reads.evaluated)) as f64
        / reads.evaluated as f64;
    Some(Advice {
        level: AdviceLevel::Hint,
        index: source.index.clone(),
        finding: format!(
            "{kind} of {} evaluated {} in the last day and returned {}: {} read for each one returned. About {} of the {} read units that they took were for nothing.",
            subject(facts.name(), source.index.as_ref()),
            plural(reads.evaluated, "item"),
            reads.returned,
            reads.evaluated / reads.returned.max(1),
            units(for_nothing),
            units(reads.units)
        ),
        cost: read_cost(facts, source, for_nothing),
        rule: "A filter is applied after reading. What it drops is paid for, and it grows with the table (G-02, G-25, L-44).",
        remedy: format!(
            "Put what the filter asks for into a key. `gsi NAME attribute:S` into `{name}/ctl` makes an index of it; it is short if only items that are wanted have the attribute. `explain.json` beside a query's results tells its cost and a cheaper path."
        ),
    })
}

/// Returns the read units of a day and the money of a month of them.
fn read_cost(facts: &TableFacts, source: &SourceTraffic, units: f64) -> AdviceCost {
    let cost = AdviceCost::default().units(units, "read");
    let Some(traffic) = &facts.traffic else {
        return cost;
    };
    let billing = traffic.billing(source);
    let money = month_of_daily(traffic, billing, Access::Read, units);
    cost.money(money, &traffic.prices.currency)
}

/// Reports scans without a filter that read a table or index whole, again and again. A sparse index
/// is made to be read whole.
pub fn scans(facts: &TableFacts) -> Vec<Advice> {
    let sources = facts.traffic.iter().flat_map(|traffic| &traffic.sources);
    sources
        .filter_map(|source| scanned(facts, source))
        .collect()
}

fn scanned(facts: &TableFacts, source: &SourceTraffic) -> Option<Advice> {
    let (scans, all) = (&source.day.scans, source.day.read.sum);
    let index = source.index.as_ref();
    let index = index.and_then(|name| facts.indexes.iter().find(|one| one.schema.name == *name));
    let entries = index.map_or(facts.table.stats.entries, |index| {
        index.source.stats.entries
    });
    let is_sparse = index.is_some_and(|index| is_sparse(facts, index));
    let is_wasted = scans.returned * WASTE_RATIO <= scans.evaluated;
    if scans.evaluated < EVALUATED_MIN.max(entries * SCANS_OF_ALL_MIN)
        || scans.units < all * SCAN_SHARE
        || is_sparse
        || is_wasted
    {
        return None;
    }
    Some(Advice {
        level: AdviceLevel::Hint,
        index: source.index.clone(),
        finding: format!(
            "Scans took {} read units in the last day, {} of all reads: {} evaluated {}, {} times all that there is.",
            units(scans.units),
            percent(scans.units, all),
            plural(scans.requests, "page"),
            plural(scans.evaluated, "item"),
            scans.evaluated / entries.max(1)
        ),
        cost: read_cost(facts, source, scans.units),
        rule: "A scan reads everything and costs by the size of the table, not by what is looked for (G-02, L-44).",
        remedy: format!(
            "Ask by key: a query reads one item collection. For a report export the table once (`ddbfs archive` or ExportTableToPointInTime), or follow its stream. `{}/help` has the paths of queries.",
            facts.name()
        ),
    })
}
