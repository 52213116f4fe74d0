//! Deferred deletion: the data of dropped tables and of dropped lists of expiries is removed in the
//! background, in batches, continued after a restart.
//!
//! A dropped source has a purge key from the commit that dropped it until its last entry is
//! removed. Nothing refers to the source any more, so its data cannot be seen.

use std::time::Duration;

use super::runtime::prelude::*;
use crate::model::api::Completion;

/// The value of a purge key.
const MARK: &[u8] = &[1];

/// The number of keys of dropped sources that are removed in the transaction that drops them: a
/// small table needs one commit and no background work.
const KEYS_AT_ONCE: usize = 128;

/// The delay after which a failed removal is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Starts the removal of every source that an earlier process left.
pub fn resume(shared: &Arc<EngineShared>) -> Result<(), StoreError> {
    start_all(shared, pending(&*shared.store.snapshot()?)?);
    Ok(())
}

/// Returns the sources that are being removed.
pub fn pending(read: &dyn Read) -> Result<Vec<SourceId>, StoreError> {
    let mut sources = Vec::new();
    walks::each(read, &Space::Purge.all(), |key, _| {
        sources.extend(keys::parse_source(key));
        Ok(())
    })?;
    Ok(sources)
}

/// Marks the data of a source for removal. After the commit, [`start`] removes it; if the process
/// ends before that, the next open does.
pub fn mark(transaction: &mut Transaction<'_>, source: SourceId) -> Result<(), StoreError> {
    transaction
        .batch
        .put(&StoreKey::Purge(source).encode(), MARK)
}

/// Starts the removal of several sources.
pub fn start_all(shared: &Arc<EngineShared>, sources: impl IntoIterator<Item = SourceId>) {
    sources
        .into_iter()
        .for_each(|source| start(Arc::clone(shared), source));
}

/// Removes the data of a marked source in batches; no request waits for it.
pub fn start(shared: Arc<EngineShared>, source: SourceId) {
    let shared_clone = Arc::clone(&shared);
    let next = Completion::detached(move |outcome: Result<bool, Error>| match outcome {
        Ok(true) => {
            shared_clone.batch_size.grow();
            start(shared_clone, source);
        }
        Ok(false) => {}
        Err(Error::Store(StoreError::NoSpace)) if shared_clone.batch_size.halve() => {
            start(shared_clone, source)
        }
        Err(Error::Store(StoreError::Closed)) => {
            log::debug!("removal of source {} waits for the next open", source.0)
        }
        Err(error) => {
            log::warn!("removal of a dropped table failed and is retried: {error}");
            retry_later(&shared_clone, move |shared| {
                start(Arc::clone(shared), source)
            });
        }
    });
    shared.submit(
        move |transaction| Ok(remove_batch(transaction, source)?),
        next,
    );
}

/// Continues after a delay: a full disk may have space then. If the process ends before, the next
/// open continues.
pub fn retry_later(
    shared: &Arc<EngineShared>,
    retry: impl FnOnce(&Arc<EngineShared>) + Send + 'static,
) {
    // The waiting thread must not keep a store open that all other users have closed.
    let shared = Arc::downgrade(shared);
    let wait = move || {
        std::thread::sleep(RETRY_DELAY);
        if let Some(shared) = shared.upgrade() {
            retry(&shared);
        }
    };
    if let Err(error) = std::thread::Builder::new()
        .name("engine-removal".to_owned())
        .spawn(wait)
    {
        log::warn!("background work is put off until the store is opened again: {error}");
    }
}

/// Removes small sources that this transaction drops; returns the sources with data left.
pub fn remove_small(
    transaction: &mut Transaction<'_>,
    sources: Vec<SourceId>,
) -> Result<Vec<SourceId>, StoreError> {
    let (mut left, mut large) = (KEYS_AT_ONCE, Vec::new());
    for source in sources {
        // The counters that other jobs of this transaction change are written at its end.
        if transaction.shared.batch.has_counters(source)
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

fn remove_batch(transaction: &mut Transaction<'_>, source: SourceId) -> Result<bool, StoreError> {
    if remove_step(transaction, source)? {
        return Ok(true);
    }
    transaction
        .batch
        .delete(&StoreKey::Purge(source).encode())?;
    Ok(false)
}

/// Removes some data of a source; returns true if more is left.
pub(super) fn remove_step(
    transaction: &mut Transaction<'_>,
    source: SourceId,
) -> Result<bool, StoreError> {
    transaction.mark_removal();
    // One limit for keys of all kinds together: the store is copy-on-write, and each removed key
    // may be on another page that is copied.
    let mut left = transaction.shared.batch_size.keys();
    remove_up_to(transaction, source, &mut left)
}

/// Removes at most `remaining` keys and subtracts them from it; returns true if more may be left.
fn remove_up_to(
    transaction: &mut Transaction<'_>,
    source: SourceId,
    remaining: &mut usize,
) -> Result<bool, StoreError> {
    let lists = [
        Space::Expiry,
        Space::History,
        Space::Violation,
        Space::Pending,
        Space::Trash,
        Space::Counted,
    ];
    for space in [Space::Entry, Space::Collection].into_iter().chain(lists) {
        *remaining -= walks::delete_first(transaction.batch, &space.range(source), *remaining)?;
        if *remaining == 0 {
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
