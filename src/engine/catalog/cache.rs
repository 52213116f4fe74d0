//! A cache of the catalog's entries.
//!
//! Other processes may change the catalog. Each change raises the generation, which every reader takes from its own snapshot,
//! so a cached entry is used exactly while it is right.

use std::collections::HashMap;

use super::{all_tables, entry::TableEntry, generation, read_table};
use crate::engine::prelude::*;

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
    pub fn table(
        &self,
        read: &dyn Read,
        name: &TableName,
    ) -> Result<Option<Arc<TableEntry>>, StoreError> {
        // From the snapshot that is read, not from the newest: an older one has a catalog of its own, and reads past the cache.
        let generation = generation(read)?;
        {
            let mut cached = self.0.lock();
            if cached.generation < generation || cached.tables.len() > CACHED_NAMES_MAX {
                *cached = Cached {
                    generation: cached.generation.max(generation),
                    ..Cached::default()
                };
            }
            if cached.generation == generation
                && let Some(entry) = cached.tables.get(name)
            {
                return Ok(entry.clone());
            }
        }
        // Read without the lock, which is everybody's. The cache may be of another generation by now.
        let entry = read_table(read, name)?;
        let mut cached = self.0.lock();
        if cached.generation == generation {
            cached.tables.insert(name.clone(), entry.clone());
        }
        Ok(entry)
    }

    /// As [`Self::table`], of a view of `commit`: nothing is read while the cache is known to be right there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table_of(
        &self,
        read: &dyn Read,
        commit: u64,
        name: &TableName,
    ) -> Result<Option<Arc<TableEntry>>, StoreError> {
        if let Some(entry) = self.table_at(commit, name) {
            return Ok(entry);
        }
        let entry = self.table(read, name)?;
        self.seen_at(read, commit)?;
        Ok(entry)
    }

    /// A table's entry when the cache is known to be right at `commit`.
    #[must_use]
    pub fn table_at(&self, commit: u64, name: &TableName) -> Option<Option<Arc<TableEntry>>> {
        // No snapshot is taken for this: a commit id is a word in shared memory.
        let cached = self.0.lock();
        if cached.commit != Some(commit) {
            return None;
        }
        cached.tables.get(name).cloned()
    }

    /// Says that a commit of this process did not change the catalog.
    pub fn unchanged_by(&self, commit: u64) {
        let mut cached = self.0.lock();
        if cached.commit.is_some_and(|before| before + 1 == commit) {
            cached.commit = Some(commit);
        }
    }

    /// Notes that the cache is right at `commit`, whose catalog `read` shows, if it is.
    fn seen_at(&self, read: &dyn Read, commit: u64) -> Result<(), StoreError> {
        let generation = generation(read)?;
        let mut cached = self.0.lock();
        // A view of before takes nothing back.
        if cached.generation == generation && cached.commit.is_none_or(|before| before < commit) {
            cached.commit = Some(commit);
        }
        Ok(())
    }
}

// The names of the tables that something is true of, remembered until the catalog changes.

/// Tables for which `wanted` holds, of one generation of the catalog.
#[derive(Debug)]
pub struct Watched {
    wanted: fn(&TableEntry) -> bool,
    known: Mutex<Option<(u64, Vec<TableName>)>>,
}

impl Watched {
    #[must_use]
    pub fn new(wanted: fn(&TableEntry) -> bool) -> Self {
        Self {
            wanted,
            known: Mutex::default(),
        }
    }

    /// Their names in a view.
    ///
    /// # Errors
    /// Those of the store.
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
        let mut all = all_tables(read)?;
        // A damaged entry is for `check` to tell.
        all.retain(|name| {
            catalog
                .table(read, name)
                .ok()
                .flatten()
                .is_some_and(|entry| (self.wanted)(&entry))
        });
        *self.known.lock() = Some((generation, all.clone()));
        Ok(all)
    }
}
