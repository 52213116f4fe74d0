//! Metrics by minute, a JSON object a line, with the names of CloudWatch (docs/dynamodb.md 23.1). A
//! minute without a count has no line.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::with_local_indexes;
use crate::codec::calendar;
use crate::model::IndexKind;
use crate::model::metrics::{
    CapacityUsage, MeteredOperation, OperationCounts, SourceMetrics, Statistic, TableCounts,
    TableMetrics,
};

const MINUTE_MS: u64 = 60_000;

/// Returns the points of a table and its indexes, oldest first.
#[must_use]
pub fn render(table: &TableMetrics, now_ms: u64) -> String {
    let mut points = Vec::new();
    let mut minutes: Vec<u64> = table
        .sources
        .iter()
        .flat_map(|source| source.usage.minutes.iter().map(|(minute, _)| *minute))
        .collect();
    minutes.extend(table.counts.minutes.iter().map(|(minute, _)| *minute));
    // The running minute always reports units and backfills, even without a count.
    minutes.push(now_ms / MINUTE_MS);
    minutes.sort_unstable();
    minutes.dedup();
    for minute in minutes {
        let mut at = MinutePoints {
            points: &mut points,
            minute,
            table,
        };
        at.usage(
            None,
            &with_local_indexes(table, |source| usage_at(source, minute)),
        );
        for source in table.sources.iter().filter(|source| !source.is_of_table()) {
            at.usage(dimension(source), &usage_at(source, minute));
        }
        if minute == now_ms / MINUTE_MS {
            table
                .sources
                .iter()
                .for_each(|source| at.provisioned(source));
        }
        table
            .sources
            .iter()
            .for_each(|source| at.backfill(source, minute == now_ms / MINUTE_MS));
        if let Some((_, counts)) = table.counts.minutes.iter().find(|(of, _)| *of == minute) {
            at.counts(counts);
        }
    }
    points.iter().fold(String::new(), |mut out, point| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{point}");
        out
    })
}

fn usage_at(source: &SourceMetrics, minute: u64) -> CapacityUsage {
    source
        .usage
        .minutes
        .iter()
        .find(|(of, _)| *of == minute)
        .map(|(_, usage)| *usage)
        .unwrap_or_default()
}

/// The name and the value of a dimension.
type Dimension<'m> = (&'static str, &'m str);

/// Returns the dimension of an index.
fn dimension(source: &SourceMetrics) -> Option<Dimension<'_>> {
    let name = match source.kind? {
        IndexKind::Vector => "VectorIndexName",
        IndexKind::Global | IndexKind::Local => "GlobalSecondaryIndexName",
    };
    Some((name, source.index.as_ref()?.as_str()))
}

/// A writer of the points of one minute.
struct MinutePoints<'m> {
    points: &'m mut Vec<Value>,
    minute: u64,
    table: &'m TableMetrics,
}

impl MinutePoints<'_> {
    fn usage(&mut self, dimension: Option<Dimension<'_>>, usage: &CapacityUsage) {
        self.statistic("ConsumedReadCapacityUnits", dimension, &usage.read, "Count");
        self.statistic(
            "ConsumedWriteCapacityUnits",
            dimension,
            &usage.write,
            "Count",
        );
        self.sum("ReadThrottleEvents", dimension, usage.read_throttles);
        self.sum("WriteThrottleEvents", dimension, usage.write_throttles);
        self.statistic(
            "BulkLoadConsumedWriteCapacity",
            dimension,
            &usage.bulk_write,
            "Count",
        );
        self.sum("BulkLoadThrottleEvents", dimension, usage.bulk_throttles);
        for (name, bytes) in [
            ("VectorSearchRequestBytes", &usage.vector_search_bytes),
            ("VectorWriteRequestBytes", &usage.vector_write_bytes),
        ] {
            self.statistic(name, dimension, bytes, "Bytes");
        }
        self.statistic(
            "OnlineIndexConsumedWriteCapacity",
            dimension,
            &usage.online_write,
            "Count",
        );
        self.sum(
            "OnlineIndexThrottleEvents",
            dimension,
            usage.online_throttles,
        );
    }

    fn provisioned(&mut self, source: &SourceMetrics) {
        let Some(units) = source.provisioned() else {
            return;
        };
        let dimension = dimension(source);
        for (name, value) in [
            ("ProvisionedReadCapacityUnits", units.read_capacity_units),
            ("ProvisionedWriteCapacityUnits", units.write_capacity_units),
        ] {
            let mut statistic = Statistic::default();
            statistic.add(number(value));
            self.statistic(name, dimension, &statistic, "Count");
        }
    }

    /// Adds the progress of an index that is being built, or that was at the end of the minute.
    fn backfill(&mut self, source: &SourceMetrics, is_now: bool) {
        let going = source
            .backfill
            .filter(|_| is_now)
            .map(|backfill| backfill.percent());
        let percent = going.or(usage_at(source, self.minute).online_percent);
        let (Some(percent), Some(dimension)) = (percent, dimension(source)) else {
            return;
        };
        let dimension = Some(dimension);
        let mut statistic = Statistic::default();
        statistic.add(number(percent));
        self.statistic(
            "OnlineIndexPercentageProgress",
            dimension,
            &statistic,
            "Percent",
        );
    }

    fn counts(&mut self, counts: &TableCounts) {
        for operation in MeteredOperation::ALL {
            self.operation(operation.name(), &counts.operations[operation as usize]);
        }
        self.sum(
            "ConditionalCheckFailedRequests",
            None,
            counts.conditional_check_failed,
        );
        self.sum("TransactionConflict", None, counts.transaction_conflicts);
        self.sum(
            "TimeToLiveDeletedItemCount",
            None,
            counts.time_to_live_deleted,
        );
    }

    fn operation(&mut self, operation: &str, counts: &OperationCounts) {
        let dimension = Some(("Operation", operation));
        self.statistic(
            "SuccessfulRequestLatency",
            dimension,
            &counts.latency_ms,
            "Milliseconds",
        );
        self.statistic(
            "ReturnedItemCount",
            dimension,
            &counts.returned_items,
            "Count",
        );
        self.sum("ThrottledRequests", dimension, counts.throttled);
        self.sum("SystemErrors", dimension, counts.system_errors);
    }

    fn sum(&mut self, name: &str, dimension: Option<(&str, &str)>, events: u64) {
        if events > 0 {
            // Each event is a sample of 1.
            let statistic = Statistic {
                count: events,
                sum: number(events),
                min: 1.0,
                max: 1.0,
            };
            self.statistic(name, dimension, &statistic, "Count");
        }
    }

    fn statistic(
        &mut self,
        name: &str,
        dimension: Option<(&str, &str)>,
        statistic: &Statistic,
        unit: &str,
    ) {
        if statistic.count == 0 {
            return;
        }
        let mut dimensions = json!({ "TableName": self.table.table.as_str() });
        if let Some((name, value)) = dimension {
            dimensions[name] = json!(value);
        }
        self.points.push(json!({
            "Timestamp": calendar::iso(self.minute * MINUTE_MS),
            "MetricName": name,
            "Dimensions": dimensions,
            "Sum": statistic.sum,
            "SampleCount": statistic.count,
            "Minimum": statistic.min,
            "Maximum": statistic.max,
            "Average": statistic.average(),
            "Unit": unit,
        }));
    }
}

fn number(count: u64) -> f64 {
    count as f64
}
