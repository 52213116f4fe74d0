//! Measurements as text: metrics in the Prometheus form, points by minute as CloudWatch names them,
//! capacity and its cost as JSON, access patterns, heat as an SVG picture; and the price table, read from JSON.
//! `model::metrics` has the types. The metrics that CloudWatch names are declared here, for both forms.

pub mod access;
pub mod capacity;
pub mod cloudwatch;
pub mod heat_svg;
pub mod prices;
pub mod prometheus;

use crate::model::metrics::{
    CapacityUsage, OperationCounts, SourceMetrics, Statistic, TableCounts, TableMetrics,
};
use crate::model::schema::ProvisionedThroughput;

/// A metric: CloudWatch's name, its unit, and the value of a time.
type Metric<T> = (&'static str, &'static str, fn(&T) -> Statistic);

const COUNT: &str = "Count";

/// The metrics of a table or index.
const OF_SOURCES: [Metric<CapacityUsage>; 6] = [
    ("ConsumedReadCapacityUnits", COUNT, |usage| usage.read),
    ("ConsumedWriteCapacityUnits", COUNT, |usage| usage.write),
    ("ReadThrottleEvents", COUNT, |usage| {
        events(usage.read_throttles)
    }),
    ("WriteThrottleEvents", COUNT, |usage| {
        events(usage.write_throttles)
    }),
    // Of ddbfs alone.
    ("BulkLoadConsumedWriteCapacityUnits", COUNT, |usage| {
        usage.bulk_write
    }),
    ("BulkLoadThrottleEvents", COUNT, |usage| {
        events(usage.bulk_throttles)
    }),
];

/// The metrics of a vector index.
const OF_VECTORS: [Metric<CapacityUsage>; 2] = [
    ("VectorSearchRequestBytes", "Bytes", |usage| {
        usage.vector_search_bytes
    }),
    ("VectorWriteRequestBytes", "Bytes", |usage| {
        usage.vector_write_bytes
    }),
];

/// The metrics of an operation on a table; its latency is beside them.
const OF_OPERATIONS: [Metric<OperationCounts>; 3] = [
    ("ReturnedItemCount", COUNT, |counts| counts.returned_items),
    ("ThrottledRequests", COUNT, |counts| {
        events(counts.throttled)
    }),
    ("SystemErrors", COUNT, |counts| events(counts.system_errors)),
];
const LATENCY: &str = "SuccessfulRequestLatency";

/// The metrics of a table alone.
const OF_TABLES: [Metric<TableCounts>; 3] = [
    ("ConditionalCheckFailedRequests", COUNT, |counts| {
        events(counts.conditional_check_failed)
    }),
    ("TransactionConflict", COUNT, |counts| {
        events(counts.transaction_conflicts)
    }),
    ("TimeToLiveDeletedItemCount", COUNT, |counts| {
        events(counts.time_to_live_deleted)
    }),
];

/// A metric of provisioned units: its name and value.
type UnitsMetric = (&'static str, fn(&ProvisionedThroughput) -> u64);

const PROVISIONED: [UnitsMetric; 2] = [
    ("ProvisionedReadCapacityUnits", |units| {
        units.read_capacity_units
    }),
    ("ProvisionedWriteCapacityUnits", |units| {
        units.write_capacity_units
    }),
];

/// Returns the statistic of events, each of which is one.
fn events(count: u64) -> Statistic {
    Statistic {
        count,
        sum: number(count),
        min: 1.0,
        max: 1.0,
    }
}

fn number(count: u64) -> f64 {
    count as f64
}

/// Returns a table's usage in its own dimension: with its local indexes, which consume the table's
/// units, and without its global ones.
#[must_use]
pub fn with_local_indexes(
    table: &TableMetrics,
    usage: impl Fn(&SourceMetrics) -> CapacityUsage,
) -> CapacityUsage {
    let of_table = table.sources.iter().filter(|source| source.is_of_table());
    of_table.fold(CapacityUsage::default(), |mut sum, source| {
        sum.merge(&usage(source));
        sum
    })
}
