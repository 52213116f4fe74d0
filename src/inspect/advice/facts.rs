//! What advice rests on.

use std::ops::ControlFlow;

use crate::database::layout::Layout;
use crate::database::{Browse, Collection, Source, SourceStats};
use crate::inspect::look;
use crate::model::api::{IndexDescription, TableDescription, TableStatus};
use crate::model::limits::COLLECTION_BYTES_MAX;
use crate::model::{Error, IndexSchema, Item, TableName};

/// Collections walked of each table and index; a larger one is judged by its first ones in hash order, which are as good as any.
pub const COLLECTIONS_MAX: u64 = 100_000;
/// Items looked at, of all parts of the hash range.
pub const SAMPLE_ITEMS_MAX: u32 = 1000;
/// Largest collections kept.
const LARGEST: usize = 5;

/// What is known of a table.
#[derive(Debug, Clone)]
pub struct Facts {
    pub description: TableDescription,
    pub table: SourceFacts,
    /// In the order of the schema.
    pub indexes: Vec<IndexFacts>,
    pub sample: Vec<Item>,
    /// What an item collection of a table with local indexes may have.
    pub collection_bytes_max: u64,
}

/// What is known of an index.
#[derive(Debug, Clone)]
pub struct IndexFacts {
    pub schema: IndexSchema,
    pub source: SourceFacts,
}

/// What is known of a table's items or an index's entries.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    pub stats: SourceStats,
    /// By entries, the largest first.
    pub largest: Vec<Collection>,
    /// Entries of the collections walked; fewer than there are in a large table.
    pub entries_walked: u64,
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
        let sample = look::sample(database, &Source { table: table.clone(), index: None }, SAMPLE_ITEMS_MAX)?;
        let mut indexes = Vec::new();
        // Of one that is being made or dropped nothing can be said yet, or any more.
        let is_whole = |index: &IndexDescription| matches!(index.status, TableStatus::Active | TableStatus::Updating);
        let described = description.schema.indexes.iter().zip(&description.indexes);
        for (schema, _) in described.filter(|(_, index)| is_whole(index) && index.backfilling.is_none()) {
            let source = Source { table: table.clone(), index: Some(schema.name.clone()) };
            indexes.push(IndexFacts { schema: schema.clone(), source: source_facts(database, &source)? });
        }
        let table = source_facts(database, &Source { table: table.clone(), index: None })?;
        let collection_bytes_max = database.layout().map_or(COLLECTION_BYTES_MAX, Layout::collection_bytes_max);
        Ok(Some(Self { description, table, indexes, sample, collection_bytes_max }))
    }
}

fn source_facts(database: &dyn Browse, source: &Source) -> Result<SourceFacts, Error> {
    let stats = database.stats(source)?;
    let (mut largest, mut walked, mut entries_walked): (Vec<Collection>, _, _) = (Vec::new(), 0, 0);
    database.collections(source, None, &mut |collection, _| {
        walked += 1;
        entries_walked += collection.entries;
        let place = largest.partition_point(|larger| larger.entries >= collection.entries);
        if place < LARGEST {
            largest.insert(place, collection);
            largest.truncate(LARGEST);
        }
        if walked < COLLECTIONS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(SourceFacts { stats, largest, entries_walked })
}
