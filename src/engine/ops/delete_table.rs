//! DeleteTable (docs/dynamodb.md 11.4): the table is gone with the commit unless that is to take a while, its entries are removed behind it, a few at once.

use std::sync::Arc;

use super::describe_table::description;
use crate::engine::base::keys::{SourceId, Space};
use crate::engine::base::walks;
use crate::engine::runtime::{Engine, Transaction};
use crate::engine::{catalog, index_life, purge, table_states};
use crate::model::Error;
use crate::model::api::{DeleteTableRequest, DeleteTableResponse, TableStatus};
use crate::model::error::InUseError;

impl Engine {
    /// Removes a table.
    ///
    /// # Errors
    /// `TableNotFound`, `TableBeingDeleted`, `DeletionProtected`, `InUse`; those of the store.
    pub fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        let (response, sources) = self.shared.submit_and_wait(move |transaction| delete(transaction, &request))?;
        match sources {
            None => self.shared.signal.wake(),
            Some(sources) => sources.into_iter().for_each(|source| purge::start(Arc::clone(&self.shared), source)),
        }
        Ok(response)
    }
}

/// With what is to be removed behind it, unless the table is to take a while.
fn delete(
    transaction: &mut Transaction<'_>,
    request: &DeleteTableRequest,
) -> Result<(DeleteTableResponse, Option<Vec<SourceId>>), Error> {
    let name = request.table_name.as_str();
    let entry = catalog::known(transaction.table(&request.table_name)?, &request.table_name)?;
    if entry.status == TableStatus::Deleting {
        return Err(Error::TableBeingDeleted(name.to_owned()));
    }
    if entry.status == TableStatus::Creating && !entry.control.is_failed_restore() {
        return Err(InUseError::Creating(name.to_owned()).into());
    }
    index_life::admission::check_table_deletion(&entry.index_life)?;
    if entry.control.readers > 0 {
        return Err(InUseError::BeingRead(name.to_owned()).into());
    }
    if entry.schema.deletion_protection {
        return Err(Error::DeletionProtected);
    }
    if request.only_if_empty && walks::has_any(transaction.batch.as_read(), &Space::Entry.of(entry.source))? {
        return Err(InUseError::HasItems(name.to_owned()).into());
    }
    transaction.removes();
    let mut table_description = description(transaction.batch.as_read(), &entry, transaction.now_ms())?;
    table_description.status = TableStatus::Deleting;
    let mut leaving = (*entry).clone();
    let sources = if table_states::begin(transaction, &mut leaving, TableStatus::Deleting) {
        transaction.replace_table(&leaving)?;
        None
    } else {
        let sources = table_states::remove(transaction, &entry)?;
        Some(purge::remove_small(transaction, sources)?)
    };
    Ok((DeleteTableResponse { table_description }, sources))
}
