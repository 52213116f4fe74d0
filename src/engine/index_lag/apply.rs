//! Applies pending writes to the global indexes, in the order in which they were made.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::has_pending;
use super::pending::Pending;
use crate::engine::base::keys::{self, Space};
use crate::engine::catalog::TableEntry;
use crate::engine::index::{self, Transition};
use crate::engine::index_write::Stamp;
use crate::engine::runtime::Transaction;
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{IndexKind, TableName};
use crate::store::{Direction, try_walk};

/// Writes applied in one step: other writers are not to wait.
const WRITES_PER_STEP: usize = 250;
/// Bytes of pending writes after which a step ends.
const BYTES_PER_STEP: usize = 512 * 1024;
/// How often is looked for new pending writes at least, and at most, while there is a delay.
const POLL_MS: std::ops::RangeInclusive<u64> = 5..=1_000;

/// When to look again for pending writes, none being there now.
#[must_use]
pub fn poll_after(delay_ms: u64) -> u64 {
    delay_ms.clamp(*POLL_MS.start(), *POLL_MS.end())
}

/// What is to be done after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextStep {
    Again,
    /// After so many milliseconds.
    Later(u64),
    Nothing,
}

/// Applies some of what is due. Where nothing is left and this process has no delay, the table lags no more.
///
/// # Errors
/// Those of the store.
pub fn step(transaction: &mut Transaction<'_>, name: &TableName) -> Result<NextStep, StoreError> {
    let Some(table) = transaction.table(name)? else { return Ok(NextStep::Nothing) };
    let Some(lag) = table.index_life.lag else { return Ok(NextStep::Nothing) };
    // Nothing is late where no global index is left.
    let has_late = table.schema.indexes_of(IndexKind::Global).next().is_some();
    if lag.is_paused && has_late {
        return Ok(NextStep::Nothing);
    }
    let now_ms = transaction.now_ms();
    let batch = Batch::read(transaction, &table, now_ms)?;
    for (key, bytes) in &batch.due {
        apply(transaction, &table, key, bytes)?;
        transaction.batch.delete(key)?;
    }
    let delay_ms = transaction.shared.options.gsi_delay_ms;
    if batch.is_cut {
        return Ok(NextStep::Again);
    }
    if let Some(due_ms) = batch.next_due_ms {
        return Ok(NextStep::Later(due_ms - now_ms));
    }
    if delay_ms > 0 && has_late {
        return Ok(NextStep::Later(delay_ms));
    }
    // In the transaction that found none: a write that comes next finds the table without lag, and changes its indexes itself.
    if !has_pending(transaction.read(), table.source)? {
        transaction.change_table(&table, |new| new.index_life.lag = None)?;
    }
    Ok(NextStep::Nothing)
}

/// Pending writes of one step.
#[derive(Default)]
struct Batch {
    /// Key and value.
    due: Vec<(Vec<u8>, Vec<u8>)>,
    /// There may be more that is due.
    is_cut: bool,
    /// When the first is due that is not yet.
    next_due_ms: Option<u64>,
}

impl Batch {
    fn read(transaction: &Transaction<'_>, table: &TableEntry, now_ms: u64) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        let mut bytes = 0;
        try_walk(transaction.read(), &Space::Pending.of(table.source), Direction::Forward, |key, value| {
            // What cannot be read is due: it must not stop the others for ever. `check` tells of its index entries.
            let due_ms = Pending::parse(value).map_or(0, |pending| pending.due_ms);
            if due_ms > now_ms {
                batch.next_due_ms = Some(due_ms);
                return Ok(ControlFlow::Break(()));
            }
            bytes += value.len();
            batch.due.push((key.to_vec(), value.to_vec()));
            batch.is_cut = batch.due.len() >= WRITES_PER_STEP || bytes >= BYTES_PER_STEP;
            Ok(if batch.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(batch)
    }
}

fn apply(transaction: &mut Transaction<'_>, table: &Arc<TableEntry>, key: &[u8], bytes: &[u8]) -> Result<(), StoreError> {
    let Ok(pending) = Pending::parse(bytes) else { return Ok(()) };
    let (Ok((old, new)), Some(version)) = (pending.items(), keys::version_of(key)) else { return Ok(()) };
    let item_key = old.as_ref().or(new.as_ref()).and_then(|item| item.key(&table.schema.key));
    let Some(item_key) = item_key else { return Ok(()) };
    let stamp = Stamp { version, modified_ms: pending.time_ms, record: pending.new };
    for view in index::views(table) {
        if table.index_life.is_late(view.index) && since(table, view.index.name.as_str()) < version {
            let transition = Transition::of(&view, &item_key, old.as_ref(), new.as_ref());
            stamp.apply(transaction, &view, &transition, new.as_ref())?;
        }
    }
    Ok(())
}

/// The version whose write and those before are in an index since it became active.
#[must_use]
pub fn since(table: &TableEntry, index: &str) -> Version {
    table.index_life.made.get(index).map_or(0, |made| made.since)
}
