//! The engine's background threads: expired items, stream records older than a day, the trash,
//! indexes that are made or removed, splits of partitions, the flush of the meters.
//!
//! One thread for each kind of round wakes up at intervals; it writes only if there is work.
//! Several processes on one data directory may run the same rounds: everything is decided again
//! inside the write transaction.

mod expiry;
mod indexes;
pub mod meter_flush;
mod splits;

use std::time::Duration;

use super::{
    runtime::{Round, prelude::*},
    streams::trim,
    trash,
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
pub fn round(shared: &Arc<EngineShared>) -> Result<(), Error> {
    ROUNDS
        .iter()
        .try_for_each(|(_, round)| round(shared).map(drop))
}

fn housekeeping(shared: &Arc<EngineShared>) -> Result<Option<Duration>, Error> {
    // First, so that no failure below keeps the counts from the store.
    meter_flush::flush(shared, false)?;
    expiry::sweep(shared)?;
    trim::trim(shared)?;
    expiry::expire_backups(shared)?;
    trash::expire(shared)?;
    splits::round(shared)?;
    meter_flush::prune(shared)?;
    Ok(None)
}
