//! Which requests are refused while an index of the table is being made or removed: the matrix of docs/dynamodb.md 9.6.

use crate::engine::catalog::index_life::Phase;
use crate::engine::catalog::{IndexLife, TableEntry};
use crate::model::api::UpdateTableRequest;
use crate::model::error::{InUseError, LimitError};
use crate::model::{Error, IndexName};

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
pub fn check(table: &TableEntry, request: &UpdateTableRequest) -> Result<(), Error> {
    let Some(busy) = Busy::of(&table.index_life) else { return Ok(()) };
    let table = || table.schema.name.as_str().to_owned();
    check_index_updates(busy, request, &table)?;
    check_table_changes(busy, request, &table)?;
    Ok(())
}

fn check_index_updates(busy: Busy<'_>, request: &UpdateTableRequest, table: &dyn Fn() -> String) -> Result<(), Error> {
    let index = || busy.index().as_str().to_owned();
    for update in request.index_updates.iter().flatten() {
        let is_busy = |name: &IndexName| name == busy.index();
        if let Some(creation) = &update.create {
            return match busy {
                Busy::Allocation(name) | Busy::Backfill(name) if creation.name == *name => {
                    Err(InUseError::IndexCreating { table: table(), index: index() }.into())
                }
                Busy::Allocation(_) | Busy::Backfill(_) | Busy::Removal(_) => Err(LimitError::OnlineIndexes.into()),
            };
        }
        if let Some(name) = &update.delete {
            match busy {
                _ if !is_busy(name) => return Err(LimitError::OnlineIndexes.into()),
                Busy::Allocation(_) => return Err(InUseError::IndexAllocating { table: table(), index: index() }.into()),
                Busy::Removal(_) => return Err(InUseError::IndexDeleting { table: table(), index: index() }.into()),
                Busy::Backfill(_) => {}
            }
        }
        if update.update.as_ref().is_some_and(|change| is_busy(&change.name)) {
            match busy {
                Busy::Allocation(_) => return Err(InUseError::IndexNotBackfilling { table: table(), index: index() }.into()),
                Busy::Removal(_) => return Err(InUseError::IndexDeleting { table: table(), index: index() }.into()),
                Busy::Backfill(_) => {}
            }
        }
    }
    Ok(())
}

fn check_table_changes(busy: Busy<'_>, request: &UpdateTableRequest, table: &dyn Fn() -> String) -> Result<(), InUseError> {
    let (change, noun) = match busy {
        Busy::Backfill(_) => return Ok(()),
        Busy::Allocation(_) => ("created", "creation"),
        Busy::Removal(_) => ("deleted", "deletion"),
    };
    let index = || busy.index().as_str().to_owned();
    if request.throughput.is_some() || request.billing_mode.is_some() {
        return Err(InUseError::IndexAndThroughput { change, table: table(), index: index() });
    }
    if request.stream.is_some() && matches!(busy, Busy::Allocation(_)) {
        return Err(InUseError::IndexAndStream);
    }
    if request.on_demand.is_some() {
        return Err(InUseError::IndexAndOnDemand { change: noun, index: index() });
    }
    Ok(())
}
