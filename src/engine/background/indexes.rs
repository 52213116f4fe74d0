//! The worker thread for indexes that are being made or removed, and for those that lag. It runs on
//! a thread of its own, so that a long backfill blocks nothing else. Several processes may work on
//! one index: each step continues where the last step of any process ended. The steps themselves
//! are in `engine::index_life` and `engine::index_lag`.

use std::time::Duration;

use crate::engine::{
    catalog::entry::BuildPhase,
    index_lag::{self, NextStep},
    index_life::{self, backfill},
    purge,
    runtime::{prelude::*, test_hooks::IndexStage},
    table_states,
};

/// The delay before the removal of an index is tried again, when even its smallest step finds the
/// disk full, in milliseconds.
const FULL_DISK_WAIT_MS: u64 = 1_000;

/// Runs all due steps; returns the delay until the next one, if it is known.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends.
pub fn round(shared: &Arc<EngineShared>) -> Result<Option<Duration>, Error> {
    let mut soonest = NextStep::Nothing;
    let mut names = shared
        .busy_tables
        .names(shared.view()?.read(), &shared.catalog)?;
    // One step of each index in turn.
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

fn step(shared: &Arc<EngineShared>, name: &TableName) -> Result<NextStep, Error> {
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
    shared: &Arc<EngineShared>,
    name: &TableName,
    step: fn(&mut Transaction<'_>, &TableName) -> Result<T, StoreError>,
) -> Result<T, Error> {
    let name = name.clone();
    shared.submit_in_background(move |transaction| Ok(step(transaction, &name)?))
}

/// Ends CREATING or DELETING when its time is over.
fn state_step(
    shared: &Arc<EngineShared>,
    name: &TableName,
    end_ms: u64,
) -> Result<NextStep, Error> {
    let now_ms = shared.now_ms();
    if end_ms > now_ms {
        return Ok(NextStep::Later(end_ms - now_ms));
    }
    let sources = run(shared, name, table_states::end)?;
    // After the commit that marked the sources: if the process ends here, the next open starts
    // their removal.
    purge::start_all(shared, sources);
    Ok(NextStep::Nothing)
}

/// Applies pending writes.
fn lag_step(
    shared: &Arc<EngineShared>,
    name: &TableName,
    table: &TableEntry,
) -> Result<NextStep, Error> {
    if table.index_life.lag.is_none() {
        return Ok(NextStep::Nothing);
    }
    // Without pending writes no job is submitted.
    let delay_ms = shared.options.gsi_delay_ms;
    let has_global = table.has_late_index();
    if delay_ms > 0
        && has_global
        && !index_lag::has_pending(&*shared.store.snapshot()?, table.source)?
    {
        return Ok(NextStep::Later(index_lag::poll_after(delay_ms)));
    }
    run(shared, name, index_lag::step)
}

/// Runs a step of the index that is being made or removed.
fn life_step(
    shared: &Arc<EngineShared>,
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
    // After the time check, so that a held allocation uses up no steps while it lasts.
    if !shared.options.index_hold.allows(stage) {
        return Ok(NextStep::Nothing);
    }
    let done = match stage {
        IndexStage::Allocation => run(shared, name, backfill::begin).map(|()| NextStep::Again),
        IndexStage::Backfill => run(shared, name, backfill::step).map(|step| {
            step.map_or(NextStep::Nothing, |step| {
                step.count(shared.now_ms());
                step.next
            })
        }),
        IndexStage::Removal => run(shared, name, index_life::remove_step).map(|goes_on| {
            shared.batch_size.grow();
            if goes_on {
                NextStep::Again
            } else {
                NextStep::Nothing
            }
        }),
    };
    match (stage, done) {
        (IndexStage::Removal, Err(Error::Store(StoreError::NoSpace)))
            if shared.batch_size.halve() =>
        {
            Ok(NextStep::Again)
        }
        (IndexStage::Removal, Err(Error::Store(StoreError::NoSpace))) => {
            Ok(NextStep::Later(FULL_DISK_WAIT_MS))
        }
        (IndexStage::Allocation | IndexStage::Backfill, Err(Error::Store(StoreError::NoSpace))) => {
            cancel_build(shared, name)
        }
        (_, done) => done,
    }
}

/// Drops the index that is being made, because the disk is full.
fn cancel_build(shared: &Arc<EngineShared>, name: &TableName) -> Result<NextStep, Error> {
    log::warn!(
        "the disk is full: the index under construction of table {name} is dropped; create it again when there is space"
    );
    match run(shared, name, index_life::cancel_build) {
        Ok(()) => Ok(NextStep::Again),
        Err(Error::Store(StoreError::NoSpace)) => Ok(NextStep::Later(FULL_DISK_WAIT_MS)),
        Err(error) => Err(error),
    }
}

/// Returns the next stage and its time, in milliseconds since the epoch.
fn stage_of(table: &TableEntry) -> Option<(IndexStage, u64)> {
    if table.index_life.leaving.is_some() {
        return Some((IndexStage::Removal, 0));
    }
    let building = table.index_life.building.as_ref()?;
    Some(match building.phase {
        BuildPhase::Allocation { until_ms } => (IndexStage::Allocation, until_ms),
        BuildPhase::Backfill => (IndexStage::Backfill, 0),
    })
}
