//! The catalog: every table's definition, its ids in the store, and a cache of them.
//!
//! Other processes may change the catalog. Each change raises the generation, which every reader takes from its own snapshot,
//! so a cached entry is used exactly while it is right.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::catalog_json;
use super::index_life::IndexLife;
use super::keys::{Meta, SourceId, StoreKey};
use super::streams::TableStream;
use super::time_to_live::TimeToLive;
use super::transaction::Transaction;
use crate::model::api::{TableControl, TableStatus};
use crate::model::error::StoreError;
use crate::model::{IndexName, IndexSchema, TableName, TableSchema};
use crate::store::{Read, Write};

/// A table as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    pub schema: Arc<TableSchema>,
    pub source: SourceId,
    /// One per index of the schema, in its order.
    pub index_sources: Vec<SourceId>,
    pub status: TableStatus,
    /// UUID text.
    pub table_id: String,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// `None` when it never had one.
    pub stream: Option<TableStream>,
    /// `None` when it was never enabled.
    pub time_to_live: Option<TimeToLive>,
    pub control: TableControl,
    pub index_life: IndexLife,
    /// When CREATING or DELETING ends, milliseconds since the epoch, if it ends by itself.
    pub status_ends_ms: Option<u64>,
}

impl TableEntry {
    /// The indexes with their sources, in the schema's order.
    pub fn indexes(&self) -> impl Iterator<Item = (&IndexSchema, SourceId)> {
        self.schema.indexes.iter().zip(self.index_sources.iter().copied())
    }

    /// The index of that name with its source.
    #[must_use]
    pub fn index(&self, name: &IndexName) -> Option<(&IndexSchema, SourceId)> {
        self.indexes().find(|(index, _)| index.name == *name)
    }

    /// The stream that takes this table's changes.
    #[must_use]
    pub fn enabled_stream(&self) -> Option<&TableStream> {
        self.stream.as_ref().filter(|stream| stream.is_enabled)
    }

    /// Are the base items grouped into collections of their own? In a table without sort key each item is its own collection and
    /// nothing is stored beside it.
    #[must_use]
    pub fn has_collections(&self) -> bool {
        self.schema.key.sort.is_some()
    }
}

/// The generation in a view.
///
/// # Errors
/// Those of the store.
pub fn generation(read: &dyn Read) -> Result<u64, StoreError> {
    match read.get(&StoreKey::Meta(Meta::CatalogGeneration).encode())? {
        Some(bytes) => Ok(u64::from_be_bytes(bytes.try_into().map_err(|_| StoreError::Corrupt("catalog generation"))?)),
        None => Ok(0),
    }
}

/// Raises the generation.
///
/// # Errors
/// Those of the store.
pub fn raise_generation(batch: &mut dyn Write) -> Result<(), StoreError> {
    let next = generation(batch.as_read())? + 1;
    batch.put(&StoreKey::Meta(Meta::CatalogGeneration).encode(), &next.to_be_bytes())
}

/// Reads a table's entry from a view, past any cache.
///
/// # Errors
/// Those of the store.
pub fn read_table(read: &dyn Read, name: &TableName) -> Result<Option<Arc<TableEntry>>, StoreError> {
    match read.get(&StoreKey::Table(name.as_str()).encode())? {
        Some(bytes) => Ok(Some(Arc::new(catalog_json::decode(bytes)?))),
        None => Ok(None),
    }
}

/// Writes a table's entry; the caller raises the generation.
///
/// # Errors
/// Those of the store.
pub fn write_table(batch: &mut dyn Write, entry: &TableEntry) -> Result<(), StoreError> {
    batch.put(&StoreKey::Table(entry.schema.name.as_str()).encode(), &catalog_json::encode(entry))
}

/// Changes a table's entry within a transaction: writes it and tells every reader of the catalog.
///
/// # Errors
/// Those of the store.
pub fn replace_table(transaction: &mut Transaction<'_>, entry: &TableEntry) -> Result<(), StoreError> {
    write_table(transaction.batch, entry)?;
    raise_generation(transaction.batch)?;
    transaction.shared.batch.catalog_changed();
    Ok(())
}

/// Takes a new source id.
///
/// # Errors
/// Those of the store.
pub fn take_source(batch: &mut dyn Write) -> Result<SourceId, StoreError> {
    take_sources(batch, 1)?.pop().ok_or(StoreError::Corrupt("source ids are used up"))
}

/// The source id to give next; those below were given.
///
/// # Errors
/// Those of the store.
pub fn next_source(read: &dyn Read) -> Result<SourceId, StoreError> {
    match read.get(&StoreKey::Meta(Meta::NextSource).encode())? {
        Some(bytes) => Ok(SourceId(u32::from_be_bytes(bytes.try_into().map_err(|_| StoreError::Corrupt("next source id"))?))),
        None => Ok(SourceId(1)),
    }
}

/// Takes `count` new source ids.
///
/// # Errors
/// Those of the store.
pub fn take_sources(batch: &mut dyn Write, count: usize) -> Result<Vec<SourceId>, StoreError> {
    let SourceId(first) = next_source(batch.as_read())?;
    let exhausted = || StoreError::Corrupt("source ids are used up");
    let next = u32::try_from(count).ok().and_then(|count| first.checked_add(count)).ok_or_else(exhausted)?;
    batch.put(&StoreKey::Meta(Meta::NextSource).encode(), &next.to_be_bytes())?;
    Ok((first..next).map(SourceId).collect())
}

/// Entries of one generation; `None` for a name that has no table.
#[derive(Debug, Default)]
pub struct CatalogCache(Mutex<Cached>);

#[derive(Debug, Default)]
struct Cached {
    generation: u64,
    tables: HashMap<TableName, Option<Arc<TableEntry>>>,
    /// A commit at which the generation was this one; `None` before any was seen.
    commit: Option<u64>,
}

/// Names without a table are remembered too, but not without bound.
const CACHED_NAMES_MAX: usize = 10_000;

impl CatalogCache {
    /// A table's entry as the view has it. The view must be of a commit, not of an open transaction that changed the catalog.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table(&self, read: &dyn Read, name: &TableName) -> Result<Option<Arc<TableEntry>>, StoreError> {
        let generation = generation(read)?;
        {
            let mut cached = self.0.lock();
            if cached.generation < generation || cached.tables.len() > CACHED_NAMES_MAX {
                *cached = Cached { generation: cached.generation.max(generation), ..Cached::default() };
            }
            if cached.generation == generation
                && let Some(entry) = cached.tables.get(name)
            {
                return Ok(entry.clone());
            }
        }
        let entry = read_table(read, name)?;
        let mut cached = self.0.lock();
        if cached.generation == generation {
            cached.tables.insert(name.clone(), entry.clone());
        }
        Ok(entry)
    }

    /// A table's entry when the cache is known to be right at `commit`.
    #[must_use]
    pub fn table_at(&self, commit: u64, name: &TableName) -> Option<Option<Arc<TableEntry>>> {
        let cached = self.0.lock();
        if cached.commit != Some(commit) {
            return None;
        }
        cached.tables.get(name).cloned()
    }

    /// Says that the cache is right at the commit that `read` shows, if it is.
    ///
    /// # Errors
    /// Those of the store.
    pub fn seen_at(&self, read: &dyn Read) -> Result<(), StoreError> {
        let generation = generation(read)?;
        let mut cached = self.0.lock();
        if cached.generation == generation {
            cached.commit = Some(read.commit_id());
        }
        Ok(())
    }
}
