//! What advice rests on. Reading it consumes nothing.
//!
//! ```text
//! growth.rs   the fullest item collection of a table with local indexes, and how fast it grows
//! traffic.rs  what was really asked for
//! ```

mod growth;
mod traffic;

use std::ops::ControlFlow;

use crate::database::{Browse, Collection, Entries, EntryKey, PartitionKey, Source, SourceStats};
use crate::inspect::look;
use crate::inspect::spread::Spread;
use crate::model::api::absence::Absence;
use crate::model::api::{TableDescription, TableStatus};
use crate::model::{Error, IndexSchema, Item, TableName};

pub use growth::{DAY_MS, Growth};
pub use traffic::{SourceTraffic, Traffic};

/// Collections walked of each table and index, and items whose sizes are looked at; a larger one is judged by its first ones in hash
/// order, which are as good as any.
pub const WALKED_MAX: u64 = 1_000_000;
/// Items read whole, from all over the hash range, and about how many bytes of them.
const SAMPLE_ITEMS_MAX: u32 = 1000;
const SAMPLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Partition key values kept to look at.
const KEYS_MAX: usize = 1000;
/// Largest collections and items kept.
const LARGEST: usize = 5;

/// What is known of a table.
#[derive(Debug, Clone)]
pub struct Facts {
    pub description: TableDescription,
    /// What it lacks, if it is not whole.
    pub unfinished: Option<String>,
    pub table: SourceFacts,
    /// In the order of the schema; those that are being made or dropped are left out.
    pub indexes: Vec<IndexFacts>,
    pub sizes: ItemSizes,
    pub sample: Vec<Item>,
    /// Of a table with local indexes and items.
    pub growth: Option<Growth>,
    /// `None` where nothing is counted.
    pub traffic: Option<Traffic>,
}

/// What is known of an index.
#[derive(Debug, Clone)]
pub struct IndexFacts {
    pub schema: IndexSchema,
    pub source: SourceFacts,
    /// Items that a value keeps out of it.
    pub violations: u64,
    /// One of them.
    pub violation: Option<Absence>,
}

/// What is known of a table's items or an index's entries.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    pub stats: SourceStats,
    /// Entries of the collections walked.
    pub spread: Spread,
    /// By entries, the largest first.
    pub largest: Vec<Collection>,
    /// Values of the partition key, the first in hash order, with the time of their newest change.
    pub keys: Vec<(PartitionKey, u64)>,
}

/// The sizes of a table's items.
#[derive(Debug, Clone, Default)]
pub struct ItemSizes {
    /// Bytes of the items walked.
    pub spread: Spread,
    /// Bytes and keys of the largest, the largest first.
    pub largest: Vec<(u64, EntryKey)>,
}

impl SourceFacts {
    /// Mean bytes of an entry.
    #[must_use]
    pub fn mean_bytes(&self) -> u64 {
        self.stats.bytes.checked_div(self.stats.entries).unwrap_or(0)
    }
}

impl Facts {
    /// Reads them; `None` when there is no such table.
    ///
    /// # Errors
    /// The database failed.
    pub fn read(database: &dyn Browse, table: &TableName) -> Result<Option<Self>, Error> {
        let Some(description) = database.describe(table)? else { return Ok(None) };
        let unfinished = database.unfinished(table)?;
        let schema = &description.schema;
        let mut indexes = Vec::new();
        // Of one that is being made or dropped nothing can be said yet, or any more.
        for (schema, description) in schema.indexes.iter().zip(&description.indexes) {
            let source = Source { table: table.clone(), index: Some(schema.name.clone()) };
            if matches!(description.status, TableStatus::Active | TableStatus::Updating) && description.backfilling.is_none() {
                let (violations, violation) = (description.violations, first_violation(database, &source)?);
                let facts = source_facts(database, &source, true)?;
                indexes.push(IndexFacts { schema: schema.clone(), source: facts, violations, violation });
            }
        }
        let source = Source { table: table.clone(), index: None };
        let table = source_facts(database, &source, schema.key.sort.is_some())?;
        let sizes = item_sizes(database, &source)?;
        let sample_items =
            u32::try_from(SAMPLE_BYTES_MAX / table.mean_bytes().max(1)).unwrap_or(u32::MAX).clamp(1, SAMPLE_ITEMS_MAX);
        let sample = look::sample(database, &source, sample_items)?;
        let growth = growth::read(database, &description)?;
        let traffic = traffic::read(database, &description)?;
        Ok(Some(Self { description, unfinished, table, indexes, sizes, sample, growth, traffic }))
    }
}

/// `has_collections`: a value can have more than one entry; otherwise there is nothing to count.
fn source_facts(database: &dyn Browse, source: &Source, has_collections: bool) -> Result<SourceFacts, Error> {
    let stats = database.stats(source)?;
    let mut facts = SourceFacts { stats, spread: Spread::default(), largest: Vec::new(), keys: Vec::new() };
    let walked_max = if has_collections { WALKED_MAX } else { KEYS_MAX as u64 };
    database.collections(source, None, &mut |collection, _| {
        facts.spread.add(collection.entries);
        if facts.keys.len() < KEYS_MAX {
            facts.keys.push((collection.partition.clone(), collection.modified_ms));
        }
        keep_largest(&mut facts.largest, collection, |collection| collection.entries);
        if facts.spread.count < walked_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(facts)
}

fn keep_largest<T>(largest: &mut Vec<T>, found: T, size: impl Fn(&T) -> u64) {
    let place = largest.partition_point(|larger| size(larger) >= size(&found));
    if place < LARGEST {
        largest.insert(place, found);
        largest.truncate(LARGEST);
    }
}

fn item_sizes(database: &dyn Browse, source: &Source) -> Result<ItemSizes, Error> {
    let mut sizes = ItemSizes::default();
    database.entries(source, &Entries::All, None, &mut |key, stat, _| {
        sizes.spread.add(stat.item_bytes.into());
        keep_largest(&mut sizes.largest, (stat.item_bytes.into(), key.clone()), |(bytes, _)| *bytes);
        if sizes.spread.count < WALKED_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(sizes)
}

fn first_violation(database: &dyn Browse, source: &Source) -> Result<Option<Absence>, Error> {
    let mut first = None;
    database.violations(source, &mut |absence| {
        first = Some(absence);
        ControlFlow::Break(())
    })?;
    Ok(first)
}
