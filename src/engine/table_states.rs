//! Tables that take their time to come and to go, as the service's do: CREATING and DELETING for a while (docs/requirements.md P-09). Without a
//! configured time a table is ACTIVE with the commit that creates it, and gone with the one that deletes it.

use super::{
    account::{self, AccountRecord, BackupRecord},
    purge,
    runtime::prelude::*,
    streams,
};
use crate::model::api::backup::BackupStatus;

/// Puts a table into a state that ends after the configured time; false, and nothing, when that is none.
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
    transaction.ended_table(&entry.schema.name);
    entry.status = status;
    entry.status_ends_ms = Some(transaction.now_ms().saturating_add(delay_ms));
    true
}

/// Ends the state of a table whose time is over; the sources of a table that is gone with it, to be purged.
///
/// # Errors
/// Those of the store.
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
    transaction.removes();
    if table.status == TableStatus::Deleting {
        return remove(transaction, &table);
    }
    transaction.change_table(&table, |new| {
        (new.status, new.status_ends_ms) = (TableStatus::Active, None)
    })?;
    Ok(Vec::new())
}

/// Takes a table out of the catalog; its sources are to be purged, but for the items that a backup keeps.
///
/// # Errors
/// Those of the store.
pub fn remove(
    transaction: &mut Transaction<'_>,
    entry: &TableEntry,
) -> Result<Vec<SourceId>, StoreError> {
    transaction.ended_table(&entry.schema.name);
    let list = entry.expiry_list().map(|list| list.id);
    // Indexes are made anew by a restore; only the items are kept.
    let is_kept = keep_items(transaction, entry)?;
    let items = (!is_kept).then_some(entry.source);
    let own = items.into_iter().chain(entry.index_sources.iter().copied());
    let sources: Vec<SourceId> = own.chain(list).chain(entry.index_life.sources()).collect();
    streams::disable(transaction, &mut entry.clone())?;
    transaction
        .batch
        .delete(&StoreKey::Table(entry.schema.name.as_str()).encode())?;
    // In the transaction that drops the table: otherwise nobody would know its entries after a crash.
    sources
        .iter()
        .try_for_each(|source| purge::mark(transaction, *source))?;
    transaction.catalog_changed()?;
    Ok(sources)
}

/// Keeps the items of a table that is being removed, if recovery is on; whether it does. A backup takes them over where they are:
/// nothing is copied (developer guide, "Point-in-time recovery").
fn keep_items(transaction: &mut Transaction<'_>, table: &TableEntry) -> Result<bool, StoreError> {
    if table.control.recovery.is_none() {
        return Ok(false);
    }
    let (now_ms, id) = (
        transaction.now_ms(),
        catalog::take_source(transaction.batch)?,
    );
    let name = &table.schema.name;
    let record = BackupRecord {
        arn: account::new_arn(
            transaction.shared.options.seed,
            name,
            "backup",
            (now_ms, id),
        ),
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
        .no_later_than(record.kept_until_ms());
    Ok(true)
}
