//! Measurements as text: metrics in the Prometheus form, points by minute as CloudWatch names them,
//! capacity and its cost as JSON, access patterns, heat as an SVG picture; and the price table, read from JSON.
//! `model::metrics` has the types.

pub mod access;
pub mod capacity;
pub mod cloudwatch;
pub mod heat_svg;
pub mod prices;
pub mod prometheus;

use crate::model::metrics::{CapacityUsage, SourceMetrics, TableMetrics};

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
