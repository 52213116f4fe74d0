//! Moves the indexes that are being made or removed on, and those that lag, a step at a time: the work of a background thread of its own, so that a
//! long backfill keeps nothing else waiting. Several processes may do it to one index: each step goes on from where the last one of
//! any process ended.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::catalog::TableEntry;
use crate::engine::catalog::index_life::Phase;
use crate::engine::index_lag;
use crate::engine::index_lag::apply::{self, NextStep};
use crate::engine::index_life::{backfill, removal};
use crate::engine::runtime::hold::Stage;
use crate::engine::runtime::{Shared, View};
use crate::engine::{purge, table_states};
use crate::model::error::StoreError;
use crate::model::{Error, IndexKind, TableName};

/// How long the removal of an index waits for room when even its smallest step has none.
const FULL_DISK_WAIT: Duration = Duration::from_secs(1);

/// Does what there is to do; how long until there is more, if that is known.
///
/// # Errors
/// Those of the store; `Closed` when the engine ends.
pub fn round(shared: &Arc<Shared>) -> Result<Option<Duration>, Error> {
    let mut soonest: Option<Duration> = None;
    let mut names = tables(shared)?;
    // One step of each in turn.
    while !names.is_empty() {
        let mut going = Vec::new();
        for name in names {
            if shared.signal.is_ending() {
                return Err(StoreError::Closed.into());
            }
            match step(shared, &name)? {
                Outcome::Again => going.push(name),
                Outcome::Later(wait) => soonest = Some(soonest.map_or(wait, |known| known.min(wait))),
                Outcome::Done => {}
            }
        }
        names = going;
    }
    Ok(soonest)
}

/// Tables with something to do, by a view that is gone when it is done.
fn tables(shared: &Shared) -> Result<Vec<TableName>, Error> {
    let view = View::new(shared, shared.store.snapshot()?);
    Ok(shared.busy_tables.names(view.read(), &shared.catalog)?)
}

enum Outcome {
    /// There may be more to do.
    Again,
    /// There is, after a while.
    Later(Duration),
    Done,
}

impl From<NextStep> for Outcome {
    fn from(next: NextStep) -> Self {
        match next {
            NextStep::Again => Self::Again,
            NextStep::Later(ms) => Self::Later(Duration::from_millis(ms)),
            NextStep::Nothing => Self::Done,
        }
    }
}

impl Outcome {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Again, _) | (_, Self::Again) => Self::Again,
            (Self::Later(one), Self::Later(other)) => Self::Later(one.min(other)),
            (Self::Later(wait), Self::Done) | (Self::Done, Self::Later(wait)) => Self::Later(wait),
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

fn step(shared: &Arc<Shared>, name: &TableName) -> Result<Outcome, Error> {
    let Some(table) = View::new(shared, shared.store.snapshot()?).table(name)? else { return Ok(Outcome::Done) };
    if let Some(end_ms) = table.status_ends_ms {
        return state_step(shared, name, end_ms);
    }
    let lag = lag_step(shared, name, &table)?;
    Ok(lag.and(life_step(shared, name, &table)?))
}

/// Ends CREATING or DELETING when its time is over.
fn state_step(shared: &Arc<Shared>, name: &TableName, end_ms: u64) -> Result<Outcome, Error> {
    let now_ms = shared.options.clock.now_ms();
    if end_ms > now_ms {
        return Ok(Outcome::Later(Duration::from_millis(end_ms - now_ms)));
    }
    let name = name.clone();
    let sources = shared.submit_in_background(move |transaction| Ok(table_states::end(transaction, &name)?))?;
    // After the commit that marked them: should the process end here, the next open starts them.
    sources.into_iter().for_each(|source| purge::start(Arc::clone(shared), source));
    Ok(Outcome::Done)
}

/// Applies pending writes.
fn lag_step(shared: &Arc<Shared>, name: &TableName, table: &TableEntry) -> Result<Outcome, Error> {
    if table.index_life.lag.is_none() {
        return Ok(Outcome::Done);
    }
    // Nothing is submitted only to find nothing.
    let delay_ms = shared.options.gsi_delay_ms;
    let has_global = table.schema.indexes_of(IndexKind::Global).next().is_some();
    if delay_ms > 0 && has_global && !index_lag::has_pending(&*shared.store.snapshot()?, table.source)? {
        return Ok(Outcome::Later(apply::poll_after(delay_ms)));
    }
    let name = name.clone();
    Ok(shared.submit_in_background(move |transaction| Ok(apply::step(transaction, &name)?))?.into())
}

/// Moves an index on that is being made or removed.
fn life_step(shared: &Arc<Shared>, name: &TableName, table: &TableEntry) -> Result<Outcome, Error> {
    let Some(stage) = stage_of(table) else { return Ok(Outcome::Done) };
    let now_ms = shared.options.clock.now_ms();
    match stage {
        (Stage::Allocation, until_ms) if until_ms > now_ms => {
            return Ok(Outcome::Later(Duration::from_millis(until_ms - now_ms)));
        }
        // After the time, so that a held allocation counts no steps while it lasts.
        (stage, _) if !shared.options.index_hold.passes(stage) => return Ok(Outcome::Done),
        (Stage::Allocation | Stage::Backfill | Stage::Removal, _) => {}
    }
    let done = match stage.0 {
        Stage::Allocation => allocation_step(shared, name.clone()),
        Stage::Backfill => backfill_step(shared, name.clone()),
        Stage::Removal => removal_step(shared, name.clone()),
    };
    match (stage.0, done) {
        (Stage::Removal, Err(Error::Store(StoreError::NoSpace))) if shared.pieces.halve() => Ok(Outcome::Again),
        (Stage::Removal, Err(Error::Store(StoreError::NoSpace))) => Ok(Outcome::Later(FULL_DISK_WAIT)),
        (Stage::Allocation | Stage::Backfill, Err(Error::Store(StoreError::NoSpace))) => give_up(shared, name),
        (_, done) => done,
    }
}

/// The disk is full: an index that is being made is dropped.
fn give_up(shared: &Arc<Shared>, name: &TableName) -> Result<Outcome, Error> {
    log::warn!("the disk is full: the index that table {name} is making is dropped; make it again when there is room");
    let name = name.clone();
    match shared.submit_in_background(move |transaction| Ok(removal::give_up(transaction, &name)?)) {
        Ok(()) => Ok(Outcome::Again),
        Err(Error::Store(StoreError::NoSpace)) => Ok(Outcome::Later(FULL_DISK_WAIT)),
        Err(error) => Err(error),
    }
}

fn allocation_step(shared: &Arc<Shared>, name: TableName) -> Result<Outcome, Error> {
    shared.submit_in_background(move |transaction| Ok(backfill::begin(transaction, &name)?))?;
    Ok(Outcome::Again)
}

fn removal_step(shared: &Arc<Shared>, name: TableName) -> Result<Outcome, Error> {
    let goes_on = shared.submit_in_background(move |transaction| Ok(removal::step(transaction, &name)?))?;
    shared.pieces.grow();
    Ok(if goes_on { Outcome::Again } else { Outcome::Done })
}

fn backfill_step(shared: &Arc<Shared>, name: TableName) -> Result<Outcome, Error> {
    let step = shared.submit_in_background(move |transaction| Ok(backfill::step(transaction, &name)?))?;
    let Some(step) = step else { return Ok(Outcome::Done) };
    step.count(shared.options.clock.now_ms());
    Ok(step.next.into())
}

/// What is to be done, and when: milliseconds since the epoch.
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
