//! What was really asked for, as far as it is remembered.

use crate::database::layout::Layout;
use crate::database::{Browse, Source};
use crate::model::api::TableDescription;
use crate::model::layout::{Billing, HotKey, Load, Reads, SourceMetrics, TableMetrics, Usage, Window};
use crate::model::prices::PriceTable;
use crate::model::schema::ProvisionedThroughput;
use crate::model::{Error, IndexName};

const MINUTE_MS: u64 = 60_000;
const SECONDS_OF_MINUTE: f64 = 60.0;
/// Hottest keys of each table and index.
const HOT_KEYS: usize = 5;

/// What was asked of a table, by its base and indexes.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// When the counting began, milliseconds since the epoch.
    pub since_ms: u64,
    pub now_ms: u64,
    /// The base first, then the indexes in the schema's order.
    pub sources: Vec<SourceTraffic>,
    pub metrics: TableMetrics,
    pub prices: PriceTable,
    /// Units a second that a partition gives.
    pub partition: Load,
}

/// What was asked of a table's base or an index.
#[derive(Debug, Clone)]
pub struct SourceTraffic {
    pub index: Option<IndexName>,
    pub billing: Billing,
    pub usage: Usage,
    /// Of the last day.
    pub queries: Reads,
    /// Of the last day.
    pub scans: Reads,
    /// Units a second in the busiest minute of reads, and of writes.
    pub peak: Load,
    /// Of the last day, with what was asked of local indexes, by partitions; nothing of a local index itself.
    pub day: Load,
    /// Keys of that load, the hottest first.
    pub hot: Vec<HotKey>,
}

impl SourceTraffic {
    /// All units and throttled requests.
    #[must_use]
    pub fn load(&self) -> Load {
        self.usage.load()
    }

    #[must_use]
    pub fn provisioned(&self) -> Option<ProvisionedThroughput> {
        if let Billing::Provisioned(units) = self.billing { Some(units) } else { None }
    }
}

impl Traffic {
    /// The index's, or the base's.
    #[must_use]
    pub fn of(&self, index: Option<&IndexName>) -> Option<&SourceTraffic> {
        self.sources.iter().find(|source| source.index.as_ref() == index)
    }

    /// Of the base and all indexes.
    #[must_use]
    pub fn load(&self) -> Load {
        let mut sum = Load::default();
        self.sources.iter().for_each(|source| sum.add(&source.load()));
        sum
    }

    /// How long it was counted, at least a minute.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.now_ms.saturating_sub(self.since_ms).max(MINUTE_MS) as f64 / 1e3
    }
}

/// `None` where nothing is counted.
pub fn read(database: &dyn Browse, description: &TableDescription) -> Result<Option<Traffic>, Error> {
    let Some(layout) = database.layout() else { return Ok(None) };
    let metrics = layout.metrics(std::slice::from_ref(&description.schema.name))?;
    let Some(table) = metrics.tables.into_iter().next() else { return Ok(None) };
    let sources = table.sources.iter().map(|source| of_source(layout, &table, source)).collect::<Result<_, _>>()?;
    let limits = layout.partition_limits();
    Ok(Some(Traffic {
        since_ms: table.since_ms.max(description.created_ms),
        now_ms: metrics.now_ms,
        sources,
        metrics: table,
        prices: layout.prices().clone(),
        partition: units(limits.read_units_max, limits.write_units_max),
    }))
}

fn of_source(layout: &dyn Layout, table: &TableMetrics, source: &SourceMetrics) -> Result<SourceTraffic, Error> {
    let place = Source { table: table.table.clone(), index: source.index.clone() };
    let (mut day, mut hot) = (Load::default(), Vec::new());
    if !source.is_local {
        layout.partitions(&place, Window::Day)?.iter().for_each(|partition| day.add(&partition.load));
        hot = layout.hot_keys(&place, Window::Day, HOT_KEYS)?;
    }
    let busiest = |units: fn(&Usage) -> f64| {
        source.usage.minutes.iter().map(|(_, usage)| units(usage) / SECONDS_OF_MINUTE).fold(0.0, f64::max)
    };
    Ok(SourceTraffic {
        index: source.index.clone(),
        billing: source.billing,
        usage: source.usage.total,
        queries: source.within(Window::Day).queries,
        scans: source.within(Window::Day).scans,
        peak: units(busiest(|usage| usage.read.sum), busiest(|usage| usage.write.sum)),
        day,
        hot,
    })
}

fn units(read: f64, write: f64) -> Load {
    Load { read, write, ..Load::default() }
}
