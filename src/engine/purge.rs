//! Removal of what dropped tables and lists of expiries left: in the background, in pieces, gone on with after a restart.
//!
//! A dropped source has a purge key from the commit that dropped it until its last entry is gone. Nothing refers to it any more, so
//! nothing sees it.

use std::time::Duration;

use super::runtime::prelude::*;
use crate::model::api::Done;

/// The value of a purge key.
const MARK: &[u8] = &[1];

/// So many keys of dropped sources are removed with the transaction that drops them: one commit then, and nothing behind it.
const KEYS_AT_ONCE: usize = 128;

/// How long a failed removal waits.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Starts the removal of every source that an earlier process left.
///
/// # Errors
/// Those of the store.
pub fn resume(shared: &Arc<Shared>) -> Result<(), StoreError> {
    start_all(shared, pending(&*shared.store.snapshot()?)?);
    Ok(())
}

/// The sources that are being removed.
///
/// # Errors
/// Those of the store.
pub fn pending(read: &dyn Read) -> Result<Vec<SourceId>, StoreError> {
    let mut sources = Vec::new();
    walks::each(read, &Space::Purge.all(), |key, _| {
        sources.extend(keys::source_of(key));
        Ok(())
    })?;
    Ok(sources)
}

/// Marks what is stored under a source as to be removed. What is marked is removed by [`start`], after the commit; should the
/// process end before it, by the next open.
///
/// # Errors
/// Those of the store.
pub fn mark(transaction: &mut Transaction<'_>, source: SourceId) -> Result<(), StoreError> {
    transaction
        .batch
        .put(&StoreKey::Purge(source).encode(), MARK)
}

/// Starts the removal of several sources.
pub fn start_all(shared: &Arc<Shared>, sources: impl IntoIterator<Item = SourceId>) {
    sources
        .into_iter()
        .for_each(|source| start(Arc::clone(shared), source));
}

/// Removes what is stored under a marked source, a piece at a time; nobody waits for it.
pub fn start(shared: Arc<Shared>, source: SourceId) {
    let again = Arc::clone(&shared);
    let next = Done::of(move |outcome: Result<bool, Error>| match outcome {
        Ok(true) => {
            again.pieces.grow();
            start(again, source);
        }
        Ok(false) => {}
        Err(Error::Store(StoreError::NoSpace)) if again.pieces.halve() => start(again, source),
        Err(Error::Store(StoreError::Closed)) => {
            log::debug!("removal of source {} waits for the next open", source.0)
        }
        Err(error) => {
            log::warn!("removal of a dropped table failed and is tried again: {error}");
            later(&again, move |shared| start(Arc::clone(shared), source));
        }
    });
    shared.submit(
        move |transaction| Ok(remove_piece(transaction, source)?),
        next,
    );
}

/// Goes on after a while: on a full disk there may be room then. Should the process end before, the next open goes on.
pub fn later(shared: &Arc<Shared>, go_on: impl FnOnce(&Arc<Shared>) + Send + 'static) {
    // The wait must not keep a store open that everybody else has let go.
    let shared = Arc::downgrade(shared);
    let wait = move || {
        std::thread::sleep(RETRY_DELAY);
        if let Some(shared) = shared.upgrade() {
            go_on(&shared);
        }
    };
    if let Err(error) = std::thread::Builder::new()
        .name("engine-removal".to_owned())
        .spawn(wait)
    {
        log::warn!("background work waits for the next open: {error}");
    }
}

/// Removes what is small of the sources that this transaction drops; those of which more may be left.
///
/// # Errors
/// Those of the store.
pub fn remove_small(
    transaction: &mut Transaction<'_>,
    sources: Vec<SourceId>,
) -> Result<Vec<SourceId>, StoreError> {
    let (mut left, mut large) = (KEYS_AT_ONCE, Vec::new());
    for source in sources {
        // What other jobs of this transaction count is written at its end.
        if transaction.shared.batch.is_counted(source)
            || remove_up_to(transaction, source, &mut left)?
        {
            large.push(source);
        } else {
            transaction
                .batch
                .delete(&StoreKey::Purge(source).encode())?;
        }
    }
    Ok(large)
}

fn remove_piece(transaction: &mut Transaction<'_>, source: SourceId) -> Result<bool, StoreError> {
    if remove_some(transaction, source)? {
        return Ok(true);
    }
    transaction
        .batch
        .delete(&StoreKey::Purge(source).encode())?;
    Ok(false)
}

/// Removes some of a source; whether more is left.
///
/// # Errors
/// Those of the store.
pub(super) fn remove_some(
    transaction: &mut Transaction<'_>,
    source: SourceId,
) -> Result<bool, StoreError> {
    transaction.removes();
    // As many keys as a transaction may touch, whatever they are: each may be a page that is written anew.
    let mut left = transaction.shared.pieces.keys();
    remove_up_to(transaction, source, &mut left)
}

/// Removes at most `left` keys, and takes them from it; whether more may be left.
fn remove_up_to(
    transaction: &mut Transaction<'_>,
    source: SourceId,
    left: &mut usize,
) -> Result<bool, StoreError> {
    let lists = [
        Space::Expiry,
        Space::History,
        Space::Violation,
        Space::Pending,
        Space::Parked,
        Space::Counted,
    ];
    for space in [Space::Entry, Space::Collection].into_iter().chain(lists) {
        *left -= walks::delete_first(transaction.batch, &space.of(source), *left)?;
        if *left == 0 {
            return Ok(true);
        }
    }
    transaction
        .batch
        .delete(&StoreKey::Counters(source).encode())?;
    transaction
        .batch
        .delete(&StoreKey::Partitions(source).encode())?;
    Ok(false)
}
