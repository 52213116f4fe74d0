//! Metrics in the text form of Prometheus (exposition format 0.0.4). Counters continue over
//! restarts.

use std::fmt::Write as _;

use super::with_local_indexes;
use crate::model::IndexKind;
use crate::model::metrics::{
    CapacityUsage, MeteredOperation, Metrics, OperationCounts, SourceMetrics, TableMetrics,
};

/// A metric of a table or global index: its name, type, help with the service's name, and value.
type SourceMetric = (
    &'static str,
    &'static str,
    &'static str,
    fn(&UsageSample<'_>) -> Option<f64>,
);
/// A metric of a table and operation: its name, help and value.
type OperationMetric = (&'static str, &'static str, fn(&OperationCounts) -> f64);

/// The usage of a table or global index at the time of a scrape.
struct UsageSample<'m> {
    usage: CapacityUsage,
    source: &'m SourceMetrics,
}

const SOURCE_METRICS: &[SourceMetric] = &[
    (
        "consumed_read_capacity_units_total",
        "counter",
        "ConsumedReadCapacityUnits",
        |r| Some(r.usage.read.sum),
    ),
    (
        "consumed_write_capacity_units_total",
        "counter",
        "ConsumedWriteCapacityUnits",
        |r| Some(r.usage.write.sum),
    ),
    (
        "provisioned_read_capacity_units",
        "gauge",
        "ProvisionedReadCapacityUnits",
        |r| {
            r.source
                .provisioned()
                .map(|units| number(units.read_capacity_units))
        },
    ),
    (
        "provisioned_write_capacity_units",
        "gauge",
        "ProvisionedWriteCapacityUnits",
        |r| {
            r.source
                .provisioned()
                .map(|units| number(units.write_capacity_units))
        },
    ),
    (
        "read_throttle_events_total",
        "counter",
        "ReadThrottleEvents",
        |r| Some(number(r.usage.read_throttles)),
    ),
    (
        "write_throttle_events_total",
        "counter",
        "WriteThrottleEvents",
        |r| Some(number(r.usage.write_throttles)),
    ),
    (
        "bulk_load_consumed_write_capacity_units_total",
        "counter",
        "write units of bulk loads, which are no part of ConsumedWriteCapacityUnits",
        |r| Some(r.usage.bulk_write.sum),
    ),
    (
        "bulk_load_throttle_events_total",
        "counter",
        "throttle events of bulk loads",
        |r| Some(number(r.usage.bulk_throttles)),
    ),
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
    ("query_requests_total", "counter", "pages of Query", |r| {
        Some(number(r.usage.queries.requests))
    }),
    (
        "query_evaluated_items_total",
        "counter",
        "ScannedCount of Query",
        |r| Some(number(r.usage.queries.evaluated)),
    ),
    (
        "query_returned_items_total",
        "counter",
        "Count of Query",
        |r| Some(number(r.usage.queries.returned)),
    ),
    ("scan_requests_total", "counter", "pages of Scan", |r| {
        Some(number(r.usage.scans.requests))
    }),
    (
        "scan_evaluated_items_total",
        "counter",
        "ScannedCount of Scan",
        |r| Some(number(r.usage.scans.evaluated)),
    ),
    (
        "scan_returned_items_total",
        "counter",
        "Count of Scan",
        |r| Some(number(r.usage.scans.returned)),
    ),
    (
        "vector_search_requests_total",
        "counter",
        "SearchVectors of a vector index",
        |r| of_vectors(r, |usage| number(usage.vector_search_bytes.count)),
    ),
    (
        "vector_search_request_bytes_total",
        "counter",
        "VectorSearchRequestBytes",
        |r| of_vectors(r, |usage| usage.vector_search_bytes.sum),
    ),
    (
        "vector_write_request_bytes_total",
        "counter",
        "VectorWriteRequestBytes",
        |r| of_vectors(r, |usage| usage.vector_write_bytes.sum),
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

fn of_vectors(r: &UsageSample<'_>, value: fn(&CapacityUsage) -> f64) -> Option<f64> {
    (r.source.kind == Some(IndexKind::Vector)).then(|| value(&r.usage))
}

const OPERATION_METRICS: &[OperationMetric] = &[
    ("throttled_requests_total", "ThrottledRequests", |counts| {
        number(counts.throttled)
    }),
    ("system_errors_total", "SystemErrors", |counts| {
        number(counts.system_errors)
    }),
    ("returned_item_count_total", "ReturnedItemCount", |counts| {
        counts.returned_items.sum
    }),
];

/// Renders the hits and misses of the caches before the database.
#[must_use]
pub fn render_cache(hits_and_misses: &[(&str, u64, u64)]) -> String {
    let mut out = String::new();
    for (name, value) in [("cache_hits_total", 0), ("cache_misses_total", 1)] {
        head(
            &mut out,
            name,
            "counter",
            "reads answered, or not, by the cache before the tables",
        );
        for (cache, hits, misses) in hits_and_misses {
            let count = if value == 0 { *hits } else { *misses };
            line(
                &mut out,
                name,
                &format!("{{cache=\"{cache}\"}}"),
                number(count),
            );
        }
    }
    out
}

/// Renders all metrics.
#[must_use]
pub fn render(metrics: &Metrics) -> String {
    let mut out = String::new();
    for (name, kind, help, value) in SOURCE_METRICS {
        head(&mut out, name, kind, help);
        for table in &metrics.tables {
            for (index, reading) in samples(table) {
                if let Some(value) = value(&reading) {
                    line(&mut out, name, &labels(table, "index", index), value);
                }
            }
        }
    }
    for (name, help, value) in OPERATION_METRICS {
        head(&mut out, name, "counter", help);
        each_operation(metrics, |labels, counts| {
            line(&mut out, name, labels, value(counts))
        });
    }
    let latency = "successful_request_latency_seconds";
    head(&mut out, latency, "summary", "SuccessfulRequestLatency");
    each_operation(metrics, |labels, counts| {
        line(
            &mut out,
            &format!("{latency}_sum"),
            labels,
            counts.latency_ms.sum / 1e3,
        );
        line(
            &mut out,
            &format!("{latency}_count"),
            labels,
            number(counts.latency_ms.count),
        );
    });
    type OfTable = (&'static str, &'static str, fn(&TableMetrics) -> u64);
    let of_table: [OfTable; 3] = [
        (
            "conditional_check_failed_requests_total",
            "ConditionalCheckFailedRequests",
            |t| t.counts.total.conditional_check_failed,
        ),
        ("transaction_conflict_total", "TransactionConflict", |t| {
            t.counts.total.transaction_conflicts
        }),
        (
            "time_to_live_deleted_item_count_total",
            "TimeToLiveDeletedItemCount",
            |t| t.counts.total.time_to_live_deleted,
        ),
    ];
    for (name, help, value) in of_table {
        head(&mut out, name, "counter", help);
        for table in &metrics.tables {
            line(
                &mut out,
                name,
                &labels(table, "", None),
                number(value(table)),
            );
        }
    }
    head(&mut out, "user_errors_total", "counter", "UserErrors");
    line(
        &mut out,
        "user_errors_total",
        "",
        number(metrics.user_errors),
    );
    head(
        &mut out,
        "log_bytes",
        "gauge",
        "bytes of the log behind the last checkpoint",
    );
    line(&mut out, "log_bytes", "", number(metrics.log_bytes));
    if let Some(age) = metrics.checkpoint_age {
        head(
            &mut out,
            "checkpoint_age_seconds",
            "gauge",
            "since this process made its last checkpoint",
        );
        line(&mut out, "checkpoint_age_seconds", "", age);
    }
    head(
        &mut out,
        "since_seconds",
        "gauge",
        "when the counting of the table began, seconds since the epoch",
    );
    for table in &metrics.tables {
        line(
            &mut out,
            "since_seconds",
            &labels(table, "", None),
            number(table.since_ms) / 1e3,
        );
    }
    out
}

/// Returns the table with its local indexes, then each global index.
fn samples(table: &TableMetrics) -> Vec<(Option<&str>, UsageSample<'_>)> {
    let usage = with_local_indexes(table, |source| source.usage.total);
    let base = table
        .sources
        .first()
        .map(|source| (None, UsageSample { usage, source }));
    let global = table.sources.iter().filter(|source| !source.is_of_table());
    let global = global.map(|source| {
        (
            source.index.as_ref().map(|name| name.as_str()),
            UsageSample {
                usage: source.usage.total,
                source,
            },
        )
    });
    base.into_iter().chain(global).collect()
}

fn each_operation(metrics: &Metrics, mut visit: impl FnMut(&str, &OperationCounts)) {
    for table in &metrics.tables {
        for operation in MeteredOperation::ALL {
            let counts = &table.counts.total.operations[operation as usize];
            // Every table times every operation would be hundreds of lines of zeros.
            if *counts != OperationCounts::default() {
                visit(&labels(table, "operation", Some(operation.name())), counts);
            }
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "# HELP ddbfs_{name} {help}\n# TYPE ddbfs_{name} {kind}"
    );
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(out, "ddbfs_{name}{labels} {value}");
}

/// Returns the labels of a line. Names of tables and indexes have no character that needs an
/// escape.
fn labels(table: &TableMetrics, name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{{table=\"{}\",{name}=\"{value}\"}}", table.table),
        None => format!("{{table=\"{}\"}}", table.table),
    }
}

fn number(count: u64) -> f64 {
    count as f64
}
