//! The end of an index: a step of its removal, which takes some of its entries; and that of one that cannot be made.

use std::sync::Arc;

use crate::engine::base::keys::{SourceId, StoreKey};
use crate::engine::catalog::TableEntry;
use crate::engine::catalog::index_life::Leaving;
use crate::engine::purge;
use crate::engine::runtime::Transaction;
use crate::model::error::StoreError;
use crate::model::{IndexName, TableName};

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
    transaction.change_table(&table, |new| new.index_life.leaving = None)?;
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
    begin(transaction, &mut new, &building.index)?;
    transaction.replace_table(&new)
}

/// Takes an index out of `new`; its entries are removed in the background.
///
/// # Errors
/// Those of the store.
pub fn begin(transaction: &mut Transaction<'_>, new: &mut TableEntry, name: &IndexName) -> Result<(), StoreError> {
    let schema = Arc::make_mut(&mut new.schema);
    let Some(at) = schema.indexes.iter().position(|index| index.name == *name) else { return Ok(()) };
    let index = schema.indexes.remove(at);
    let source: SourceId = new.index_sources.remove(at);
    new.control.indexes.remove(name.as_str());
    let life = &mut new.index_life;
    if life.is_building(name) {
        life.building = None;
        transaction.batch.delete(&StoreKey::Backfill(source).encode())?;
    }
    let violations = life.made.remove(name.as_str()).map(|made| made.violations);
    life.leaving = Some(Leaving { index, source, violations });
    Ok(())
}
