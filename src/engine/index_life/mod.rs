//! Online schema change: the state machine of a global index that UpdateTable makes or drops while
//! its table is in use (docs/dynamodb.md 9.6).
//!
//! ```text
//! (absent) -> Allocation -> Backfill -> active -> leaving -> (absent)
//!                               \-------------------/
//! ```
//! The catalog entry of the table holds the phase; a table has at most one index that is being made
//! or removed. Difficulties and their answers:
//!
//! - **Writes continue.** From the commit that defines the index, every change of an item maintains
//!   it too ([`building_transition`]). An item that the backfill has not reached has no entry yet; the old
//!   entry is looked up, not inferred from the progress of the backfill.
//! - **An entry must not be older than its item.** A step of the backfill ([`backfill`]) reads the
//!   items in the write transaction that writes their entries, and leaves existing entries alone.
//! - **Writers must not wait.** Steps are short; the worker (`background::indexes`) submits the
//!   next step when the last one is durable, so that waiting writes get into the transactions
//!   between.
//! - **The process may end at any moment, and several processes may work on one index.** The
//!   progress of the backfill ([`backfill::BackfillState`]) is written with each step; the next process
//!   continues from there, and decides inside the transaction which step is due.
//! - **Items with values that cannot be its key** are skipped and put on a list ([`violations`])
//!   that later writes keep up to date.
//! - **A leaving index** is out of the schema at once; its entries are removed afterwards
//!   ([`remove_step`]).

pub mod backfill;
pub mod violations;

use super::{
    catalog::{
        IndexLife,
        entry::{BuildPhase, LeavingIndex},
    },
    index::{IndexView, Transition},
    purge,
    runtime::prelude::*,
};
use crate::model::{
    api::UpdateTableRequest,
    error::{InUseError, LimitError},
};

/// Returns the change of an item in an index that is being made, which may not have the entry of
/// the old item yet.
pub fn building_transition<'i>(
    read: &dyn Read,
    view: &IndexView<'_>,
    key: &Key,
    old: Option<&'i Item>,
    new: Option<&'i Item>,
) -> Result<Transition<'i>, StoreError> {
    let entry = old.and_then(|item| view.entry_with_key(item, key));
    // The entry is looked up: the progress of the backfill does not tell about an item that was
    // written meanwhile.
    let is_there = match entry {
        Some(entry) => read.get(&entry.address.encode())?.is_some(),
        None => false,
    };
    Ok(Transition::of(view, key, old.filter(|_| is_there), new))
}

// The requests that are refused while an index of the table is being made or removed: the matrix of
// docs/dynamodb.md 9.6.

/// The index work in progress of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BusyIndex<'t> {
    Allocation(&'t IndexName),
    Backfill(&'t IndexName),
    Removal(&'t IndexName),
}

impl<'t> BusyIndex<'t> {
    fn of(life: &'t IndexLife) -> Option<Self> {
        if let Some(leaving) = &life.leaving {
            return Some(Self::Removal(&leaving.index.name));
        }
        let building = life.building.as_ref()?;
        Some(match building.phase {
            BuildPhase::Allocation { .. } => Self::Allocation(&building.index),
            BuildPhase::Backfill => Self::Backfill(&building.index),
        })
    }

    fn index(self) -> &'t IndexName {
        match self {
            Self::Allocation(index) | Self::Backfill(index) | Self::Removal(index) => index,
        }
    }
}

/// Refuses to delete a table while one of its indexes is being made or removed.
///
/// # Errors
/// Fails with `IndexesBusy` if there is such an index.
pub fn check_table_deletion(life: &IndexLife) -> Result<(), InUseError> {
    match life.busy() {
        Some(_) => Err(InUseError::IndexesBusy),
        None => Ok(()),
    }
}

/// Checks an UpdateTable request. The caller checks that the indexes it names exist; an index being
/// removed counts as existing.
///
/// # Errors
/// Fails with `InUse` or `Limit`, by the present phase of the index.
pub fn check_update(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    let Some(busy) = BusyIndex::of(&table.index_life) else {
        return Ok(());
    };
    let table = || table.schema.name.as_str().to_owned();
    check_index_updates(busy, request, &table)?;
    check_table_changes(busy, request, &table)?;
    Ok(())
}

fn check_index_updates(
    busy: BusyIndex<'_>,
    request: &UpdateTableRequest,
    table: &dyn Fn() -> String,
) -> Result<(), Error> {
    let (table, index) = (table(), busy.index().as_str().to_owned());
    for update in request.all_index_updates() {
        let is_busy = |name: &IndexName| name == busy.index();
        if let Some(creation) = &update.create {
            return Err(match busy {
                BusyIndex::Allocation(_) | BusyIndex::Backfill(_) if is_busy(&creation.name) => {
                    InUseError::IndexCreating { table, index }.into()
                }
                _ => LimitError::OnlineIndexes.into(),
            });
        }
        let is_deleted = update.delete.is_some();
        if update.delete.as_ref().is_some_and(|name| !is_busy(name)) {
            return Err(LimitError::OnlineIndexes.into());
        }
        let change = update.update.as_ref();
        if !is_deleted && !change.is_some_and(|change| is_busy(&change.name)) {
            continue;
        }
        let refusal = match busy {
            // An index can be dropped during its backfill.
            BusyIndex::Backfill(_) => continue,
            BusyIndex::Removal(_) => InUseError::IndexDeleting { table, index },
            BusyIndex::Allocation(_) if is_deleted => InUseError::IndexAllocating { table, index },
            BusyIndex::Allocation(_) => InUseError::IndexNotBackfilling { table, index },
        };
        return Err(refusal.into());
    }
    Ok(())
}

fn check_table_changes(
    busy: BusyIndex<'_>,
    request: &UpdateTableRequest,
    table: &dyn Fn() -> String,
) -> Result<(), InUseError> {
    let (change, noun) = match busy {
        // During the backfill the table is ACTIVE again, and all its settings can change
        // (docs/dynamodb.md 9.6).
        BusyIndex::Backfill(_) => return Ok(()),
        BusyIndex::Allocation(_) => ("created", "creation"),
        BusyIndex::Removal(_) => ("deleted", "deletion"),
    };
    let index = || busy.index().as_str().to_owned();
    if request.throughput.is_some() || request.billing_mode.is_some() {
        return Err(InUseError::IndexAndThroughput {
            change,
            table: table(),
            index: index(),
        });
    }
    if request.stream.is_some() && matches!(busy, BusyIndex::Allocation(_)) {
        return Err(InUseError::IndexAndStream);
    }
    if request.on_demand.is_some() {
        return Err(InUseError::IndexAndOnDemand {
            change: noun,
            index: index(),
        });
    }
    Ok(())
}

// The end of an index: a step of its removal, and the removal of one that cannot be made.

/// Removes some entries of a leaving index; returns true if there may be more. After the last entry
/// the index is gone.
pub fn remove_step(
    transaction: &mut Transaction<'_>,
    name: &TableName,
) -> Result<bool, StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(false);
    };
    let Some(leaving) = &table.index_life.leaving else {
        return Ok(false);
    };
    let sources: Vec<SourceId> = std::iter::once(leaving.source)
        .chain(leaving.violations)
        .collect();
    for source in sources {
        if purge::remove_step(transaction, source)? {
            return Ok(true);
        }
    }
    // Last: until this commit a process that opens the store continues the removal.
    transaction.change_table(&table, |new| new.index_life.leaving = None)?;
    Ok(false)
}

/// Drops the index that a table is making, as UpdateTable does, because the disk is full; the
/// entries written so far are removed.
pub fn cancel_build(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    // On the full disk this change may use the space reserved for removals.
    transaction.mark_removal();
    let Some(table) = transaction.table(name)? else {
        return Ok(());
    };
    let Some(building) = &table.index_life.building else {
        return Ok(());
    };
    let mut new = (*table).clone();
    begin_removal(transaction, &mut new, &building.index)?;
    transaction.replace_table(&new)
}

/// Takes an index out of `new`; its entries are removed in the background.
pub fn begin_removal(
    transaction: &mut Transaction<'_>,
    new: &mut TableEntry,
    name: &IndexName,
) -> Result<(), StoreError> {
    let schema = Arc::make_mut(&mut new.schema);
    // The two lists have the same order, so one position removes the index from both.
    let Some(at) = schema.indexes.iter().position(|index| index.name == *name) else {
        debug_assert!(false, "the request was checked against the table");
        return Ok(());
    };
    let index = schema.indexes.remove(at);
    transaction.record_ended(&schema.name, Some(name));
    let source: SourceId = new.index_sources.remove(at);
    new.control.indexes.remove(name.as_str());
    let life = &mut new.index_life;
    // The entries of an unfinished index are removed like those of a complete one.
    if life.is_building(name) {
        life.building = None;
        transaction
            .batch
            .delete(&StoreKey::Backfill(source).encode())?;
    }
    let violations = life.made.remove(name.as_str()).map(|made| made.violations);
    life.leaving = Some(LeavingIndex {
        index,
        source,
        violations,
    });
    Ok(())
}
