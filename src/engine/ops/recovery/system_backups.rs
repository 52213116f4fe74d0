//! The backup that stays when a table with point-in-time recovery is deleted, for 35 days (developer guide, "Point-in-time recovery").
//!
//! It takes over the items where they are: nothing is copied.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::new_arn;
use crate::engine::account::{self, RecordKind};
use crate::engine::catalog::TableEntry;
use crate::engine::jobs::{self, BackupRecord};
use crate::engine::keys::StoreKey;
use crate::engine::transaction::Transaction;
use crate::engine::{Shared, purge};
use crate::model::Error;
use crate::model::api::backup::BackupStatus;
use crate::model::error::StoreError;
use crate::model::limits::SYSTEM_BACKUP_KEPT_MS;

/// Keeps the items of a table that is being removed, if recovery is on; whether it does.
///
/// # Errors
/// Those of the store.
pub fn keep(transaction: &mut Transaction<'_>, table: &TableEntry) -> Result<bool, StoreError> {
    if table.control.recovery.is_none() {
        return Ok(false);
    }
    let (now_ms, id) = (transaction.now_ms(), jobs::new_id(transaction)?);
    let name = &table.schema.name;
    let record = BackupRecord {
        arn: new_arn(transaction.shared, name, "backup", (now_ms, id)),
        name: format!("{name}$DeletedTableBackup"),
        status: BackupStatus::Available,
        created_ms: now_ms,
        source: table.source,
        items: 0,
        bytes: 0,
        readers: 0,
        is_system: true,
        failure: None,
        table: Arc::new(table.clone()),
    };
    record.put(transaction.batch)?;
    transaction.shared.system_backups_due_ms.fetch_min(expiry(&record), Ordering::AcqRel);
    Ok(true)
}

fn expiry(record: &BackupRecord) -> u64 {
    record.created_ms.saturating_add(SYSTEM_BACKUP_KEPT_MS)
}

/// Removes those whose time is over. Looks at the records only when one may be.
///
/// # Errors
/// Those of the store.
pub fn expire(shared: &Arc<Shared>) -> Result<(), Error> {
    let now_ms = shared.options.clock.now_ms();
    if now_ms < shared.system_backups_due_ms.load(Ordering::Acquire) {
        return Ok(());
    }
    // One that is made meanwhile makes it earlier again.
    shared.system_backups_due_ms.store(u64::MAX, Ordering::Release);
    let (mut over, mut next) = (Vec::new(), u64::MAX);
    account::walk(&*shared.store.snapshot()?, RecordKind::Backup, None, &mut |value| {
        if let Ok(record) = BackupRecord::decode(&value)
            && record.is_system
        {
            match expiry(&record) {
                due if due <= now_ms && record.readers == 0 => over.push(record),
                due => next = next.min(due.max(now_ms + 1)),
            }
        }
        ControlFlow::Continue(())
    })?;
    shared.system_backups_due_ms.fetch_min(next, Ordering::AcqRel);
    for record in over {
        let (arn, source) = (record.arn, record.source);
        let is_removed = shared.submit_in_background(move |transaction| {
            // Somebody may have removed it, or begun to restore from it.
            let found = BackupRecord::get(transaction.batch.as_read(), &arn)?;
            if found.is_none_or(|record| record.readers > 0) {
                return Ok(false);
            }
            transaction.removes();
            account::delete(transaction.batch, RecordKind::Backup, &arn)?;
            transaction.batch.put(&StoreKey::Purge(source).encode(), purge::MARK)?;
            Ok(true)
        })?;
        if is_removed {
            purge::start(Arc::clone(shared), source);
        }
    }
    Ok(())
}
