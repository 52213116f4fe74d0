//! The table states CREATING and DELETING, simulated: a configured delay between the request and
//! the effect, as in the service (docs/requirements.md P-09). Without a delay a table is ACTIVE
//! with the commit that creates it, and gone with the one that deletes it.

use super::{
    account::{self, AccountRecord, BackupRecord},
    purge,
    runtime::prelude::*,
    streams,
};
use crate::model::api::backup::BackupStatus;

/// Puts a table into a state that ends after the configured delay; does nothing and returns false
/// without a delay.
#[must_use]
pub fn begin(
    transaction: &mut Transaction<'_>,
    entry: &mut TableEntry,
    status: TableStatus,
) -> bool {
    let delay_ms = transaction.shared.options.table_delay_ms;
    if delay_ms == 0 {
        return false;
    }
    // Nothing is known of a new table. Its end would be told to the kernel, which waits for the
    // directory that a mkdir of the table holds.
    if status == TableStatus::Deleting {
        transaction.record_ended(&entry.schema.name, None);
    }
    entry.status = status;
    entry.status_ends_ms = Some(transaction.now_ms().saturating_add(delay_ms));
    true
}

/// Ends the state of a table if its time is over; returns the sources of a removed table, to be
/// purged.
pub fn end(
    transaction: &mut Transaction<'_>,
    name: &TableName,
) -> Result<Vec<SourceId>, StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(Vec::new());
    };
    if table
        .status_ends_ms
        .is_none_or(|end| end > transaction.now_ms())
    {
        return Ok(Vec::new());
    }
    transaction.mark_removal();
    if table.status == TableStatus::Deleting {
        return remove(transaction, &table);
    }
    transaction.change_table(&table, |new| {
        (new.status, new.status_ends_ms) = (TableStatus::Active, None)
    })?;
    Ok(Vec::new())
}

/// Removes a table from the catalog; returns its sources to be purged, except the items that a
/// backup keeps.
pub fn remove(
    transaction: &mut Transaction<'_>,
    entry: &TableEntry,
) -> Result<Vec<SourceId>, StoreError> {
    transaction.record_ended(&entry.schema.name, None);
    let list = entry.expiry_list().map(|list| list.id);
    // A restore makes the indexes anew; only the items are kept.
    let is_kept = back_up_items(transaction, entry)?;
    let items = (!is_kept).then_some(entry.source);
    let own = items.into_iter().chain(entry.index_sources.iter().copied());
    let sources: Vec<SourceId> = own.chain(list).chain(entry.index_life.sources()).collect();
    streams::disable(transaction, &mut entry.clone())?;
    transaction
        .batch
        .delete(&StoreKey::Table(entry.schema.name.as_str()).encode())?;
    // In the transaction that drops the table: otherwise its entries would be lost after a crash.
    sources
        .iter()
        .try_for_each(|source| purge::mark(transaction, *source))?;
    transaction.bump_catalog()?;
    Ok(sources)
}

/// Keeps the items of a table that is being removed, if recovery is on; returns true if it does. A
/// backup takes over the source: nothing is copied (developer guide, "Point-in-time recovery").
fn back_up_items(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
) -> Result<bool, StoreError> {
    if table.control.recovery.is_none() {
        return Ok(false);
    }
    let (now_ms, id) = (
        transaction.now_ms(),
        catalog::allocate_source(transaction.batch)?,
    );
    let name = &table.schema.name;
    let record = BackupRecord {
        arn: account::new_arn(transaction.shared.options.seed, name, "backup", now_ms, id),
        name: format!("{name}$DeletedTableBackup"),
        status: BackupStatus::Available,
        created_ms: now_ms,
        source: table.source,
        items: 0,
        bytes: 0,
        readers: 0,
        is_system: true,
        failure: None,
        table: Arc::new(table.clone()),
    };
    record.put(transaction.batch, &record.arn)?;
    transaction
        .shared
        .system_backups_due
        .no_later_than(record.expires_ms());
    Ok(true)
}
