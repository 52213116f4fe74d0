//! Tables that take their time to come and to go, as the service's do: CREATING and DELETING for a while (docs/requirements.md P-09). Without a
//! configured time a table is ACTIVE with the commit that creates it, and gone with the one that deletes it.

use super::catalog::{self, TableEntry};
use super::keys::{SourceId, StoreKey};
use super::ops::recovery::system_backups;
use super::transaction::Transaction;
use super::{purge, streams};
use crate::model::TableName;
use crate::model::api::TableStatus;
use crate::model::error::StoreError;

/// Puts a table into a state that ends after the configured time; false, and nothing, when that is none.
#[must_use]
pub fn begin(transaction: &Transaction<'_>, entry: &mut TableEntry, status: TableStatus) -> bool {
    let delay_ms = transaction.shared.options.table_delay_ms;
    if delay_ms == 0 {
        return false;
    }
    entry.status = status;
    entry.status_ends_ms = Some(transaction.now_ms().saturating_add(delay_ms));
    true
}

/// Ends the state of a table whose time is over; the sources of a table that is gone with it, to be purged.
///
/// # Errors
/// Those of the store.
pub fn end(transaction: &mut Transaction<'_>, name: &TableName) -> Result<Vec<SourceId>, StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(Vec::new()) };
    if table.status_ends_ms.is_none_or(|end| end > transaction.now_ms()) {
        return Ok(Vec::new());
    }
    transaction.removes();
    if table.status == TableStatus::Deleting {
        return remove(transaction, &table);
    }
    catalog::replace_table(transaction, &TableEntry { status: TableStatus::Active, status_ends_ms: None, ..(*table).clone() })?;
    Ok(Vec::new())
}

/// Takes a table out of the catalog; its sources are to be purged, but for the items that a backup keeps.
///
/// # Errors
/// Those of the store.
pub fn remove(transaction: &mut Transaction<'_>, entry: &TableEntry) -> Result<Vec<SourceId>, StoreError> {
    let list = entry.time_to_live.as_ref().and_then(|time_to_live| time_to_live.list).map(|list| list.id);
    let is_kept = system_backups::keep(transaction, entry)?;
    let items = (!is_kept).then_some(entry.source);
    let own = items.into_iter().chain(entry.index_sources.iter().copied());
    let sources: Vec<SourceId> = own.chain(list).chain(entry.index_life.sources()).collect();
    streams::disable(transaction, &mut entry.clone())?;
    transaction.batch.delete(&StoreKey::Table(entry.schema.name.as_str()).encode())?;
    for source in &sources {
        transaction.batch.put(&StoreKey::Purge(*source).encode(), purge::MARK)?;
    }
    catalog::raise_generation(transaction.batch)?;
    transaction.shared.batch.catalog_changed();
    Ok(sources)
}
