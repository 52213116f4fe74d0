//! The end of an index: a step of its removal, which takes some of its entries; and that of one that cannot be made.

use crate::engine::catalog;
use crate::engine::keys::SourceId;
use crate::engine::ops::update_indexes;
use crate::engine::purge;
use crate::engine::transaction::Transaction;
use crate::model::TableName;
use crate::model::error::StoreError;

/// Removes some of a leaving index; whether there may be more to do. After the last of it the index is gone.
///
/// # Errors
/// Those of the store.
pub fn step(transaction: &mut Transaction<'_>, name: &TableName) -> Result<bool, StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(false) };
    let Some(leaving) = &table.index_life.leaving else { return Ok(false) };
    let sources: Vec<SourceId> = std::iter::once(leaving.source).chain(leaving.violations).collect();
    for source in sources {
        if purge::remove_some(transaction, source)? {
            return Ok(true);
        }
    }
    let mut new = (*table).clone();
    new.index_life.leaving = None;
    catalog::replace_table(transaction, &new)?;
    Ok(false)
}

/// Drops the index that a table is making, as UpdateTable does, because there is no room for it: what it has of entries is removed.
///
/// # Errors
/// Those of the store.
pub fn give_up(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    transaction.removes();
    let Some(table) = transaction.table(name)? else { return Ok(()) };
    let Some(building) = &table.index_life.building else { return Ok(()) };
    let mut new = (*table).clone();
    update_indexes::delete(transaction, &mut new, &building.index)?;
    catalog::replace_table(transaction, &new)
}
