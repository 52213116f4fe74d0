//! Metrics as text: the Prometheus form, points by minute as CloudWatch names them, capacity and its cost as JSON.

pub mod capacity;
pub mod heat_svg;
pub mod points;
pub mod prices;
pub mod prometheus;

use crate::model::layout::{Statistic, TableMetrics, Usage};

/// A table's usage as its own dimension counts it: with that of its local indexes, which take the table's units, and without that of
/// its global ones.
#[must_use]
pub fn with_local_indexes(table: &TableMetrics, usage: impl Fn(&crate::model::layout::SourceMetrics) -> Usage) -> Usage {
    let of_table = table.sources.iter().filter(|source| source.is_of_table());
    of_table.fold(Usage::default(), |sum, source| {
        let other = usage(source);
        Usage {
            read: merged(&sum.read, &other.read),
            write: merged(&sum.write, &other.write),
            read_throttles: sum.read_throttles + other.read_throttles,
            write_throttles: sum.write_throttles + other.write_throttles,
            online_write: merged(&sum.online_write, &other.online_write),
            online_throttles: sum.online_throttles + other.online_throttles,
            online_percent: sum.online_percent.max(other.online_percent),
        }
    })
}

fn merged(one: &Statistic, other: &Statistic) -> Statistic {
    match (one.count, other.count) {
        (_, 0) => *one,
        (0, _) => *other,
        _ => Statistic {
            count: one.count + other.count,
            sum: one.sum + other.sum,
            min: one.min.min(other.min),
            max: one.max.max(other.max),
        },
    }
}
