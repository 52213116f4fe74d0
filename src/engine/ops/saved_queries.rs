//! Saved queries: kept in the table's catalog entry, so that they are as durable as the table and go with it.

use std::sync::Arc;

use crate::engine::runtime::Engine;
use crate::model::api::saved_query::{SavedQueries, SavedQueryChange, SavedQueryOutcome};
use crate::model::{Error, TableName};

impl Engine {
    /// The saved queries of a table; none when there is no table.
    ///
    /// # Errors
    /// Those of the store.
    pub fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error> {
        Ok(self.table(table)?.map(|entry| Arc::clone(&entry.control.saved_queries)).unwrap_or_default())
    }

    /// Changes the saved queries of a table.
    ///
    /// # Errors
    /// `ResourceNotFound`; those of the store.
    pub fn change_saved_queries(&self, table: &TableName, change: SavedQueryChange) -> Result<SavedQueryOutcome, Error> {
        let table = table.clone();
        self.shared.submit_and_wait(move |transaction| {
            let old = transaction.table(&table)?.ok_or(Error::ResourceNotFound)?;
            let mut new = (*old).clone();
            let outcome = change.apply(Arc::make_mut(&mut new.control.saved_queries), transaction.now_ms());
            if outcome == SavedQueryOutcome::Done {
                transaction.replace_table(&new)?;
            }
            Ok(outcome)
        })
    }
}
