//! Metrics of a service elsewhere: what this mount itself consumed of it. Partitions and what other clients ask are the service's
//! own secret.

use crate::database::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::budget::{Meter, TableSums};
use crate::database::layout;
use crate::engine::meter::sums::History;
use crate::model::IndexName;
use crate::model::api::TableDescription;
use crate::model::clock::{Clock as _, SystemClock};
use crate::model::layout::{Billing, Metrics, SourceMetrics, TableMetrics, TimeSpan, Window};
use crate::model::prices::{PriceTable, Spent};
use crate::model::schema::{IndexKind, ProvisionedThroughput};

/// So long a description is good: its counters change every six hours, its units seldom.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// See the module.
pub struct RemoteLayout {
    meter: Arc<Meter>,
    /// Asked for descriptions of tables.
    tables: Arc<dyn Database>,
    known: Mutex<HashMap<TableName, (Instant, Arc<TableDescription>)>>,
}

impl std::fmt::Debug for RemoteLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteLayout").field("meter", &self.meter).finish_non_exhaustive()
    }
}

impl RemoteLayout {
    #[must_use]
    pub fn new(meter: Arc<Meter>, tables: Arc<dyn Database>) -> Self {
        Self { meter, tables, known: Mutex::default() }
    }

    /// A description that may be some seconds old.
    fn described(&self, table: &TableName) -> Result<Option<Arc<TableDescription>>, Error> {
        if let Some((_, described)) = self.known.lock().get(table).filter(|(at, _)| at.elapsed() < KNOWN_FOR) {
            return Ok(Some(Arc::clone(described)));
        }
        let Some(described) = self.tables.described(table)?.map(Arc::new) else { return Ok(None) };
        let mut known = self.known.lock();
        known.retain(|_, (at, _)| at.elapsed() < KNOWN_FOR);
        known.insert(table.clone(), (Instant::now(), Arc::clone(&described)));
        Ok(Some(described))
    }

    fn of_table(&self, table: &TableName, now_ms: u64) -> Result<Option<TableMetrics>, Error> {
        let Some(described) = self.described(table)? else { return Ok(None) };
        let TableSums { sources, operations } = self.meter.sums(table);
        let counts = operations.series(now_ms, |sums| sums.counts.as_deref().cloned().unwrap_or_default());
        let sources = all_sources(&described, &sources, now_ms);
        Ok(Some(TableMetrics { table: table.clone(), sources, counts, since_ms: self.meter.spent().since_ms }))
    }
}

fn all_sources(described: &TableDescription, counted: &BTreeMap<Option<IndexName>, History>, now_ms: u64) -> Vec<SourceMetrics> {
    let schema = &described.schema;
    let base = (None, schema.throughput, false, (described.item_count, described.table_size_bytes));
    let indexes = schema.indexes.iter().zip(&described.indexes).map(|(index, of)| {
        let throughput = schema.throughput.and(index.throughput);
        (Some(&index.name), throughput, index.kind == IndexKind::Local, (of.item_count, of.index_size_bytes))
    });
    let of_source =
        |(index, throughput, is_local, (entries, billed_bytes)): (_, Option<ProvisionedThroughput>, bool, (u64, u64))| {
            let index: Option<&IndexName> = index;
            let nothing = History::default();
            let history = counted.get(&index.cloned()).unwrap_or(&nothing);
            let billing = match (schema.throughput, throughput) {
                (None, _) => Billing::OnDemand,
                (Some(_), Some(units)) if !is_local => Billing::Provisioned(units),
                (Some(_), _) => Billing::WithTable,
            };
            SourceMetrics {
                index: index.cloned(),
                usage: history.series(now_ms, |sums| sums.usage),
                windows: Window::ALL.map(|window| history.within(window, now_ms).usage),
                is_local,
                billing,
                entries,
                billed_bytes,
                backfill: None,
            }
        };
    std::iter::once(base).chain(indexes).map(of_source).collect()
}

impl layout::Layout for RemoteLayout {
    fn metrics(&self, tables: &[TableName]) -> Result<Metrics, Error> {
        let now_ms = SystemClock.now_ms();
        let tables =
            tables.iter().map(|table| self.of_table(table, now_ms)).filter_map(Result::transpose).collect::<Result<_, _>>()?;
        Ok(Metrics { now_ms, tables, ..Metrics::default() })
    }

    /// Of the tables that something was asked of: an account may have very many.
    fn all_metrics(&self) -> Result<Metrics, Error> {
        self.metrics(&self.meter.tables())
    }

    fn spent(&self) -> Option<Spent> {
        Some(self.meter.spent())
    }

    fn prices(&self) -> &PriceTable {
        self.meter.prices()
    }

    fn span(&self, window: Window) -> TimeSpan {
        window.span(SystemClock.now_ms())
    }
}
