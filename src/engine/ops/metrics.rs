//! What the meters say, with the counters of the store beside it.

use std::sync::Arc;

use crate::engine::base::keys::SourceId;
use crate::engine::catalog::TableEntry;
use crate::engine::index_life::progress::Progress;
use crate::engine::runtime::{Engine, View};
use crate::model::layout::{Billing, Metrics, SourceMetrics, TableMetrics};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexKind, IndexSchema, TableName};

impl Engine {
    /// The metrics of these tables; those that are not there are left out.
    ///
    /// # Errors
    /// Those of the store.
    pub fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        let view = self.view()?;
        let mut metrics = Metrics {
            now_ms: view.now_ms(),
            since_ms: self.shared.started_ms,
            tables: Vec::with_capacity(tables.len()),
            user_errors: self.shared.meter.user_errors(),
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
    let counts = view.meter().table(&name).series(view.now_ms());
    Ok(TableMetrics { table: name, sources, counts })
}

fn source_metrics(
    view: &View<'_>,
    table: &TableEntry,
    (index, source): (Option<&IndexSchema>, SourceId),
) -> Result<SourceMetrics, Error> {
    let counters = view.counters(source)?;
    let meter = view.meter().known_source(source);
    let is_local = index.is_some_and(|index| index.kind == IndexKind::Local);
    let billing = match (table.schema.throughput, table.throughput_of(source)) {
        (None, _) => Billing::OnDemand,
        (Some(_), Some(units)) if !is_local => Billing::Provisioned(units),
        (Some(_), _) => Billing::WithTable,
    };
    Ok(SourceMetrics {
        index: index.map(|index| index.name.clone()),
        usage: meter.as_ref().map(|meter| meter.usage(view.now_ms())).unwrap_or_default(),
        last_minute: meter.map(|meter| meter.last_minute(view.now_ms())).unwrap_or_default(),
        is_local,
        billing,
        entries: counters.entries,
        billed_bytes: counters.size_with_overhead(),
        backfill: Progress::read(view.read(), source)?.map(|progress| progress.counts),
    })
}
