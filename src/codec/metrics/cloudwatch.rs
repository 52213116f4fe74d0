//! Metrics by minute, a JSON object a line, with the names of CloudWatch (docs/dynamodb.md 23.1). A
//! minute without a count has no line.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    COUNT, LATENCY, Metric, OF_OPERATIONS, OF_SOURCES, OF_TABLES, OF_VECTORS, PROVISIONED, events,
    number, with_local_indexes,
};
use crate::codec::calendar;
use crate::model::IndexKind;
use crate::model::metrics::{
    CapacityUsage, MeteredOperation, SourceMetrics, Statistic, TableCounts, TableMetrics,
};

const MINUTE_MS: u64 = 60_000;

/// The metrics of a backfill, which Prometheus has as gauges.
const OF_BACKFILLS: [Metric<CapacityUsage>; 2] = [
    ("OnlineIndexConsumedWriteCapacity", COUNT, |usage| {
        usage.online_write
    }),
    ("OnlineIndexThrottleEvents", COUNT, |usage| {
        events(usage.online_throttles)
    }),
];

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
    fn all<T>(&mut self, metrics: &[Metric<T>], dimension: Option<Dimension<'_>>, of: &T) {
        for (name, unit, value) in metrics {
            self.statistic(name, dimension, &value(of), unit);
        }
    }

    fn usage(&mut self, dimension: Option<Dimension<'_>>, usage: &CapacityUsage) {
        self.all(&OF_SOURCES, dimension, usage);
        self.all(&OF_VECTORS, dimension, usage);
        self.all(&OF_BACKFILLS, dimension, usage);
    }

    fn provisioned(&mut self, source: &SourceMetrics) {
        let Some(units) = source.provisioned() else {
            return;
        };
        for (name, value) in PROVISIONED {
            self.one(name, dimension(source), value(&units), COUNT);
        }
    }

    /// Adds the progress of a backfill: of the running minute as it is now, and of an earlier one as
    /// it was at its end.
    fn backfill(&mut self, source: &SourceMetrics, is_now: bool) {
        let going = source
            .backfill
            .filter(|_| is_now)
            .map(|backfill| backfill.percent());
        let percent = going.or(usage_at(source, self.minute).online_percent);
        if let (Some(percent), Some(dimension)) = (percent, dimension(source)) {
            let name = "OnlineIndexPercentageProgress";
            self.one(name, Some(dimension), percent, "Percent");
        }
    }

    fn counts(&mut self, counts: &TableCounts) {
        for operation in MeteredOperation::ALL {
            let of = &counts.operations[operation as usize];
            let dimension = Some(("Operation", operation.name()));
            self.statistic(LATENCY, dimension, &of.latency_ms, "Milliseconds");
            self.all(&OF_OPERATIONS, dimension, of);
        }
        self.all(&OF_TABLES, None, counts);
    }

    fn one(&mut self, name: &str, dimension: Option<Dimension<'_>>, value: u64, unit: &str) {
        let mut statistic = Statistic::default();
        statistic.add(number(value));
        self.statistic(name, dimension, &statistic, unit);
    }

    fn statistic(
        &mut self,
        name: &str,
        dimension: Option<Dimension<'_>>,
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
