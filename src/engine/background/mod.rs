//! The engine's own work beside its requests: items whose time is over, stream records older than a day; indexes that are made or
//! removed; partitions that split; what was counted.
//!
//! A thread for each round wakes up every while and looks; it writes only when there is something to do. Several processes on one data
//! directory may all do it: everything is decided again inside the write.

pub mod counting;
mod expiry;
mod indexes;
mod splits;

use std::time::Duration;

use super::{
    parked,
    runtime::{Round, prelude::*},
    streams::trim,
};

/// The threads: name and round. Indexes have one of their own, so that a long backfill keeps nothing else waiting.
pub const ROUNDS: [(&str, Round); 2] = [
    ("engine-background", housekeeping),
    ("engine-indexes", indexes::round),
];

/// Does what there is to do for all threads.
///
/// # Errors
/// Those of the store; `Closed` when the engine ends meanwhile.
pub fn round(shared: &Arc<Shared>) -> Result<(), Error> {
    ROUNDS
        .iter()
        .try_for_each(|(_, round)| round(shared).map(drop))
}

fn housekeeping(shared: &Arc<Shared>) -> Result<Option<Duration>, Error> {
    // First: nothing that fails below keeps it from the store.
    counting::keep(shared, false)?;
    expiry::sweep(shared)?;
    trim::trim(shared)?;
    expiry::expire_backups(shared)?;
    parked::expire(shared)?;
    splits::round(shared)?;
    counting::forget(shared)?;
    Ok(None)
}
