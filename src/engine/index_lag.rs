//! Eventual consistency, simulated: global indexes lag behind their table by a queue of pending
//! writes, as in the service; off by default (docs/requirements.md G-31, G-32).
//!
//! With a delay, or while propagation is paused, a write appends a **pending write** instead of
//! changing the global indexes: the item before and after it, under its version, in the same
//! transaction. A worker applies pending writes in the order of their versions when they are due
//! ([`step`]), so an index is at every moment the projection of the table as of some earlier write.
//! Pending writes are as durable as the writes themselves.
//!
//! The catalog entry of the table records that there may be pending writes: from then on every
//! process appends to them, whatever its own delay, until a worker without a delay finds none left.
//! Local indexes never lag; nor does an index that is being made, which cannot be read, and which
//! does not depend on writes from before it became active.

use super::{
    base::{
        item_key,
        stored_form::{Prefixed, decode_parts, encode_parts},
    },
    catalog::entry::LagState,
    index::{self, Transition},
    index_write::WriteStamp,
    runtime::prelude::*,
};
use crate::model::{api::IndexLag, error::UpdateTableError};

/// The number of pending writes counted for a description; beyond it the number means "at least".
pub const COUNTED_MAX: u64 = 100_000;

/// True if writes to a table append pending writes now.
#[must_use]
pub fn is_lagging(shared: &EngineShared, table: &TableEntry) -> bool {
    let is_asked = table.index_life.lag.is_some() || shared.options.gsi_delay_ms > 0;
    is_asked
        && table
            .schema
            .indexes
            .iter()
            .any(|index| table.index_life.is_late(index))
}

/// Appends a pending write.
pub fn append(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    version: Version,
    mut pending: PendingIndexWrite<'_>,
) -> Result<(), StoreError> {
    // A delete takes its version only for this.
    transaction.shared.batch.take_version(version);
    pending.due_ms = pending
        .time_ms
        .saturating_add(transaction.shared.options.gsi_delay_ms);
    transaction.batch.put(
        &StoreKey::Pending(table.source, version).encode(),
        &pending.encode(),
    )?;
    // Read again: an earlier write of the same job may have set the lag already, and `table` is
    // older than that.
    if table.index_life.lag.is_none()
        && let Some(current) = transaction.table(&table.schema.name)?
        && current.index_life.lag.is_none()
    {
        transaction.change_table(&current, |new| {
            new.index_life.lag = Some(LagState::default())
        })?;
        transaction.shared.signal.wake();
    }
    Ok(())
}

/// Returns the lag of a table's indexes at a moment; `None` while they show every write.
pub fn describe(
    read: &dyn Read,
    table: &TableEntry,
    now_ms: u64,
) -> Result<Option<IndexLag>, StoreError> {
    let Some(lag) = table.index_life.lag else {
        return Ok(None);
    };
    let mut found = IndexLag {
        is_paused: lag.is_paused,
        ..IndexLag::default()
    };
    let mut oldest = None;
    read.walk(
        &Space::Pending.range(table.source),
        Direction::Forward,
        &mut |_, bytes| {
            // An unreadable write has no time; the worker reports it.
            oldest = oldest.or_else(|| {
                PendingIndexWrite::parse(bytes)
                    .ok()
                    .map(|pending| pending.time_ms)
            });
            found.pending += 1;
            if found.pending < COUNTED_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        },
    )?;
    found.lag_ms = oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest));
    Ok(Some(found))
}

/// True if there is a pending write.
pub fn has_pending(read: &dyn Read, table: SourceId) -> Result<bool, StoreError> {
    walks::has_any(read, &Space::Pending.range(table))
}

impl Engine {
    /// Pauses or resumes the propagation of writes to a table's global indexes. The pause survives
    /// restarts.
    ///
    /// # Errors
    /// `TableNotFound`, `UpdateTable` for a table without global indexes; also errors of the store.
    pub fn pause_index_propagation(&self, name: &TableName, is_paused: bool) -> Result<(), Error> {
        let name = name.clone();
        self.shared
            .submit_and_wait(move |transaction| pause(transaction, &name, is_paused))?;
        self.shared.signal.wake();
        Ok(())
    }
}

fn pause(
    transaction: &mut Transaction<'_>,
    name: &TableName,
    is_paused: bool,
) -> Result<(), Error> {
    let table = transaction.require_table(name)?;
    if !table.has_late_index() {
        return Err(UpdateTableError::NoGlobalIndexes(name.as_str().to_owned()).into());
    }
    let lag = match table.index_life.lag {
        Some(_) => Some(LagState { is_paused }),
        None => is_paused.then_some(LagState { is_paused }),
    };
    if lag != table.index_life.lag {
        transaction.change_table(&table, |new| new.index_life.lag = lag)?;
    }
    Ok(())
}

// The worker: applies pending writes to the global indexes, in order.

/// The number of writes applied in one step, so that other writers do not wait.
const WRITES_PER_STEP: usize = 250;
/// The bytes of pending writes after which a step ends.
const BYTES_PER_STEP: usize = 512 * 1024;
/// The shortest and the longest interval of the search for new pending writes while there is a
/// delay, in milliseconds.
const POLL_MS: std::ops::RangeInclusive<u64> = 5..=1_000;

/// Returns the delay of the next search for pending writes when there are none, in milliseconds.
#[must_use]
pub fn poll_after(delay_ms: u64) -> u64 {
    delay_ms.clamp(*POLL_MS.start(), *POLL_MS.end())
}

/// The continuation after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NextStep {
    Again,
    /// Again after this many milliseconds.
    Later(u64),
    Nothing,
}

/// Applies some due writes. If none is left and this process has no delay, the table's lag ends.
pub fn step(transaction: &mut Transaction<'_>, name: &TableName) -> Result<NextStep, StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(NextStep::Nothing);
    };
    let Some(lag) = table.index_life.lag else {
        return Ok(NextStep::Nothing);
    };
    // Without a global index there is no lag.
    let has_late = table.has_late_index();
    if lag.is_paused && has_late {
        return Ok(NextStep::Nothing);
    }
    let now_ms = transaction.now_ms();
    let batch = PendingBatch::read(transaction, &table, now_ms)?;
    for (key, bytes) in &batch.due {
        apply_pending(transaction, &table, key, bytes)?;
        transaction.batch.delete(key)?;
    }
    // Observers were notified of the items when they were written.
    let is_changed =
        |index: &&IndexSchema| !batch.due.is_empty() && table.index_life.is_late(index);
    for index in table.schema.indexes.iter().filter(is_changed) {
        transaction.record_ended(name, Some(&index.name));
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
    // In the transaction that found none: the next write finds the table without lag, and changes
    // its indexes itself.
    if !has_pending(transaction.read(), table.source)? {
        transaction.change_table(&table, |new| new.index_life.lag = None)?;
    }
    Ok(NextStep::Nothing)
}

/// The pending writes of one step.
#[derive(Default)]
struct PendingBatch {
    /// Keys and values.
    due: Vec<(Vec<u8>, Vec<u8>)>,
    /// True if there may be more due writes.
    is_cut: bool,
    /// The due time of the first write that is not due yet.
    next_due_ms: Option<u64>,
}

impl PendingBatch {
    fn read(
        transaction: &Transaction<'_>,
        table: &TableEntry,
        now_ms: u64,
    ) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        let mut bytes = 0;
        try_walk(
            transaction.read(),
            &Space::Pending.range(table.source),
            Direction::Forward,
            |key, value| {
                // An unreadable write counts as due: it must not block the others forever. `check`
                // reports its index entries.
                let due_ms = PendingIndexWrite::parse(value).map_or(0, |pending| pending.due_ms);
                if due_ms > now_ms {
                    batch.next_due_ms = Some(due_ms);
                    return Ok(ControlFlow::Break(()));
                }
                bytes += value.len();
                batch.due.push((key.to_vec(), value.to_vec()));
                batch.is_cut = batch.due.len() >= WRITES_PER_STEP || bytes >= BYTES_PER_STEP;
                Ok(if batch.is_cut {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            },
        )?;
        Ok(batch)
    }
}

/// A pending write with its version, its key, and the items before and after.
type ParsedPending<'b> = (
    PendingIndexWrite<'b>,
    Version,
    Key,
    Option<Item>,
    Option<Item>,
);

fn parse_pending<'b>(
    table: &TableEntry,
    key: &[u8],
    bytes: &'b [u8],
) -> Result<ParsedPending<'b>, StoreError> {
    let pending = PendingIndexWrite::parse(bytes)?;
    let (old, new) = pending.items()?;
    let version =
        keys::parse_version(key).ok_or(StoreError::Corrupt("the key of a pending write"))?;
    let item = old.as_ref().or(new.as_ref());
    let item = item.ok_or(StoreError::Corrupt("a pending write without an item"))?;
    let item_key = item_key::key_of_stored(&table.schema.key, item)?;
    Ok((pending, version, item_key, old, new))
}

fn apply_pending(
    transaction: &mut Transaction<'_>,
    table: &Arc<TableEntry>,
    key: &[u8],
    bytes: &[u8],
) -> Result<(), StoreError> {
    let parsed = match parse_pending(table, key, bytes) {
        Ok(parsed) => parsed,
        // Dropped, so that it does not block the others forever; `check` reports its index entries.
        Err(error) if error.is_corrupt() => {
            let error = locate(transaction.read(), key, error);
            log::error!("a pending write is not applied to the global indexes: {error}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (pending, version, item_key, old, new) = parsed;
    let stamp = WriteStamp {
        version,
        modified_ms: pending.time_ms,
        record: pending.new,
    };
    for view in index::index_views(table) {
        if table.index_life.is_late(view.index)
            && built_version(table, view.index.name.as_str()) < version
        {
            let transition = Transition::of(&view, &item_key, old.as_ref(), new.as_ref());
            stamp.apply(transaction, &view, &transition, new.as_ref())?;
        }
    }
    Ok(())
}

/// Returns the last version that was in an index when it became active.
#[must_use]
pub fn built_version(table: &TableEntry, index: &str) -> Version {
    table
        .index_life
        .made
        .get(index)
        .map_or(0, |made| made.since)
}

// The stored form of a pending write:
// ```text
// due u64 · time u64 · length of place u32 · place · length of old record u32 · old record · new record
// ```
// An empty record is no item. Times are milliseconds since the epoch.

/// A write that the global indexes do not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingIndexWrite<'b> {
    /// The time at which the indexes show it.
    pub due_ms: u64,
    /// The time of the write.
    pub time_ms: u64,
    /// The item's place in its table, see `keys::place_in_source`.
    pub place: &'b [u8],
    pub old: Option<&'b [u8]>,
    pub new: Option<&'b [u8]>,
}

impl<'b> PendingIndexWrite<'b> {
    /// Decodes the stored bytes.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, StoreError> {
        let (due_ms, time_ms, Prefixed(place), Prefixed(old), new) =
            decode_parts(bytes, "a pending write")?;
        Ok(Self {
            due_ms,
            time_ms,
            place,
            old: Some(old).filter(|old| !old.is_empty()),
            new,
        })
    }

    pub(self) fn encode(&self) -> Vec<u8> {
        encode_parts(&(
            self.due_ms,
            self.time_ms,
            Prefixed(self.place),
            Prefixed(self.old.unwrap_or_default()),
            self.new,
        ))
    }

    /// Returns the items before and after.
    pub fn items(&self) -> Result<(Option<Item>, Option<Item>), StoreError> {
        let item = |bytes: Option<&[u8]>| {
            bytes
                .map(|bytes| Record::parse(bytes)?.to_item())
                .transpose()
        };
        Ok((item(self.old)?, item(self.new)?))
    }
}

#[cfg(test)]
mod pending_tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let pending = PendingIndexWrite {
            due_ms: 258,
            time_ms: 2,
            place: &[7],
            old: None,
            new: Some(&[8, 9]),
        };
        let bytes = [
            0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 7, 0, 0, 0, 0, 8, 9,
        ];
        assert_eq!(pending.encode(), bytes);
        assert_eq!(PendingIndexWrite::parse(&bytes), Ok(pending));
        for length in 0..25 {
            assert!(
                PendingIndexWrite::parse(&bytes[..length]).is_err(),
                "{length}"
            );
        }
    }
}
