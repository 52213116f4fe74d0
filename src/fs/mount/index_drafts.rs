//! Indexes that mkdir made in `gsi/` and UpdateTable has not.

use crate::fs::prelude::*;
use crate::model::IndexName;
use std::collections::BTreeMap;

/// Drafts at a time.
const DRAFTS_MAX: usize = 256;

/// When each was made, milliseconds since the epoch.
#[derive(Debug, Default)]
pub struct IndexDrafts(Mutex<BTreeMap<(TableName, IndexName), u64>>);

impl IndexDrafts {
    /// MKDIR.
    ///
    /// # Errors
    /// There are too many.
    pub fn make(&self, table: &TableName, index: &IndexName) -> Result<(), FsError> {
        let mut drafts = self.0.lock();
        if drafts.len() >= DRAFTS_MAX {
            return Err(FsError::NotPermitted("too many draft indexes; write their schema.json or remove some"));
        }
        drafts.insert((table.clone(), index.clone()), now_ms());
        Ok(())
    }

    /// RMDIR, or it was made. Was it there?
    pub fn remove(&self, table: &TableName, index: &IndexName) -> bool {
        self.0.lock().remove(&(table.clone(), index.clone())).is_some()
    }

    /// When it was made, milliseconds since the epoch.
    #[must_use]
    pub fn created_ms(&self, table: &TableName, index: &IndexName) -> Option<u64> {
        self.0.lock().get(&(table.clone(), index.clone())).copied()
    }

    /// Those of a table.
    #[must_use]
    pub fn of(&self, table: &TableName) -> Vec<IndexName> {
        self.0.lock().keys().filter(|(of, _)| of == table).map(|(_, index)| index.clone()).collect()
    }

    /// The table is gone.
    pub fn drop_table(&self, table: &TableName) {
        self.0.lock().retain(|(of, _), _| of != table);
    }
}
