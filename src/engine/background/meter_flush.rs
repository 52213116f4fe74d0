//! The periodic flush of the meters (`engine::meter`) to the store, in one transaction for all
//! tables, and the removal of records older than a day. Nothing is written while nothing is
//! counted.

use std::collections::HashSet;

use crate::codec::digest::hex;
use crate::engine::{
    base::keys::Meta,
    meter::{MeterFlush, SourceFlush, stored},
    runtime::prelude::*,
};

const HOUR_MS: u64 = 3_600_000;
/// The number of records removed in one transaction, so that other writers do not wait.
const REMOVED_MAX: usize = 1_000;

/// Stores the counts of intervals that are over; at the end all counts.
///
/// # Errors
/// Fails with errors of the store, after which the counts are kept for the next try; with `Closed`
/// if the engine ends meanwhile.
pub fn flush(shared: &Arc<EngineShared>, is_end: bool) -> Result<(), Error> {
    let now_ms = shared.now_ms();
    let _storing = shared.meter.write_lock();
    let taken = Arc::new(shared.meter.take_flush(now_ms, is_end));
    if taken.sources.is_empty() && taken.user_errors == 0 {
        return Ok(());
    }
    let given = Arc::clone(&taken);
    let outcome =
        shared.submit_in_background(move |transaction| Ok(store(transaction, &given, now_ms)?));
    // At the end of the engine the job is committed with the rest of the queue, or lost.
    if outcome
        .as_ref()
        .is_err_and(|error| *error != Error::Store(StoreError::Closed))
    {
        shared.meter.restore(&taken);
    }
    outcome
}

fn store(
    transaction: &mut Transaction<'_>,
    flush: &MeterFlush,
    now_ms: u64,
) -> Result<(), StoreError> {
    if flush.user_errors > 0 {
        let errors = stored::user_errors(transaction.read())? + flush.user_errors;
        transaction.batch.put(
            &StoreKey::Meta(Meta::UserErrors).encode(),
            &errors.to_be_bytes(),
        )?;
    }
    flush
        .sources
        .iter()
        .try_for_each(|of| store_of_source(transaction, of, now_ms))
}

fn store_of_source(
    transaction: &mut Transaction<'_>,
    flush: &SourceFlush,
    now_ms: u64,
) -> Result<(), StoreError> {
    // A table that was dropped meanwhile must leave nothing behind.
    let Some(table) = transaction.table(&flush.table)? else {
        return Ok(());
    };
    let source = flush.source.unwrap_or(table.source);
    if !table.all_sources().any(|of| of == source) {
        return Ok(());
    }
    let since_ms = transaction.shared.started_ms.max(table.created_ms);
    stored::add_total(transaction.batch, source, &flush.sums.total, since_ms)?;
    stored::add(transaction.batch, source, &flush.sums.by_time, now_ms)?;
    stored::add(transaction.batch, source, &flush.heat, now_ms)?;
    stored::add(transaction.batch, source, &flush.access, now_ms)
}

/// Removes, once an hour, records older than a day and records without a table, which an earlier
/// program may have left.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn prune(shared: &Arc<EngineShared>) -> Result<(), Error> {
    let now_ms = shared.now_ms();
    if !shared.prune_due.take_due(now_ms) {
        return Ok(());
    }
    shared
        .prune_due
        .no_later_than(now_ms.saturating_add(HOUR_MS));
    loop {
        let over = expired_keys(shared, now_ms)?;
        let is_all = over.len() < REMOVED_MAX;
        if !over.is_empty() {
            shared.submit_in_background(move |transaction| {
                transaction.mark_removal();
                Ok(over
                    .iter()
                    .try_for_each(|key| transaction.batch.delete(key).map(drop))?)
            })?;
        }
        if is_all {
            return Ok(());
        }
    }
}

/// Returns the keys of records that are no longer read.
fn expired_keys(shared: &EngineShared, now_ms: u64) -> Result<Vec<Vec<u8>>, Error> {
    let view = shared.view()?;
    let next = catalog::next_source(view.read())?;
    let tables = view.tables()?;
    let live: HashSet<SourceId> = tables
        .iter()
        .flat_map(|table| table.all_sources())
        .collect();
    let mut over = Vec::new();
    view.read()
        .walk(&Space::Counted.all(), Direction::Forward, &mut |key, _| {
            let is_over = match StoreKey::parse(key) {
                Some(StoreKey::Counted(source, _, level, start)) => {
                    stored::is_expired(level, start, now_ms)
                        || (source < next && !live.contains(&source))
                }
                _ => {
                    log::warn!("a record of metrics has the unreadable key {}", hex(key));
                    true
                }
            };
            if is_over {
                over.push(key.to_vec());
            }
            continue_if(over.len() < REMOVED_MAX)
        })?;
    Ok(over)
}
