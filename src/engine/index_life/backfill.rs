//! A step of a backfill: the entries of some items.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::progress::Progress;
use super::{Building, Phase, violations};
use crate::codec::record::Record;
use crate::engine::batch::source_counters;
use crate::engine::capacity::write_units;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::index::{IndexView, Transition};
use crate::engine::index_write::Stamp;
use crate::engine::keys::{self, SourceId, StoreKey};
use crate::engine::transaction::Transaction;
use crate::model::api::{TableStatus, Version};
use crate::model::error::StoreError;
use crate::model::{IndexName, Item, TableName};
use crate::store::{Direction, Read, try_walk};

/// Items looked at in one step, and bytes of their records: other writers are not to wait.
pub const ITEMS_PER_STEP: usize = 100;
const BYTES_PER_STEP: usize = 512 * 1024;

/// Ends the allocation of resources: the backfill may begin.
///
/// # Errors
/// Those of the store.
pub fn begin(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(()) };
    let mut new = (*table).clone();
    let Some(building) = new.index_life.building.as_mut().filter(|it| matches!(it.phase, Phase::Allocation { .. })) else {
        return Ok(());
    };
    building.phase = Phase::Backfill;
    let Some((_, source)) = table.index(&building.index) else { return Err(unknown()) };
    let mut progress = Progress::default();
    progress.counts.total = source_counters(transaction.batch.as_read(), table.source)?.entries;
    progress.write(transaction.batch, source)?;
    catalog::replace_table(transaction, &new)
}

/// Writes the entries of some items; whether there may be more to do. The step after the last item makes the index active.
///
/// # Errors
/// Those of the store.
pub fn step(transaction: &mut Transaction<'_>, name: &TableName) -> Result<bool, StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(false) };
    let Some(index) = in_backfill(&table) else { return Ok(false) };
    let Some((schema, source)) = table.index(index) else { return Err(unknown()) };
    let Some(list) = table.index_life.made.get(index.as_str()).map(|made| made.violations) else { return Err(unknown()) };
    let read = transaction.batch.as_read();
    let mut progress = Progress::read(read, source)?.ok_or_else(unknown)?;
    let items_max = transaction.shared.options.index_step_items;
    let batch = Batch::read(read, table.source, &progress.place, items_max)?;
    let view = IndexView { table: &table.schema.key, index: schema, source };
    for found in &batch.items {
        add(transaction, &view, list, found, &mut progress)?;
    }
    progress.counts.done += batch.looked_at;
    match batch.last {
        Some(place) => {
            progress.place = place;
            progress.write(transaction.batch, source)?;
            Ok(true)
        }
        None => {
            finish(transaction, &table, source)?;
            Ok(false)
        }
    }
}

fn unknown() -> StoreError {
    StoreError::Corrupt("an index under construction")
}

/// The index whose backfill goes on.
fn in_backfill(table: &TableEntry) -> Option<&IndexName> {
    match &table.index_life.building {
        Some(Building { index, phase: Phase::Backfill, .. }) if table.status == TableStatus::Active => Some(index),
        _ => None,
    }
}

/// An item of the table.
struct Found {
    place: Vec<u8>,
    item: Item,
    stamp: Stamp,
}

/// The items of one step.
#[derive(Default)]
struct Batch {
    items: Vec<Found>,
    looked_at: u64,
    /// Place of the last item looked at, when there may be more.
    last: Option<Vec<u8>>,
}

impl Batch {
    fn read(read: &dyn Read, source: SourceId, after: &[u8], items_max: usize) -> Result<Self, StoreError> {
        let mut range = keys::entries(source);
        if !after.is_empty() {
            range.lower = Bound::Excluded(keys::entry_at(source, after));
        }
        let mut batch = Self::default();
        let mut bytes = 0;
        try_walk(read, &range, Direction::Forward, |key, value| {
            let place = keys::place_in_source(key).to_vec();
            // A damaged item has no entry; `check` tells of it.
            if let Ok((item, stamp)) = parse(value) {
                batch.items.push(Found { place: place.clone(), item, stamp });
            }
            bytes += value.len();
            batch.looked_at += 1;
            if batch.looked_at < items_max as u64 && bytes < BYTES_PER_STEP {
                return Ok(ControlFlow::Continue(()));
            }
            batch.last = Some(place);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(batch)
    }
}

fn parse(bytes: &[u8]) -> Result<(Item, Stamp), StoreError> {
    let record = Record::parse(bytes)?;
    Ok((record.to_item()?, Stamp { version: record.version(), modified_ms: record.modified_ms() }))
}

/// Writes the entry of an item, unless a write did already; or puts it on the list of those kept out.
fn add(
    transaction: &mut Transaction<'_>,
    view: &IndexView<'_>,
    list: SourceId,
    found: &Found,
    progress: &mut Progress,
) -> Result<(), StoreError> {
    let Some(entry) = view.entry(&found.item) else {
        return match violations::of_item(view.index, &found.item) {
            Some(_) => violations::add(transaction, list, &found.place),
            None => Ok(()),
        };
    };
    if transaction.batch.get(&entry.address.encode())?.is_some() {
        return Ok(());
    }
    progress.counts.written += 1;
    progress.counts.write_units += whole(write_units(entry.bytes));
    found.stamp.apply(transaction, view, &Transition::Added(entry), Some(&found.item))
}

/// Write units are whole numbers.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(units: f64) -> u64 {
    units as u64
}

fn finish(transaction: &mut Transaction<'_>, table: &Arc<TableEntry>, source: SourceId) -> Result<(), StoreError> {
    let mut new = (**table).clone();
    let since: Version = transaction.shared.batch.next_version(transaction.batch.as_read())? - 1;
    if let Some(building) = new.index_life.building.take()
        && let Some(made) = new.index_life.made.get_mut(building.index.as_str())
    {
        made.since = since;
    }
    transaction.batch.delete(&StoreKey::Backfill(source).encode())?;
    catalog::replace_table(transaction, &new)
}
