//! The life of a global index that UpdateTable makes or drops while its table is in use (docs/dynamodb.md 9.6).
//!
//! ```text
//! (absent) -> Allocation -> Backfill -> active -> leaving -> (absent)
//!                               \-------------------/
//! ```
//! The catalog entry of the table says the phase; a table has one index at most that is not simply there. Difficulties, and what
//! solves each:
//!
//! - **Writes go on.** From the commit that defines the index every change of an item maintains it too ([`tracked`]). An item that
//!   the backfill has not reached yet has no entry; whether the old one has is looked up, not guessed from how far the backfill is.
//! - **An entry must not be older than its item.** A step of the backfill ([`backfill`]) reads the items in the write transaction that
//!   writes their entries, and leaves alone what is there.
//! - **Writers must not wait.** Steps are short; the worker (`background::indexes`) submits the next when the last is durable, so that every
//!   waiting write gets into the transactions between.
//! - **The process may end at any moment, and several may be at it.** How far the backfill is ([`progress`]) is written with each
//!   step; whoever comes next goes on from there, and decides inside the transaction what is to be done.
//! - **Items with values that cannot be its key** are passed over and put on a list ([`violations`]) that later writes keep true.
//! - **A leaving index** is out of the schema at once; its entries are removed behind it ([`removal`]).

pub mod backfill;
pub mod violations;

use super::{
    catalog::{
        IndexLife,
        entry::{Leaving, Phase},
    },
    index::{IndexView, Transition},
    purge,
    runtime::prelude::*,
};
use crate::model::{
    api::UpdateTableRequest,
    error::{InUseError, LimitError},
};

/// What a change of an item does in an index that is being made, which may not have the entry of the old item yet.
///
/// # Errors
/// Those of the store.
pub fn tracked<'i>(
    read: &dyn Read,
    view: &IndexView<'_>,
    key: &Key,
    old: Option<&'i Item>,
    new: Option<&'i Item>,
) -> Result<Transition<'i>, StoreError> {
    let entry = old.and_then(|item| view.entry_with_key(item, key));
    // Looked up: how far the backfill is says nothing of an item that was written meanwhile.
    let is_there = match entry {
        Some(entry) => read.get(&entry.address.encode())?.is_some(),
        None => false,
    };
    Ok(Transition::of(view, key, old.filter(|_| is_there), new))
}

// Which requests are refused while an index of the table is being made or removed: the matrix of docs/dynamodb.md 9.6.

/// What a table's indexes are busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy<'t> {
    Allocation(&'t IndexName),
    Backfill(&'t IndexName),
    Removal(&'t IndexName),
}

impl<'t> Busy<'t> {
    fn of(life: &'t IndexLife) -> Option<Self> {
        if let Some(leaving) = &life.leaving {
            return Some(Self::Removal(&leaving.index.name));
        }
        let building = life.building.as_ref()?;
        Some(match building.phase {
            Phase::Allocation { .. } => Self::Allocation(&building.index),
            Phase::Backfill => Self::Backfill(&building.index),
        })
    }

    fn index(self) -> &'t IndexName {
        match self {
            Self::Allocation(index) | Self::Backfill(index) | Self::Removal(index) => index,
        }
    }
}

/// Deleting a table waits for its indexes.
///
/// # Errors
/// `IndexesBusy`.
pub fn check_table_deletion(life: &IndexLife) -> Result<(), InUseError> {
    match life.busy() {
        Some(_) => Err(InUseError::IndexesBusy),
        None => Ok(()),
    }
}

/// Checks an UpdateTable request. That the indexes it names are there is for the caller; an index being removed counts as there.
///
/// # Errors
/// `InUse`, `Limit`.
pub fn check_update(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    let Some(busy) = Busy::of(&table.index_life) else {
        return Ok(());
    };
    let table = || table.schema.name.as_str().to_owned();
    check_index_updates(busy, request, &table)?;
    check_table_changes(busy, request, &table)?;
    Ok(())
}

fn check_index_updates(
    busy: Busy<'_>,
    request: &UpdateTableRequest,
    table: &dyn Fn() -> String,
) -> Result<(), Error> {
    let index = || busy.index().as_str().to_owned();
    for update in request.index_updates.iter().flatten() {
        let is_busy = |name: &IndexName| name == busy.index();
        if let Some(creation) = &update.create {
            return match busy {
                Busy::Allocation(name) | Busy::Backfill(name) if creation.name == *name => {
                    Err(InUseError::IndexCreating {
                        table: table(),
                        index: index(),
                    }
                    .into())
                }
                Busy::Allocation(_) | Busy::Backfill(_) | Busy::Removal(_) => {
                    Err(LimitError::OnlineIndexes.into())
                }
            };
        }
        if let Some(name) = &update.delete {
            match busy {
                _ if !is_busy(name) => return Err(LimitError::OnlineIndexes.into()),
                Busy::Allocation(_) => {
                    return Err(InUseError::IndexAllocating {
                        table: table(),
                        index: index(),
                    }
                    .into());
                }
                Busy::Removal(_) => {
                    return Err(InUseError::IndexDeleting {
                        table: table(),
                        index: index(),
                    }
                    .into());
                }
                Busy::Backfill(_) => {}
            }
        }
        if update
            .update
            .as_ref()
            .is_some_and(|change| is_busy(&change.name))
        {
            match busy {
                Busy::Allocation(_) => {
                    return Err(InUseError::IndexNotBackfilling {
                        table: table(),
                        index: index(),
                    }
                    .into());
                }
                Busy::Removal(_) => {
                    return Err(InUseError::IndexDeleting {
                        table: table(),
                        index: index(),
                    }
                    .into());
                }
                Busy::Backfill(_) => {}
            }
        }
    }
    Ok(())
}

fn check_table_changes(
    busy: Busy<'_>,
    request: &UpdateTableRequest,
    table: &dyn Fn() -> String,
) -> Result<(), InUseError> {
    let (change, noun) = match busy {
        Busy::Backfill(_) => return Ok(()),
        Busy::Allocation(_) => ("created", "creation"),
        Busy::Removal(_) => ("deleted", "deletion"),
    };
    let index = || busy.index().as_str().to_owned();
    if request.throughput.is_some() || request.billing_mode.is_some() {
        return Err(InUseError::IndexAndThroughput {
            change,
            table: table(),
            index: index(),
        });
    }
    if request.stream.is_some() && matches!(busy, Busy::Allocation(_)) {
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

// The end of an index: a step of its removal, which takes some of its entries; and that of one that cannot be made.

/// Removes some of a leaving index; whether there may be more to do. After the last of it the index is gone.
///
/// # Errors
/// Those of the store.
pub fn removal_step(
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
///
/// # Errors
/// Those of the store.
pub fn begin_removal(
    transaction: &mut Transaction<'_>,
    new: &mut TableEntry,
    name: &IndexName,
) -> Result<(), StoreError> {
    let schema = Arc::make_mut(&mut new.schema);
    let Some(at) = schema.indexes.iter().position(|index| index.name == *name) else {
        return Ok(());
    };
    let index = schema.indexes.remove(at);
    let source: SourceId = new.index_sources.remove(at);
    new.control.indexes.remove(name.as_str());
    let life = &mut new.index_life;
    if life.is_building(name) {
        life.building = None;
        transaction
            .batch
            .delete(&StoreKey::Backfill(source).encode())?;
    }
    let violations = life.made.remove(name.as_str()).map(|made| made.violations);
    life.leaving = Some(Leaving {
        index,
        source,
        violations,
    });
    Ok(())
}
