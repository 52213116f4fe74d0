//! `<Table>/capacity.json` and `<Table>/metrics.ndjson`, `.ddb/capacity.json`, `.ddb/stats.prom`: what was consumed, by whom, and what it would cost. Counted
//! by every process on the data directory, since the counting of the table began.

use crate::codec::metrics::{capacity, points, prometheus};
use crate::database::layout::Layout;
use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;
use crate::model::layout::{Metrics, TableMetrics};

/// `<Table>/capacity.json`
pub fn capacity_text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    of_table(mount, at, |metrics, table, layout| pretty(&capacity::render(metrics, table, layout.prices())))
}

/// `.ddb/capacity.json`
pub fn all_text(mount: &Mount, _at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    let layout = mount.layout()?;
    let spent = layout.spent();
    // What a service was asked for is counted here as a whole.
    let metrics = if spent.is_some() { Metrics::default() } else { layout.all_metrics()? };
    Ok(pretty(&capacity::render_all(&metrics, spent.as_ref(), layout.prices())))
}

/// `<Table>/metrics.ndjson`
pub fn points_text(mount: &Mount, at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    of_table(mount, at, |metrics, table, _| points::render(table, metrics.now_ms).into_bytes())
}

fn of_table(
    mount: &Mount,
    at: &Special,
    render: impl FnOnce(&Metrics, &TableMetrics, &dyn Layout) -> Vec<u8>,
) -> Result<Vec<u8>, FsError> {
    let (layout, table) = (mount.layout()?, at.of_table()?);
    let metrics = layout.metrics(std::slice::from_ref(table))?;
    let table = metrics.tables.first().ok_or(FsError::NotFound)?;
    Ok(render(&metrics, table, layout))
}

/// `.ddb/stats.prom`
pub fn prometheus_text(mount: &Mount, _at: &Special, _caller: Caller) -> Result<Vec<u8>, FsError> {
    Ok(prometheus::render(&mount.layout()?.all_metrics()?).into_bytes())
}
