//! The reaper of expired data: it deletes items after their time to live, and expired backups of
//! deleted tables. One of the rounds of `engine::background`; the list of expiries is in
//! `engine::time_to_live`.

use crate::engine::{
    account::{AccountRecord, BackupRecord},
    catalog::ExpiryList,
    purge,
    runtime::prelude::*,
    time_to_live::{self, expiring_item, list_expiries},
    write::{self, condition::StoredItem},
};
use crate::model::{
    api::{ChangeOrigin, TimeToLiveStatus},
    limits::TTL_PAST_MS_MAX,
};

/// The number of items deleted in one transaction, so that other writers do not wait.
const ITEMS_PER_JOB: usize = 100;

/// Builds the lists that are not built yet and deletes every expired item.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn sweep(shared: &Arc<EngineShared>) -> Result<(), Error> {
    for ExpiryWork { name, unbuilt } in pending_work(shared)? {
        if let Some(list) = unbuilt {
            time_to_live::build_list(shared, &name, list.id)?;
        }
        expire(shared, &name)?;
    }
    Ok(())
}

/// A table with expired items or an unbuilt list.
struct ExpiryWork {
    name: TableName,
    /// The list to build first.
    unbuilt: Option<ExpiryList>,
}

/// Returns the tables with work, from a view that is closed before the work begins.
fn pending_work(shared: &EngineShared) -> Result<Vec<ExpiryWork>, Error> {
    let view = shared.view()?;
    let mut work = Vec::new();
    for name in shared.expiring_tables.names(view.read(), &shared.catalog)? {
        let Some(table) = view.table(&name)? else {
            continue;
        };
        match table.expiry_list() {
            Some(list) if !list.is_built => work.push(ExpiryWork {
                name,
                unbuilt: Some(list),
            }),
            Some(_) if !due_items(view.read(), shared, &table, 1)?.is_empty() => {
                work.push(ExpiryWork {
                    name,
                    unbuilt: None,
                })
            }
            _ => {}
        }
    }
    Ok(work)
}

/// The expiry time and the place of an item.
type DueItem = (u64, Vec<u8>);

/// Returns the first expired items of the list.
fn due_items(
    read: &dyn Read,
    shared: &EngineShared,
    table: &TableEntry,
    count: usize,
) -> Result<Vec<DueItem>, StoreError> {
    let now_ms = shared.now_ms();
    let Some((time_to_live, list)) = table.time_to_live.as_ref().zip(table.expiry_list()) else {
        return Ok(Vec::new());
    };
    if time_to_live.status(now_ms, shared.options.ttl_transition_ms) != TimeToLiveStatus::Enabled {
        return Ok(Vec::new());
    }
    // Later than five years ago, and earlier than now: an older time is taken for a mistake.
    let from_ms = now_ms
        .checked_sub(TTL_PAST_MS_MAX)
        .map_or(0, |past| past + 1);
    list_expiries(read, list.id, from_ms, now_ms, count)
}

fn expire(shared: &Arc<EngineShared>, name: &TableName) -> Result<(), Error> {
    loop {
        let of_job = name.clone();
        let (expired, goes_on) =
            shared.submit_in_background(move |transaction| expire_batch(transaction, &of_job))?;
        if expired > 0 {
            shared
                .meter
                .table(name)
                .lock()
                .counts(shared.now_ms())
                .time_to_live_deleted += expired;
        }
        if !goes_on {
            return Ok(());
        }
    }
}

/// Deletes a batch of items; returns their number, and whether there may be more.
fn expire_batch(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(u64, bool), Error> {
    let Ok(table) = catalog::require_active(transaction.table(name)?) else {
        return Ok((0, false));
    };
    let due = due_items(
        transaction.read(),
        transaction.shared,
        &table,
        ITEMS_PER_JOB,
    )?;
    // The origin marks the deletes in stream records; they consume no capacity, as in the service.
    transaction.origin = ChangeOrigin::TimeToLive;
    transaction.charges.is_off = true;
    let mut expired = 0;
    for (ms, place) in &due {
        expired += u64::from(expire_item(transaction, &table, *ms, place)?);
    }
    Ok((expired, due.len() == ITEMS_PER_JOB))
}

/// Deletes an expired item; returns true if there was one.
fn expire_item(
    transaction: &mut Transaction<'_>,
    table: &Arc<TableEntry>,
    ms: u64,
    place: &[u8],
) -> Result<bool, Error> {
    match expiring_item(transaction.read(), table, ms, place) {
        Ok(Some(key)) => {
            let stored = StoredItem::read(transaction.read(), table, key)?;
            write::replace(transaction, &stored, None).map(|_| true)
        }
        // The expiry is removed in both cases, because it would block others forever. `check`
        // reports damaged items.
        Ok(None) => drop_expiry(transaction, table, ms, place),
        Err(error) if error.is_corrupt() => {
            log::error!("an item does not expire: {error}");
            drop_expiry(transaction, table, ms, place)
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes an entry of the expiry list that has no item to delete; returns false.
fn drop_expiry(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    ms: u64,
    place: &[u8],
) -> Result<bool, Error> {
    if let Some(list) = table.expiry_list() {
        transaction
            .batch
            .delete(&StoreKey::Expiry(list.id, ms, place).encode())?;
    }
    Ok(false)
}

// The end of system backups, which remain when a table with point-in-time recovery is deleted:
// after 35 days (developer guide, "Point-in-time recovery"). `table_states` makes them.

/// Removes expired backups. Reads the records only if one may have expired.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn expire_backups(shared: &Arc<EngineShared>) -> Result<(), Error> {
    let now_ms = shared.now_ms();
    if !shared.system_backups_due.take_due(now_ms) {
        return Ok(());
    }
    let (mut over, mut next) = (Vec::new(), u64::MAX);
    BackupRecord::each(&*shared.store.snapshot()?, |record| {
        // An unreadable record stays.
        if let Ok(record) = record
            && record.is_system
        {
            match record.expires_ms() {
                due if due <= now_ms && record.readers == 0 => over.push(record),
                due => next = next.min(due.max(now_ms + 1)),
            }
        }
        Ok(())
    })?;
    shared.system_backups_due.no_later_than(next);
    // One by one, outside the walk: each removal is a write of its own, and the snapshot is
    // released.
    for record in over {
        let (arn, source) = (record.arn, record.source);
        let is_removed = shared.submit_in_background(move |transaction| {
            // Another process may have removed it, or begun to restore from it.
            let found = BackupRecord::get(transaction.read(), &arn)?;
            if found.is_none_or(|record| record.readers > 0) {
                return Ok(false);
            }
            transaction.mark_removal();
            BackupRecord::delete(transaction.batch, &arn)?;
            purge::mark(transaction, source)?;
            Ok(true)
        })?;
        if is_removed {
            purge::start(Arc::clone(shared), source);
        }
    }
    Ok(())
}
