//! Metrics in the text form of Prometheus (exposition format 0.0.4). Counters continue over
//! restarts. A metric of CloudWatch has its name: `ddbfs_read_throttle_events_total` is
//! `ReadThrottleEvents`.

use std::fmt::Write as _;

use super::{
    LATENCY, OF_OPERATIONS, OF_SOURCES, OF_TABLES, OF_VECTORS, PROVISIONED, number,
    with_local_indexes,
};
use crate::model::IndexKind;
use crate::model::metrics::{
    CapacityUsage, MeteredOperation, Metrics, OperationCounts, ReadCounts, SourceMetrics,
    TableMetrics,
};

/// A metric of a table or global index that CloudWatch has not, or otherwise: its name, type, help and value.
type SourceMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&UsageSample<'_>) -> Option<f64>,
);

/// The usage of a table or global index at the time of a scrape.
struct UsageSample<'m> {
    labels: String,
    usage: CapacityUsage,
    source: &'m SourceMetrics,
}

impl UsageSample<'_> {
    fn is_of_vectors(&self) -> bool {
        self.source.kind == Some(IndexKind::Vector)
    }
}

/// A count of the pages of Query or Scan: the end of its name, the beginning of its help, and its value.
type ReadMetric = (&'static str, &'static str, fn(&ReadCounts) -> u64);

const READ_METRICS: [ReadMetric; 3] = [
    ("requests", "pages", |reads| reads.requests),
    ("evaluated_items", "ScannedCount", |reads| reads.evaluated),
    ("returned_items", "Count", |reads| reads.returned),
];

const SOURCE_METRICS: &[SourceMetric] = &[
    (
        "online_index_percentage_progress",
        "gauge",
        "OnlineIndexPercentageProgress; 100 after a backfill",
        |r| {
            r.source
                .backfill
                .map(|backfill| backfill.percent())
                .or(r.usage.online_percent)
                .map(number)
        },
    ),
    (
        "online_index_consumed_write_capacity",
        "gauge",
        "OnlineIndexConsumedWriteCapacity, since the backfill began",
        |r| {
            let over = r.usage.online_percent.map(|_| r.usage.online_write.sum);
            r.source
                .backfill
                .map(|backfill| number(backfill.write_units))
                .or(over)
        },
    ),
    (
        "online_index_throttle_events",
        "gauge",
        "OnlineIndexThrottleEvents",
        |r| {
            let is_known = r.source.backfill.is_some() || r.usage.online_percent.is_some();
            is_known.then(|| number(r.usage.online_throttles))
        },
    ),
    (
        "vector_search_requests_total",
        "counter",
        "SearchVectors of a vector index",
        |r| {
            r.is_of_vectors()
                .then(|| number(r.usage.vector_search_bytes.count))
        },
    ),
    ("items", "gauge", "items or index entries", |r| {
        Some(number(r.source.entries))
    }),
    (
        "size_bytes",
        "gauge",
        "bytes with the overhead of each item",
        |r| Some(number(r.source.billed_bytes)),
    ),
];

/// Renders the hits and misses of the caches before the database.
#[must_use]
pub fn render_cache(hits_and_misses: &[(&str, u64, u64)]) -> String {
    let mut out = String::new();
    let help = "reads answered, or not, by the cache before the tables";
    for (name, value) in [("cache_hits_total", 0), ("cache_misses_total", 1)] {
        let lines = hits_and_misses.iter().map(|(cache, hits, misses)| {
            let count = if value == 0 { *hits } else { *misses };
            (format!("{{cache=\"{cache}\"}}"), number(count))
        });
        family(&mut out, name, "counter", help, lines);
    }
    out
}

/// Renders all metrics.
#[must_use]
pub fn render(metrics: &Metrics) -> String {
    let mut text = String::new();
    let out = &mut text;
    let samples: Vec<UsageSample<'_>> = metrics.tables.iter().flat_map(samples).collect();
    for (name, _, of) in OF_SOURCES {
        let lines = samples.iter().map(|r| (r.labels.clone(), of(&r.usage).sum));
        family(out, &total(name), "counter", name, lines);
    }
    for (name, of) in PROVISIONED {
        let lines = samples.iter().filter_map(|r| {
            let units = r.source.provisioned()?;
            Some((r.labels.clone(), number(of(&units))))
        });
        family(out, &snake(name), "gauge", name, lines);
    }
    for (name, kind, help, value) in SOURCE_METRICS {
        let lines = samples.iter();
        let lines = lines.filter_map(|r| Some((r.labels.clone(), value(r)?)));
        family(out, name, kind, help, lines);
    }
    let reads: [fn(&CapacityUsage) -> ReadCounts; 2] = [|usage| usage.queries, |usage| usage.scans];
    for (operation, reads) in ["Query", "Scan"].into_iter().zip(reads) {
        for (what, help, of) in READ_METRICS {
            let lines = samples.iter();
            let lines = lines.map(|r| (r.labels.clone(), number(of(&reads(&r.usage)))));
            let name = format!("{}_{what}_total", operation.to_ascii_lowercase());
            family(
                out,
                &name,
                "counter",
                &format!("{help} of {operation}"),
                lines,
            );
        }
    }
    for (name, _, of) in OF_VECTORS {
        let lines = samples.iter().filter(|r| r.is_of_vectors());
        let lines = lines.map(|r| (r.labels.clone(), of(&r.usage).sum));
        family(out, &total(name), "counter", name, lines);
    }
    let operations: Vec<(String, &OperationCounts)> =
        metrics.tables.iter().flat_map(operations).collect();
    for (name, _, of) in OF_OPERATIONS {
        let lines = operations.iter();
        let lines = lines.map(|(labels, counts)| (labels.clone(), of(counts).sum));
        family(out, &total(name), "counter", name, lines);
    }
    let latency = operations.iter().flat_map(|(labels, counts)| {
        let of = counts.latency_ms;
        [
            (format!("_sum{labels}"), of.sum / 1e3),
            (format!("_count{labels}"), number(of.count)),
        ]
    });
    let name = snake(LATENCY) + "_seconds";
    family(out, &name, "summary", LATENCY, latency);
    let tables = || metrics.tables.iter().map(|of| (labels(of, "", None), of));
    for (name, _, of) in OF_TABLES {
        let lines = tables().map(|(labels, table)| (labels, of(&table.counts.total).sum));
        family(out, &total(name), "counter", name, lines);
    }
    let mut one = |name, kind, help, value: Option<f64>| {
        family(out, name, kind, help, value.map(|of| (String::new(), of)));
    };
    let (errors, log) = (number(metrics.user_errors), number(metrics.log_bytes));
    one("user_errors_total", "counter", "UserErrors", Some(errors));
    let help = "bytes of the log behind the last checkpoint";
    one("log_bytes", "gauge", help, Some(log));
    let (name, help) = (
        "checkpoint_age_seconds",
        "since this process made its last checkpoint",
    );
    one(name, "gauge", help, metrics.checkpoint_age);
    let help = "when the counting of the table began, seconds since the epoch";
    let since = tables().map(|(labels, table)| (labels, number(table.since_ms) / 1e3));
    family(out, "since_seconds", "gauge", help, since);
    text
}

/// Returns the table with its local indexes, then each global index.
fn samples(table: &TableMetrics) -> Vec<UsageSample<'_>> {
    let usage = with_local_indexes(table, |source| source.usage.total);
    let sample = |index, usage, source| UsageSample {
        labels: labels(table, "index", index),
        usage,
        source,
    };
    let base = table.sources.first();
    let base = base.map(|source| sample(None, usage, source));
    let global = table.sources.iter().filter(|source| !source.is_of_table());
    let global = global.map(|source| {
        let name = source.index.as_ref().map(|name| name.as_str());
        sample(name, source.usage.total, source)
    });
    base.into_iter().chain(global).collect()
}

/// Returns the operations on a table that were counted: every table times every operation would be
/// hundreds of lines of zeros.
fn operations(table: &TableMetrics) -> impl Iterator<Item = (String, &OperationCounts)> {
    let all = MeteredOperation::ALL.into_iter().map(|operation| {
        let counts = &table.counts.total.operations[operation as usize];
        (labels(table, "operation", Some(operation.name())), counts)
    });
    all.filter(|(_, counts)| **counts != OperationCounts::default())
}

/// Writes a metric with its lines, each of labels and value.
fn family(
    out: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    lines: impl IntoIterator<Item = (String, f64)>,
) {
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "# HELP ddbfs_{name} {help}\n# TYPE ddbfs_{name} {kind}"
    );
    for (labels, value) in lines {
        let _ = writeln!(out, "ddbfs_{name}{labels} {value}");
    }
}

/// Returns `read_throttle_events` of `ReadThrottleEvents`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn total(name: &str) -> String {
    snake(name) + "_total"
}

/// Returns the labels of a line. Names of tables and indexes have no character that needs an
/// escape.
fn labels(table: &TableMetrics, name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{{table=\"{}\",{name}=\"{value}\"}}", table.table),
        None => format!("{{table=\"{}\"}}", table.table),
    }
}
