//! The end of backups that stay when a table with point-in-time recovery is deleted: after 35 days (developer guide, "Point-in-time
//! recovery"). `table_states` makes them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::account::{AccountRecord, BackupRecord};
use crate::engine::purge;
use crate::engine::runtime::Shared;
use crate::model::Error;

/// Removes those whose time is over. Looks at the records only when one may be.
///
/// # Errors
/// Those of the store; `Closed` when the engine ends meanwhile.
pub fn expire(shared: &Arc<Shared>) -> Result<(), Error> {
    let now_ms = shared.now_ms();
    if now_ms < shared.system_backups_due_ms.load(Ordering::Acquire) {
        return Ok(());
    }
    // One that is made meanwhile makes it earlier again.
    shared.system_backups_due_ms.store(u64::MAX, Ordering::Release);
    let (mut over, mut next) = (Vec::new(), u64::MAX);
    BackupRecord::walk(&*shared.store.snapshot()?, None, &mut |record| {
        if let Ok(record) = record
            && record.is_system
        {
            match record.kept_until_ms() {
                due if due <= now_ms && record.readers == 0 => over.push(record),
                due => next = next.min(due.max(now_ms + 1)),
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    shared.system_backups_due_ms.fetch_min(next, Ordering::AcqRel);
    // One by one, outside the walk: each is a write of its own, and the snapshot is let go.
    for record in over {
        let (arn, source) = (record.arn, record.source);
        let is_removed = shared.submit_in_background(move |transaction| {
            // Somebody may have removed it, or begun to restore from it.
            let found = BackupRecord::get(transaction.read(), &arn)?;
            if found.is_none_or(|record| record.readers > 0) {
                return Ok(false);
            }
            transaction.removes();
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
