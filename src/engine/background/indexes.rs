//! Moves the indexes that are being made or removed on, and those that lag, a step at a time: the work of a background thread of its own, so that a
//! long backfill keeps nothing else waiting. Several processes may do it to one index: each step goes on from where the last one of
//! any process ended.

use std::time::Duration;

use crate::engine::{
    catalog::entry::Phase,
    index_lag::{self, NextStep},
    index_life::{self, backfill},
    purge,
    runtime::{hold::Stage, prelude::*},
    table_states,
};

/// How long the removal of an index waits for room when even its smallest step has none.
const FULL_DISK_WAIT_MS: u64 = 1_000;

/// Does what there is to do; how long until there is more, if that is known.
///
/// # Errors
/// Those of the store; `Closed` when the engine ends.
pub fn round(shared: &Arc<Shared>) -> Result<Option<Duration>, Error> {
    let mut soonest = NextStep::Nothing;
    let mut names = shared
        .busy_tables
        .names(shared.view()?.read(), &shared.catalog)?;
    // One step of each in turn.
    while !names.is_empty() {
        let mut going = Vec::new();
        for name in names {
            if shared.signal.is_ending() {
                return Err(StoreError::Closed.into());
            }
            match step(shared, &name)? {
                NextStep::Again => going.push(name),
                later => soonest = soonest.min(later),
            }
        }
        names = going;
    }
    Ok(match soonest {
        NextStep::Later(ms) => Some(Duration::from_millis(ms)),
        NextStep::Again | NextStep::Nothing => None,
    })
}

fn step(shared: &Arc<Shared>, name: &TableName) -> Result<NextStep, Error> {
    let Some(table) = shared.view()?.table(name)? else {
        return Ok(NextStep::Nothing);
    };
    if let Some(end_ms) = table.status_ends_ms {
        return state_step(shared, name, end_ms);
    }
    let lag = lag_step(shared, name, &table)?;
    Ok(lag.min(life_step(shared, name, &table)?))
}

/// Runs a step of a table's work in a transaction.
fn run<T: Send + 'static>(
    shared: &Arc<Shared>,
    name: &TableName,
    step: fn(&mut Transaction<'_>, &TableName) -> Result<T, StoreError>,
) -> Result<T, Error> {
    let name = name.clone();
    shared.submit_in_background(move |transaction| Ok(step(transaction, &name)?))
}

/// Ends CREATING or DELETING when its time is over.
fn state_step(shared: &Arc<Shared>, name: &TableName, end_ms: u64) -> Result<NextStep, Error> {
    let now_ms = shared.now_ms();
    if end_ms > now_ms {
        return Ok(NextStep::Later(end_ms - now_ms));
    }
    let sources = run(shared, name, table_states::end)?;
    // After the commit that marked them: should the process end here, the next open starts them.
    purge::start_all(shared, sources);
    Ok(NextStep::Nothing)
}

/// Applies pending writes.
fn lag_step(shared: &Arc<Shared>, name: &TableName, table: &TableEntry) -> Result<NextStep, Error> {
    if table.index_life.lag.is_none() {
        return Ok(NextStep::Nothing);
    }
    // Nothing is submitted only to find nothing.
    let delay_ms = shared.options.gsi_delay_ms;
    let has_global = table.schema.indexes_of(IndexKind::Global).next().is_some();
    if delay_ms > 0
        && has_global
        && !index_lag::has_pending(&*shared.store.snapshot()?, table.source)?
    {
        return Ok(NextStep::Later(index_lag::poll_after(delay_ms)));
    }
    run(shared, name, index_lag::step)
}

/// Moves an index on that is being made or removed.
fn life_step(
    shared: &Arc<Shared>,
    name: &TableName,
    table: &TableEntry,
) -> Result<NextStep, Error> {
    let Some((stage, from_ms)) = stage_of(table) else {
        return Ok(NextStep::Nothing);
    };
    let now_ms = shared.now_ms();
    if from_ms > now_ms {
        return Ok(NextStep::Later(from_ms - now_ms));
    }
    // After the time, so that a held allocation counts no steps while it lasts.
    if !shared.options.index_hold.passes(stage) {
        return Ok(NextStep::Nothing);
    }
    let done = match stage {
        Stage::Allocation => run(shared, name, backfill::begin).map(|()| NextStep::Again),
        Stage::Backfill => run(shared, name, backfill::step).map(|step| {
            step.map_or(NextStep::Nothing, |step| {
                step.count(shared.now_ms());
                step.next
            })
        }),
        Stage::Removal => run(shared, name, index_life::removal_step).map(|goes_on| {
            shared.pieces.grow();
            if goes_on {
                NextStep::Again
            } else {
                NextStep::Nothing
            }
        }),
    };
    match (stage, done) {
        (Stage::Removal, Err(Error::Store(StoreError::NoSpace))) if shared.pieces.halve() => {
            Ok(NextStep::Again)
        }
        (Stage::Removal, Err(Error::Store(StoreError::NoSpace))) => {
            Ok(NextStep::Later(FULL_DISK_WAIT_MS))
        }
        (Stage::Allocation | Stage::Backfill, Err(Error::Store(StoreError::NoSpace))) => {
            give_up(shared, name)
        }
        (_, done) => done,
    }
}

/// The disk is full: an index that is being made is dropped.
fn give_up(shared: &Arc<Shared>, name: &TableName) -> Result<NextStep, Error> {
    log::warn!(
        "the disk is full: the index that table {name} is making is dropped; make it again when there is room"
    );
    match run(shared, name, index_life::give_up) {
        Ok(()) => Ok(NextStep::Again),
        Err(Error::Store(StoreError::NoSpace)) => Ok(NextStep::Later(FULL_DISK_WAIT_MS)),
        Err(error) => Err(error),
    }
}

/// What is to be done, and from when: milliseconds since the epoch.
fn stage_of(table: &TableEntry) -> Option<(Stage, u64)> {
    if table.index_life.leaving.is_some() {
        return Some((Stage::Removal, 0));
    }
    let building = table.index_life.building.as_ref()?;
    Some(match building.phase {
        Phase::Allocation { until_ms } => (Stage::Allocation, until_ms),
        Phase::Backfill => (Stage::Backfill, 0),
    })
}
