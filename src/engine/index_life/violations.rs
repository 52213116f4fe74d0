//! Items that are kept out of an index by a value that cannot be its key: of another type, empty, too large (docs/requirements.md M-19).
//!
//! Only an index that UpdateTable made can have them, in items that were there before it; writes of such values are refused from
//! its definition on. The places of these items are on a list of the index; what is wrong is read from the item.

use crate::engine::base::counters::CounterDelta;
use crate::engine::base::keys::{SourceId, StoreKey};
use crate::engine::catalog::{IndexLife, TableEntry};
use crate::engine::index;
use crate::engine::runtime::Transaction;
use crate::model::error::{KeyError, StoreError};
use crate::model::{IndexSchema, Item};

/// What keeps an item out of an index; `None` when nothing does, or when it lacks a key attribute.
#[must_use]
pub fn of_item(index: &IndexSchema, item: &Item) -> Option<KeyError> {
    index::check_keys(index, item).err()
}

/// Brings the lists of a table's indexes up to date with a change of the item at a place.
///
/// # Errors
/// Those of the store.
pub fn maintain(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    place: &[u8],
    old: Option<&Item>,
    new: Option<&Item>,
) -> Result<(), StoreError> {
    for (index, list) in lists(&table.index_life, table) {
        let (old, new) = (old.and_then(|item| of_item(index, item)), new.and_then(|item| of_item(index, item)));
        match (old, new) {
            (None, None) => {}
            (_, Some(_)) => add(transaction, list, place)?,
            (Some(_), None) => remove(transaction, list, place)?,
        }
    }
    Ok(())
}

/// The indexes that have a list.
fn lists<'t>(life: &'t IndexLife, table: &'t TableEntry) -> impl Iterator<Item = (&'t IndexSchema, SourceId)> {
    let with_list = |name: &String| table.schema.index(name);
    life.made.iter().filter_map(move |(name, made)| Some((with_list(name)?, made.violations)))
}

/// Puts an item on a list.
///
/// # Errors
/// Those of the store.
pub fn add(transaction: &mut Transaction<'_>, list: SourceId, place: &[u8]) -> Result<(), StoreError> {
    let key = StoreKey::Violation(list, place).encode();
    if transaction.batch.get(&key)?.is_some() {
        return Ok(());
    }
    transaction.batch.put(&key, &[])?;
    transaction.shared.batch.count(list, CounterDelta { entries: 1, ..CounterDelta::default() });
    Ok(())
}

fn remove(transaction: &mut Transaction<'_>, list: SourceId, place: &[u8]) -> Result<(), StoreError> {
    if transaction.batch.delete(&StoreKey::Violation(list, place).encode())? {
        transaction.shared.batch.count(list, CounterDelta { entries: -1, ..CounterDelta::default() });
    }
    Ok(())
}
