//! Global indexes that lag behind their table, as the service's do: on demand, for whoever wants to see it (docs/requirements.md G-31, G-32).
//!
//! With a delay, or while propagation is paused, a write leaves a **pending write** instead of changing the global indexes: the item
//! before and after it, under its version, in the same transaction. A worker applies pending writes in the order of their versions
//! when they are due ([`apply`]), so an index is at every moment the projection of the table as it was after some write. Pending writes
//! are as durable as the writes themselves.
//!
//! The catalog entry of the table says that there may be pending writes: from then on every process appends to them, whatever its own
//! delay, until a worker without a delay finds none left. Local indexes never lag; nor does an index that is being made, which nobody
//! can read, and which has nothing to do with writes from before it became active.

pub mod apply;
mod pending;

use std::ops::ControlFlow;

pub use pending::Pending;

use super::base::keys::{SourceId, Space, StoreKey};
use super::base::walks;
use super::catalog::TableEntry;
use super::catalog::index_life::Lag;
use super::runtime::{Engine, Shared, Transaction};
use crate::model::api::{IndexLag, Version};
use crate::model::error::{StoreError, UpdateTableError};
use crate::model::{Error, IndexKind, TableName};
use crate::store::{Direction, Read};

/// Pending writes counted for a description; beyond it the number says "at least".
pub const COUNTED_MAX: u64 = 100_000;

/// Do writes to a table leave pending writes now?
#[must_use]
pub fn is_on(shared: &Shared, table: &TableEntry) -> bool {
    let is_asked = table.index_life.lag.is_some() || shared.options.gsi_delay_ms > 0;
    is_asked && table.schema.indexes.iter().any(|index| table.index_life.is_late(index))
}

/// Leaves a pending write.
///
/// # Errors
/// Those of the store.
pub fn note(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    version: Version,
    mut pending: Pending<'_>,
) -> Result<(), StoreError> {
    // A delete takes its version only for this.
    transaction.shared.batch.take_version(version);
    pending.due_ms = pending.time_ms.saturating_add(transaction.shared.options.gsi_delay_ms);
    transaction.batch.put(&StoreKey::Pending(table.source, version).encode(), &pending.encode())?;
    // Read again: an earlier write of the same job may have said so already, and `table` is from before it.
    if table.index_life.lag.is_none()
        && let Some(current) = transaction.table(&table.schema.name)?
        && current.index_life.lag.is_none()
    {
        transaction.change_table(&current, |new| new.index_life.lag = Some(Lag::default()))?;
        transaction.shared.signal.wake();
    }
    Ok(())
}

/// The lag of a table's indexes at a moment; `None` while they show every write.
///
/// # Errors
/// Those of the store.
pub fn describe(read: &dyn Read, table: &TableEntry, now_ms: u64) -> Result<Option<IndexLag>, StoreError> {
    let Some(lag) = table.index_life.lag else { return Ok(None) };
    let mut found = IndexLag { is_paused: lag.is_paused, ..IndexLag::default() };
    let mut oldest = None;
    read.walk(&Space::Pending.of(table.source), Direction::Forward, &mut |_, bytes| {
        oldest = oldest.or_else(|| Pending::parse(bytes).ok().map(|pending| pending.time_ms));
        found.pending += 1;
        if found.pending < COUNTED_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    found.lag_ms = oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest));
    Ok(Some(found))
}

/// Is there a pending write?
///
/// # Errors
/// Those of the store.
pub fn has_pending(read: &dyn Read, table: SourceId) -> Result<bool, StoreError> {
    walks::has_any(read, &Space::Pending.of(table))
}

impl Engine {
    /// Stops the propagation of writes to a table's global indexes, or lets it go on. It stays stopped over restarts.
    ///
    /// # Errors
    /// `TableNotFound`, `UpdateTable` for a table without global indexes; those of the store.
    pub fn pause_index_propagation(&self, name: &TableName, is_paused: bool) -> Result<(), Error> {
        let name = name.clone();
        self.shared.submit_and_wait(move |transaction| pause(transaction, &name, is_paused))?;
        self.shared.signal.wake();
        Ok(())
    }
}

fn pause(transaction: &mut Transaction<'_>, name: &TableName, is_paused: bool) -> Result<(), Error> {
    let table = transaction.known_table(name)?;
    if table.schema.indexes_of(IndexKind::Global).next().is_none() {
        return Err(UpdateTableError::NoGlobalIndexes(name.as_str().to_owned()).into());
    }
    let lag = match table.index_life.lag {
        Some(_) => Some(Lag { is_paused }),
        None => is_paused.then_some(Lag { is_paused }),
    };
    if lag != table.index_life.lag {
        transaction.change_table(&table, |new| new.index_life.lag = lag)?;
    }
    Ok(())
}
