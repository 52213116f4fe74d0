//! The input of the rules of advice: reads a table's definition, distributions, a sample of items,
//! the growth of the fullest item collection of a table with local indexes, and the recorded load.
//! Reading them consumes no capacity.

use std::ops::ControlFlow;

use super::expiry::{self, IdleExpiry};
use crate::database::layout::Layout;
use crate::database::{
    Browse, Collection, EntryKey, EntryRange, PartitionKey, SourceName, SourceStats,
};
use crate::inspect::sampling::{self, Distribution};
use crate::model::api::tables::AbsentEntry;
use crate::model::api::{TableDescription, TableStatus};
use crate::model::limits::ENTRY_OVERHEAD_BYTES;
use crate::model::metrics::{
    Billing, CapacityUsage, HotKey, Load, Period, SourceMetrics, TableMetrics,
};
use crate::model::prices::PriceTable;
use crate::model::{Error, IndexKind, IndexName, IndexSchema, Item, TableName};

/// The maximum of collections walked for each table and index, and of items measured. A larger
/// table is judged by its first ones in hash order, which are as good as any.
pub const WALKED_MAX: u64 = 1_000_000;
/// The maximum of items read whole, from all over the hash range, and about how many bytes of them.
const SAMPLE_ITEMS_MAX: u32 = 1000;
const SAMPLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The maximum of partition key values kept.
const KEYS_MAX: usize = 1000;
/// The number of largest collections and items kept.
const LARGEST_MAX: usize = 5;

/// The facts of a table.
#[derive(Debug, Clone)]
pub struct TableFacts {
    pub description: TableDescription,
    /// A sentence about the missing parts of an incomplete table.
    pub unfinished: Option<String>,
    pub table: SourceFacts,
    /// In the order of the schema, without indexes that are being created or deleted.
    pub indexes: Vec<IndexFacts>,
    /// The vector indexes, which have no keys, likewise.
    pub vectors: Vec<IndexFacts>,
    pub sizes: ItemSizes,
    pub sample: Vec<Item>,
    /// Present if time to live is off, and an attribute looks like an expiry.
    pub idle_expiry: Option<IdleExpiry>,
    /// Present for a table with local indexes and items.
    pub growth: Option<CollectionGrowth>,
    /// `None` if the database counts no load.
    pub traffic: Option<Traffic>,
}

/// The facts of an index.
#[derive(Debug, Clone)]
pub struct IndexFacts {
    pub schema: IndexSchema,
    pub source: SourceFacts,
    /// Items that the index leaves out because of a value.
    pub violations: u64,
    /// An example of them.
    pub violation: Option<AbsentEntry>,
}

/// The facts of a table's items or an index's entries.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    pub stats: SourceStats,
    /// Entries of each walked collection.
    pub distribution: Distribution,
    /// Sorted by entries, the largest first.
    pub largest: Vec<Collection>,
    /// Values of the partition key, the first in hash order, each with the time of its newest
    /// change.
    pub keys: Vec<(PartitionKey, u64)>,
}

/// The sizes of a table's items.
#[derive(Debug, Clone, Default)]
pub struct ItemSizes {
    /// Bytes of each walked item.
    pub distribution: Distribution,
    /// Bytes and key of the largest items, the largest first.
    pub largest: Vec<(u64, EntryKey)>,
}

impl IndexFacts {
    /// Returns the bytes of its entries with the overhead of each.
    #[must_use]
    pub fn billed_bytes(&self) -> u64 {
        self.source.stats.bytes + self.source.stats.entries * ENTRY_OVERHEAD_BYTES
    }
}

impl SourceFacts {
    /// Returns the mean bytes of an entry.
    #[must_use]
    pub fn mean_bytes(&self) -> u64 {
        self.stats
            .bytes
            .checked_div(self.stats.entries)
            .unwrap_or(0)
    }
}

impl TableFacts {
    /// Returns the table's name.
    #[must_use]
    pub fn name(&self) -> &TableName {
        &self.description.schema.name
    }

    /// Reads the facts of a table; returns `None` if there is no such table. Fails if the database
    /// fails.
    pub fn read(database: &dyn Browse, table: &TableName) -> Result<Option<Self>, Error> {
        let Some(description) = database.describe(table)? else {
            return Ok(None);
        };
        let unfinished = database.incomplete_pull(table)?;
        let schema = &description.schema;
        let mut indexes = Vec::new();
        // An index that is being created or deleted allows no conclusion.
        for (schema, description) in schema.indexes.iter().zip(&description.indexes) {
            let source = SourceName {
                table: table.clone(),
                index: Some(schema.name.clone()),
            };
            if matches!(
                description.status,
                TableStatus::Active | TableStatus::Updating
            ) && description.backfilling.is_none()
            {
                let (violations, violation) =
                    (description.violations, first_violation(database, &source)?);
                let facts = source_facts(database, &source, true)?;
                indexes.push(IndexFacts {
                    schema: schema.clone(),
                    source: facts,
                    violations,
                    violation,
                });
            }
        }
        let (vectors, indexes) = indexes
            .into_iter()
            .partition(|index: &IndexFacts| index.schema.vector.is_some());
        let source = SourceName::from(table);
        let table = source_facts(database, &source, schema.key.sort.is_some())?;
        let sizes = item_sizes(database, &source)?;
        let sample_items = u32::try_from(SAMPLE_BYTES_MAX / table.mean_bytes().max(1))
            .unwrap_or(u32::MAX)
            .clamp(1, SAMPLE_ITEMS_MAX);
        let sample = sampling::sample(database, &source, sample_items)?;
        let idle_expiry =
            expiry::find(database, schema, &sample, &table.largest, description.at_ms)?;
        let growth = read_growth(database, &description)?;
        let traffic = read_traffic(database, &description)?;
        Ok(Some(Self {
            description,
            unfinished,
            table,
            indexes,
            vectors,
            sizes,
            sample,
            idle_expiry,
            growth,
            traffic,
        }))
    }
}

/// Reads the facts of one source. If `has_collections` is false, each value has one entry, and
/// there is nothing to count.
fn source_facts(
    database: &dyn Browse,
    source: &SourceName,
    has_collections: bool,
) -> Result<SourceFacts, Error> {
    let stats = database.stats(source)?;
    let mut facts = SourceFacts {
        stats,
        distribution: Distribution::default(),
        largest: Vec::new(),
        keys: Vec::new(),
    };
    let walked_max = if has_collections {
        WALKED_MAX
    } else {
        KEYS_MAX as u64
    };
    database.collections(source, None, None, &mut |(collection, _)| {
        facts.distribution.add(collection.entries);
        if facts.keys.len() < KEYS_MAX {
            facts
                .keys
                .push((collection.partition.clone(), collection.modified_ms));
        }
        keep_largest(&mut facts.largest, collection, |collection| {
            collection.entries
        });
        if facts.distribution.count < walked_max {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(facts)
}

fn keep_largest<T>(largest: &mut Vec<T>, candidate: T, size: impl Fn(&T) -> u64) {
    let place = largest.partition_point(|larger| size(larger) >= size(&candidate));
    if place < LARGEST_MAX {
        largest.insert(place, candidate);
        largest.truncate(LARGEST_MAX);
    }
}

fn item_sizes(database: &dyn Browse, source: &SourceName) -> Result<ItemSizes, Error> {
    let mut sizes = ItemSizes::default();
    database.entries(source, &EntryRange::All, None, &mut |key, stat, _| {
        sizes.distribution.add(stat.item_bytes.into());
        keep_largest(
            &mut sizes.largest,
            (stat.item_bytes.into(), key.clone()),
            |(bytes, _)| *bytes,
        );
        if sizes.distribution.count < WALKED_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(sizes)
}

fn first_violation(
    database: &dyn Browse,
    source: &SourceName,
) -> Result<Option<AbsentEntry>, Error> {
    let mut first = None;
    database.absences(source, true, &mut |absence| {
        first = Some(absence);
        ControlFlow::Break(())
    })?;
    Ok(first)
}

pub const DAY_MS: u64 = 86_400_000;
/// The maximum of items walked in the collection, the first by sort key.
const ITEMS_MAX: u64 = 1_000_000;
/// The period by which growth is measured: older days are poorer predictors.
const GROWTH_PERIOD_MS: u64 = 7 * DAY_MS;

/// The fullest item collection and its growth.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionGrowth {
    pub partition: PartitionKey,
    /// The bytes of its items and their local index entries, with the overhead of each.
    pub billed_bytes: u64,
    pub items: u64,
    /// The size limit of an item collection, in bytes, as this database has it.
    pub bytes_max: u64,
    /// The bytes written a day, over the last days; `None` if all of it was written within a day.
    pub bytes_a_day: Option<u64>,
    /// The time of its oldest item, milliseconds since the epoch.
    pub since_ms: u64,
    pub now_ms: u64,
}

impl CollectionGrowth {
    /// Returns the time at which the collection is full at this pace, in milliseconds since the
    /// epoch.
    #[must_use]
    pub fn full_ms(&self) -> Option<u64> {
        let left = self.bytes_max.saturating_sub(self.billed_bytes);
        let days = u128::from(left) * u128::from(DAY_MS)
            / u128::from(self.bytes_a_day.filter(|bytes| *bytes > 0)?);
        self.now_ms.checked_add(u64::try_from(days).ok()?)
    }

    #[must_use]
    pub fn percent(&self) -> u64 {
        (self.billed_bytes * 100)
            .checked_div(self.bytes_max)
            .unwrap_or(100)
    }
}

/// Reads the growth; returns `None` without local indexes or items.
fn read_growth(
    database: &dyn Browse,
    description: &TableDescription,
) -> Result<Option<CollectionGrowth>, Error> {
    let schema = &description.schema;
    let has_local = schema.indexes_of(IndexKind::Local).next().is_some();
    let Some(layout) = database.layout().filter(|_| has_local) else {
        return Ok(None);
    };
    let source = SourceName::from(&schema.name);
    let Some(largest) = layout.big_collections(&source, 1)?.into_iter().next() else {
        return Ok(None);
    };
    let Some(partition) = largest.key else {
        return Ok(None);
    };
    let now_ms = description.at_ms;
    let (mut all, mut new, mut since_ms, mut walked) = (0, 0, now_ms, 0);
    let entries = EntryRange::Collection {
        partition: partition.clone(),
        sort_prefix: None,
    };
    database.entries(&source, &entries, None, &mut |_, stat, _| {
        let bytes = u64::from(stat.item_bytes) + ENTRY_OVERHEAD_BYTES;
        all += bytes;
        // A changed item counts as a new one: its earlier size is not known.
        new += if stat.modified_ms + GROWTH_PERIOD_MS > now_ms {
            bytes
        } else {
            0
        };
        since_ms = since_ms.min(stat.modified_ms);
        walked += 1;
        if walked < ITEMS_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let over_ms = now_ms.saturating_sub(since_ms).min(GROWTH_PERIOD_MS);
    // Index entries grow with their items.
    let scaled = u128::from(new) * u128::from(largest.billed_bytes) / u128::from(all.max(1));
    let a_day = u64::try_from(scaled * u128::from(DAY_MS) / u128::from(over_ms.max(1))).ok();
    Ok(Some(CollectionGrowth {
        partition,
        billed_bytes: largest.billed_bytes,
        items: largest.items,
        bytes_max: layout.collection_bytes_max(),
        bytes_a_day: a_day.filter(|_| over_ms >= DAY_MS),
        since_ms,
        now_ms,
    }))
}

const MINUTE_MS: u64 = 60_000;
const SECONDS_OF_MINUTE: f64 = 60.0;
/// The number of hottest keys for each table and index.
const HOT_KEYS: usize = 5;

/// The load of a table, by its base and indexes.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// The time at which the counting began, milliseconds since the epoch.
    pub since_ms: u64,
    pub now_ms: u64,
    /// The base first, then the indexes in the schema's order.
    pub sources: Vec<SourceTraffic>,
    pub metrics: TableMetrics,
    pub prices: PriceTable,
    /// The limits of a partition, units a second.
    pub partition: Load,
}

/// The load of a table's base or of an index.
#[derive(Debug, Clone)]
pub struct SourceTraffic {
    pub index: Option<IndexName>,
    pub billing: Billing,
    pub usage: CapacityUsage,
    /// The usage of the last day.
    pub day: CapacityUsage,
    /// Units a second in the busiest minute of reads, and of writes.
    pub peak: Load,
    /// One for each period, in the order of [`Period::ALL`]; empty for a local index itself.
    windows: [WindowLoad; 3],
}

/// The load of a period, summed over the partitions, local indexes included.
#[derive(Debug, Clone, Default)]
pub struct WindowLoad {
    pub load: Load,
    /// The hottest keys of that load, the hottest first.
    pub hot: Vec<HotKey>,
}

impl SourceTraffic {
    /// Returns all units and throttle events.
    #[must_use]
    pub fn load(&self) -> Load {
        self.usage.load()
    }

    /// Returns the load of a period.
    #[must_use]
    pub fn window(&self, period: Period) -> &WindowLoad {
        &self.windows[period as usize]
    }

    /// Returns the highest rates known, units a second: those of the busiest minute, and the means
    /// of the last hour and day.
    #[must_use]
    pub fn busiest(&self) -> Load {
        let mut highest = self.peak;
        for period in Period::ALL {
            let load = &self.window(period).load;
            highest.read = highest.read.max(load.read / period.seconds());
            highest.write = highest.write.max(load.write / period.seconds());
        }
        highest
    }
}

impl Traffic {
    /// Returns the load of the index, or of the base for `None`.
    #[must_use]
    pub fn source(&self, index: Option<&IndexName>) -> Option<&SourceTraffic> {
        self.sources
            .iter()
            .find(|source| source.index.as_ref() == index)
    }

    /// Returns the billing of a source; a local index is billed as its table.
    #[must_use]
    pub fn billing(&self, source: &SourceTraffic) -> Billing {
        match (source.billing, self.source(None)) {
            (Billing::WithTable, Some(base)) => base.billing,
            (billing, _) => billing,
        }
    }

    /// Returns the load of the base and all indexes.
    #[must_use]
    pub fn load(&self) -> Load {
        let mut sum = Load::default();
        self.sources
            .iter()
            .for_each(|source| sum.add(&source.load()));
        sum
    }

    /// Returns the seconds of observation, at least a minute.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.now_ms.saturating_sub(self.since_ms).max(MINUTE_MS) as f64 / 1e3
    }
}

/// Reads the load; returns `None` if the database counts none.
pub fn read_traffic(
    database: &dyn Browse,
    description: &TableDescription,
) -> Result<Option<Traffic>, Error> {
    let Some(layout) = database.layout() else {
        return Ok(None);
    };
    let metrics = layout.metrics(std::slice::from_ref(&description.schema.name))?;
    let Some(table) = metrics.tables.into_iter().next() else {
        return Ok(None);
    };
    let sources = table
        .sources
        .iter()
        .map(|source| source_traffic(layout, &table, source))
        .collect::<Result<_, _>>()?;
    let limits = layout.partition_limits();
    Ok(Some(Traffic {
        since_ms: table.since_ms.max(description.created_ms),
        now_ms: metrics.now_ms,
        sources,
        metrics: table,
        prices: layout.prices().clone(),
        partition: Load::of_units(limits.read_units_max, limits.write_units_max),
    }))
}

fn source_traffic(
    layout: &dyn Layout,
    table: &TableMetrics,
    source: &SourceMetrics,
) -> Result<SourceTraffic, Error> {
    let place = SourceName {
        table: table.table.clone(),
        index: source.index.clone(),
    };
    let mut windows: [WindowLoad; 3] = Default::default();
    if !source.is_local() {
        for (period, window) in Period::ALL.into_iter().zip(&mut windows) {
            layout
                .partitions(&place, period)?
                .iter()
                .for_each(|partition| window.load.add(&partition.load));
            window.hot = layout.hot_keys(&place, period, HOT_KEYS)?;
        }
    }
    let busiest = |units: fn(&CapacityUsage) -> f64| {
        source
            .usage
            .minutes
            .iter()
            .map(|(_, usage)| units(usage) / SECONDS_OF_MINUTE)
            .fold(0.0, f64::max)
    };
    Ok(SourceTraffic {
        index: source.index.clone(),
        billing: source.billing,
        usage: source.usage.total,
        day: *source.within(Period::Day),
        peak: Load::of_units(
            busiest(|usage| usage.read.sum),
            busiest(|usage| usage.write.sum),
        ),
        windows,
    })
}
