//! Moves the indexes that are being made or removed on, a step at a time: the work of a background thread of its own, so that a
//! long backfill keeps nothing else waiting. Several processes may do it to one index: each step goes on from where the last one of
//! any process ended.

use std::sync::Arc;
use std::time::Duration;

use super::hold::Stage;
use super::{Phase, backfill, has_work, removal};
use crate::engine::Shared;
use crate::engine::catalog::TableEntry;
use crate::engine::view::View;
use crate::model::error::StoreError;
use crate::model::{Error, TableName};

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
    shared.busy_tables.names(&view)
}

enum Outcome {
    /// There may be more to do.
    Again,
    /// There is, after a while.
    Later(Duration),
    Done,
}

fn step(shared: &Arc<Shared>, name: &TableName) -> Result<Outcome, Error> {
    let table = View::new(shared, shared.store.snapshot()?).table(name)?;
    let Some(stage) = table.as_deref().filter(|table| has_work(table)).and_then(stage_of) else { return Ok(Outcome::Done) };
    let now_ms = shared.options.clock.now_ms();
    match stage {
        (Stage::Allocation, until_ms) if until_ms > now_ms => {
            return Ok(Outcome::Later(Duration::from_millis(until_ms - now_ms)));
        }
        (stage, _) if !shared.options.index_hold.passes(stage) => return Ok(Outcome::Done),
        (Stage::Allocation | Stage::Backfill | Stage::Removal, _) => {}
    }
    let (name, stage) = (name.clone(), stage.0);
    let goes_on = shared.submit_in_background(move |transaction| {
        Ok(match stage {
            Stage::Allocation => {
                backfill::begin(transaction, &name)?;
                true
            }
            Stage::Backfill => backfill::step(transaction, &name)?,
            Stage::Removal => removal::step(transaction, &name)?,
        })
    })?;
    Ok(if goes_on { Outcome::Again } else { Outcome::Done })
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
