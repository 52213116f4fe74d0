//! The names of the tables that something is true of, remembered until the catalog changes.

use parking_lot::Mutex;

use super::cache::CatalogCache;
use super::entry::TableEntry;
use super::tables::{all_tables, generation};
use crate::model::TableName;
use crate::model::error::StoreError;
use crate::store::Read;

/// Tables for which `wanted` holds, of one generation of the catalog.
#[derive(Debug)]
pub struct Watched {
    wanted: fn(&TableEntry) -> bool,
    known: Mutex<Option<(u64, Vec<TableName>)>>,
}

impl Watched {
    #[must_use]
    pub fn new(wanted: fn(&TableEntry) -> bool) -> Self {
        Self { wanted, known: Mutex::default() }
    }

    /// Their names in a view.
    ///
    /// # Errors
    /// Those of the store.
    pub fn names(&self, read: &dyn Read, catalog: &CatalogCache) -> Result<Vec<TableName>, StoreError> {
        let generation = generation(read)?;
        if let Some((known, names)) = &*self.known.lock()
            && *known == generation
        {
            return Ok(names.clone());
        }
        let mut all = all_tables(read)?;
        // A damaged entry is for `check` to tell.
        all.retain(|name| catalog.table(read, name).ok().flatten().is_some_and(|entry| (self.wanted)(&entry)));
        *self.known.lock() = Some((generation, all.clone()));
        Ok(all)
    }
}
