//! Puts the items that a table had before time to live was enabled on its list, in pieces.

use std::sync::Arc;

use crate::codec::record::Record;
use crate::engine::base::keys::{self, SourceId, Space, StoreKey};
use crate::engine::base::walks;
use crate::engine::catalog::{ExpiryList, TableEntry};
use crate::engine::runtime::{Shared, Transaction};
use crate::engine::time_to_live;
use crate::model::error::StoreError;
use crate::model::{Error, TableName};

/// Items looked at in one transaction, and their bytes: other writers are not to wait.
const ITEMS_PER_JOB: usize = 5_000;
const BYTES_PER_JOB: usize = 8 * 1024 * 1024;

/// Builds a table's list to its end. Interrupted, it is built again from the start, which changes nothing of what is there.
///
/// # Errors
/// Those of the store; `Closed` when the engine ends meanwhile.
pub fn build(shared: &Arc<Shared>, name: &TableName, list: SourceId) -> Result<(), Error> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let (name, start) = (name.clone(), after.clone());
        let step = shared.submit_in_background(move |transaction| Ok(piece(transaction, &name, list, start.clone())?))?;
        match step {
            Some(key) => after = Some(key),
            None => return Ok(()),
        }
    }
}

/// Adds some items after a key; the last key, or `None` when the list is built or not wanted any more.
fn piece(
    transaction: &mut Transaction<'_>,
    name: &TableName,
    list: SourceId,
    after: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(None) };
    let Some(time_to_live) = table.time_to_live.as_ref().filter(|it| it.list == Some(ExpiryList { id: list, is_built: false }))
    else {
        return Ok(None);
    };
    let (found, last) = expiries(transaction, &table, &time_to_live.attribute, after)?;
    for (ms, place) in found {
        transaction.batch.put(&StoreKey::Expiry(list, ms, &place).encode(), &[])?;
    }
    if last.is_none() {
        finish(transaction, &table, list)?;
    }
    Ok(last)
}

/// Expiries with the places of their items.
type Expiries = Vec<(u64, Vec<u8>)>;

/// Expiries of some items, and the key of the last item looked at when there may be more.
fn expiries(
    transaction: &Transaction<'_>,
    table: &TableEntry,
    attribute: &str,
    after: Option<Vec<u8>>,
) -> Result<(Expiries, Option<Vec<u8>>), StoreError> {
    let range = Space::Entry.of(table.source).after(after);
    let mut found = Vec::new();
    let last = walks::piece(transaction.read(), &range, (ITEMS_PER_JOB, BYTES_PER_JOB), |key, value| {
        let place = keys::place_in_source(key);
        // A damaged item cannot expire; `check` tells of it.
        if let Ok(Some(ms)) = Record::parse(value).and_then(|record| time_to_live::expiry_of(&record, attribute)) {
            found.push((ms, place.to_vec()));
        }
        Ok(value.len())
    })?;
    Ok((found, last))
}

fn finish(transaction: &mut Transaction<'_>, table: &TableEntry, list: SourceId) -> Result<(), StoreError> {
    let built = |new: &mut TableEntry| {
        if let Some(time_to_live) = &mut new.time_to_live {
            time_to_live.list = Some(ExpiryList { id: list, is_built: true });
        }
    };
    transaction.change_table(table, built).map(drop)
}
