//! What the meters say, with the counters of the store beside it.

use std::sync::Arc;

use crate::engine::base::keys::SourceId;
use crate::engine::catalog::TableEntry;
use crate::engine::index_life::progress::Progress;
use crate::engine::meter::stored;
use crate::engine::runtime::{Engine, View};
use crate::model::layout::{Billing, Metrics, SourceMetrics, TableMetrics, Window};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexKind, IndexSchema, TableName};

impl Engine {
    /// The metrics of these tables; those that are not there are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        let _reading = self.shared.meter.reading();
        let view = self.view()?;
        let store = self.store_info();
        let mut metrics = Metrics {
            now_ms: view.now_ms(),
            tables: Vec::with_capacity(tables.len()),
            user_errors: stored::user_errors(view.read())? + self.shared.meter.user_errors(),
            log_bytes: store.log_bytes,
            checkpoint_age: store.checkpoint_at.map(|at| at.elapsed().as_secs_f64()),
        };
        for name in tables {
            if let Some(table) = view.table(name)? {
                metrics.tables.push(table_metrics(&view, &table)?);
            }
        }
        Ok(metrics)
    }

    /// Counts a request that was refused before it came to the engine.
    pub fn count_user_error(&self) {
        self.shared.meter.user_error();
    }

    /// Bytes that an item collection of a table with local indexes may have.
    #[must_use]
    pub fn collection_bytes_max(&self) -> u64 {
        self.shared.options.collection_bytes_max
    }

    /// The prices to tell costs by.
    #[must_use]
    pub fn prices(&self) -> &Arc<PriceTable> {
        &self.shared.options.prices
    }
}

fn table_metrics(view: &View<'_>, table: &TableEntry) -> Result<TableMetrics, Error> {
    let mut sources = vec![source_metrics(view, table, (None, table.source))?];
    for (index, source) in table.indexes() {
        sources.push(source_metrics(view, table, (Some(index), source))?);
    }
    let name = table.schema.name.clone();
    let now_ms = view.now_ms();
    let mut history = stored::history(view.read(), table.source)?;
    history.merge(&view.meter().table(&name).sums());
    let counts = history.series(now_ms, |sums| sums.counts.as_deref().cloned().unwrap_or_default());
    let since_ms = history.total.since_ms.unwrap_or(view.counted_since_ms(table));
    Ok(TableMetrics { table: name, sources, counts, since_ms })
}

fn source_metrics(
    view: &View<'_>,
    table: &TableEntry,
    (index, source): (Option<&IndexSchema>, SourceId),
) -> Result<SourceMetrics, Error> {
    let counters = view.counters(source)?;
    let now_ms = view.now_ms();
    let mut history = stored::history(view.read(), source)?;
    if let Some(meter) = view.meter().known_source(source) {
        history.merge(&meter.sums());
    }
    let is_local = index.is_some_and(|index| index.kind == IndexKind::Local);
    let billing = match (table.schema.throughput, table.throughput_of(source)) {
        (None, _) => Billing::OnDemand,
        (Some(_), Some(units)) if !is_local => Billing::Provisioned(units),
        (Some(_), _) => Billing::WithTable,
    };
    Ok(SourceMetrics {
        index: index.map(|index| index.name.clone()),
        usage: history.series(now_ms, |sums| sums.usage),
        windows: Window::ALL.map(|window| history.within(window, now_ms).usage),
        is_local,
        billing,
        entries: counters.entries,
        billed_bytes: counters.size_with_overhead(),
        backfill: Progress::read(view.read(), source)?.map(|progress| progress.counts),
    })
}
