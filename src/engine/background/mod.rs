//! The engine's background work: expired items, stream records older than a day, indexes that are
//! made or removed, splits of partitions, the flush of the meters.
//!
//! One thread for each kind of round wakes up at intervals; it writes only if there is work.
//! Several processes on one data directory may run the same rounds: everything is decided again
//! inside the write transaction.

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

/// The threads: name and round. Indexes have a thread of their own, so that a long backfill blocks
/// nothing else.
pub const ROUNDS: [(&str, Round); 2] = [
    ("engine-background", housekeeping),
    ("engine-indexes", indexes::round),
];

/// Runs one round of every thread.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn round(shared: &Arc<Shared>) -> Result<(), Error> {
    ROUNDS
        .iter()
        .try_for_each(|(_, round)| round(shared).map(drop))
}

fn housekeeping(shared: &Arc<Shared>) -> Result<Option<Duration>, Error> {
    // First, so that no failure below keeps the counts from the store.
    counting::keep(shared, false)?;
    expiry::sweep(shared)?;
    trim::trim(shared)?;
    expiry::expire_backups(shared)?;
    parked::expire(shared)?;
    splits::round(shared)?;
    counting::forget(shared)?;
    Ok(None)
}
