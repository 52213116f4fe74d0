//! A cache of the catalog's entries in memory, validated by a generation number.
//!
//! Other processes may change the catalog. Each change raises the generation; a reader takes the
//! generation from its own snapshot and uses a cached entry only if the generations are equal.

use foldhash::HashMap;

use super::{all_tables, entry::TableEntry, generation, read_table};
use crate::engine::prelude::*;

/// The entries of one generation; `None` for a name without a table.
#[derive(Debug, Default)]
pub struct CatalogCache(Mutex<CachedEntries>);

#[derive(Debug, Default)]
struct CachedEntries {
    generation: u64,
    tables: HashMap<TableName, Option<Arc<TableEntry>>>,
    /// A commit at which the catalog had this generation; `None` at first.
    commit: Option<u64>,
}

/// The greatest number of cached names. Names without a table are cached too, so the number needs a
/// bound.
const CACHED_NAMES_MAX: usize = 10_000;

impl CatalogCache {
    /// Returns a table's entry as of the view. The view must be of a commit, not of an open
    /// transaction that changed the catalog.
    pub fn table(
        &self,
        read: &dyn Read,
        name: &TableName,
    ) -> Result<Option<Arc<TableEntry>>, StoreError> {
        // From the snapshot of the reader, not from the newest: an older snapshot has an older
        // catalog, and bypasses the cache.
        let generation = generation(read)?;
        {
            let mut cached = self.0.lock();
            if cached.generation < generation || cached.tables.len() > CACHED_NAMES_MAX {
                *cached = CachedEntries {
                    generation: cached.generation.max(generation),
                    ..CachedEntries::default()
                };
            }
            if cached.generation == generation
                && let Some(entry) = cached.tables.get(name)
            {
                return Ok(entry.clone());
            }
        }
        // Read without the lock, which all readers share. The cache may be of another generation by
        // now.
        let entry = read_table(read, name)?;
        let mut cached = self.0.lock();
        if cached.generation == generation {
            cached.tables.insert(name.clone(), entry.clone());
        }
        Ok(entry)
    }

    /// Returns a table's entry as [`Self::table`] does, for a view of `commit`; reads nothing while
    /// the cache is known to be right at that commit.
    pub fn table_for_commit(
        &self,
        read: &dyn Read,
        commit: u64,
        name: &TableName,
    ) -> Result<Option<Arc<TableEntry>>, StoreError> {
        if let Some(entry) = self.cached_table(commit, name) {
            return Ok(entry);
        }
        let entry = self.table(read, name)?;
        self.confirm(read, commit)?;
        Ok(entry)
    }

    /// Returns a table's entry if the cache is known to be right at `commit`.
    #[must_use]
    pub fn cached_table(&self, commit: u64, name: &TableName) -> Option<Option<Arc<TableEntry>>> {
        // No snapshot is taken here: a commit id is a word in shared memory.
        let cached = self.0.lock();
        if cached.commit != Some(commit) {
            return None;
        }
        cached.tables.get(name).cloned()
    }

    /// Records that a commit of this process did not change the catalog.
    pub fn advance(&self, commit: u64) {
        let mut cached = self.0.lock();
        // Only the next commit: between two commits of this process another one may have changed
        // the catalog.
        if cached.commit.is_some_and(|before| before + 1 == commit) {
            cached.commit = Some(commit);
        }
    }

    /// Records that the cache is right at `commit`, if the catalog in `read` has its generation.
    fn confirm(&self, read: &dyn Read, commit: u64) -> Result<(), StoreError> {
        let generation = generation(read)?;
        let mut cached = self.0.lock();
        // A view of an earlier commit changes nothing.
        if cached.generation == generation && cached.commit.is_none_or(|before| before < commit) {
            cached.commit = Some(commit);
        }
        Ok(())
    }
}

// The names of the tables with some property, cached until the catalog changes.

/// The tables that satisfy `wanted`, of one generation of the catalog.
#[derive(Debug)]
pub struct TableWatchList {
    wanted: fn(&TableEntry) -> bool,
    known: Mutex<Option<(u64, Vec<TableName>)>>,
}

impl TableWatchList {
    #[must_use]
    pub fn new(is_wanted: fn(&TableEntry) -> bool) -> Self {
        Self {
            wanted: is_wanted,
            known: Mutex::default(),
        }
    }

    /// Returns the names of the tables in a view.
    pub fn names(
        &self,
        read: &dyn Read,
        catalog: &CatalogCache,
    ) -> Result<Vec<TableName>, StoreError> {
        let generation = generation(read)?;
        if let Some((known, names)) = &*self.known.lock()
            && *known == generation
        {
            return Ok(names.clone());
        }
        let mut wanted = Vec::new();
        for name in all_tables(read)? {
            match catalog.table(read, &name) {
                Ok(Some(entry)) if (self.wanted)(&entry) => wanted.push(name),
                Ok(_) => {}
                // The others are still watched; `check` reports the damage.
                Err(error) if error.is_corrupt() => {
                    log::error!("table {name} has no background work: {error}");
                }
                Err(error) => return Err(error),
            }
        }
        *self.known.lock() = Some((generation, wanted.clone()));
        Ok(wanted)
    }
}
