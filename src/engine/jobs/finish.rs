//! The begin and end of a background job (see `engine::jobs`): the resources that it holds
//! meanwhile (history, sources), their release, and the follow-up work.

use crate::engine::{
    account::{
        AccountRecord, BackupRecord, ExportRecord, JobRecord,
        job::{ChangesJob, CopyJob, CopySource, CopyTarget, Job},
    },
    history, purge,
    runtime::prelude::*,
};
use crate::model::api::{backup::BackupStatus, common::JobFailure};

/// The follow-up work of a finished job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FollowUp {
    /// A job to start.
    pub job: Option<u32>,
    /// An export with copied items, to be written to files.
    pub export: Option<String>,
    /// A source marked for removal.
    pub removal: Option<SourceId>,
}

// A job counts as a reader of its table: the table keeps history until its last reader ends.

/// Adds a job, which from now on counts as a reader of its source; the caller starts it after the
/// commit.
pub fn add(transaction: &mut Transaction<'_>, job: Job) -> Result<u32, StoreError> {
    match &job {
        Job::Copy(CopyJob {
            from: CopySource::Table { name, .. },
            ..
        })
        | Job::Changes(ChangesJob { table: name, .. }) => {
            if let Some(old) = transaction.table(name)? {
                // Readers are counted: the history is removed with the last of them.
                transaction.change_table(&old, |new| new.control.readers += 1)?;
            }
        }
        Job::Copy(CopyJob {
            from: CopySource::Backup { arn, .. },
            ..
        }) => {
            BackupRecord::change(transaction.batch, arn, |record| record.readers += 1)?;
        }
        Job::Trim { .. } => {}
    }
    // A number that is never used again.
    let SourceId(id) = catalog::allocate_source(transaction.batch)?;
    JobRecord { id, job }.put(transaction.batch, &id.to_string())?;
    Ok(id)
}

/// Releases a table that a job has read. Returns the job that removes the history, if no reader is
/// left.
pub fn release(
    transaction: &mut Transaction<'_>,
    name: &TableName,
) -> Result<Option<u32>, StoreError> {
    let Some(old) = transaction.table(name)? else {
        return Ok(None);
    };
    let new = transaction.change_table(&old, |new| {
        new.control.readers = new.control.readers.saturating_sub(1)
    })?;
    trim(transaction, &new)
}

/// Adds the job that removes a table's history, unless the history is still needed.
pub fn trim(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
) -> Result<Option<u32>, StoreError> {
    if table.control.keeps_history() {
        return Ok(None);
    }
    // History written after this has a later version.
    let below = transaction.next_version()?;
    add(
        transaction,
        Job::Trim {
            source: table.source,
            below,
        },
    )
    .map(Some)
}

/// Returns the version bound of the present state.
pub fn current_bound(transaction: &Transaction<'_>) -> Result<Version, StoreError> {
    Ok(transaction.next_version()? - 1)
}

/// Returns the version bound of a table at a time for which it has history.
pub fn bound_at(
    transaction: &Transaction<'_>,
    source: SourceId,
    time_ms: u64,
) -> Result<Version, StoreError> {
    history::bound_at(
        transaction.read(),
        source,
        time_ms,
        current_bound(transaction)?,
    )
}

// A failed job ends with deletions only, so that it needs no space on a full disk, which is the
// usual reason for failure.

/// `FailureCode` of a job that found the disk full.
const DISK_FULL: &str = "DiskFull";
/// `FailureCode` of every other failure.
const INTERNAL_ERROR: &str = "InternalServerError";

/// Returns the failure of a job that ended with `error`.
#[must_use]
pub fn to_failure(error: &Error) -> JobFailure {
    let code = if matches!(error, Error::Store(StoreError::NoSpace)) {
        DISK_FULL
    } else {
        INTERNAL_ERROR
    };
    JobFailure {
        code: code.to_owned(),
        message: error.to_string(),
    }
}

/// Ends a job that cannot go on; returns `None` if it must be tried again.
pub fn give_up(
    transaction: &mut Transaction<'_>,
    id: u32,
    failure: &JobFailure,
) -> Result<Option<FollowUp>, Error> {
    transaction.mark_removal();
    match JobRecord::get(transaction.read(), &id.to_string())?.map(|record| record.job) {
        Some(Job::Trim { .. }) if failure.code == DISK_FULL => Ok(None),
        Some(Job::Trim { .. }) | None => Ok(Some(FollowUp::default())),
        Some(job) => end(transaction, id, job, Some(failure)).map(Some),
    }
}

/// Ends a job: it releases its source, and its target is complete or has the failure.
pub fn end(
    transaction: &mut Transaction<'_>,
    id: u32,
    job: Job,
    failure: Option<&JobFailure>,
) -> Result<FollowUp, Error> {
    JobRecord::delete(transaction.batch, &id.to_string())?;
    let (from, to) = match job {
        Job::Copy(copy) => (copy.from, copy.to),
        Job::Changes(ChangesJob {
            arn,
            table: name,
            source,
            into,
            until: bound,
            ..
        }) => (
            CopySource::Table {
                name,
                source,
                bound,
            },
            CopyTarget::Export { arn, source: into },
        ),
        Job::Trim { .. } => return Ok(FollowUp::default()),
    };
    let job = match &from {
        CopySource::Table { name, .. } => release(transaction, name)?,
        CopySource::Backup { arn, .. } => {
            BackupRecord::change(transaction.batch, arn, |record| {
                record.readers = record.readers.saturating_sub(1)
            })?;
            None
        }
    };
    let rest = FollowUp {
        job,
        ..end_target(transaction, to, failure)?
    };
    rest.removal
        .map_or(Ok(()), |source| purge::mark(transaction, source))?;
    Ok(rest)
}

/// Completes the target of a copy, or sets its failure; returns the follow-up work.
fn end_target(
    transaction: &mut Transaction<'_>,
    target: CopyTarget,
    failure: Option<&JobFailure>,
) -> Result<FollowUp, StoreError> {
    let (now_ms, mut follow_up) = (transaction.now_ms(), FollowUp::default());
    match target {
        CopyTarget::Backup { arn, source } => {
            follow_up.removal = failure.map(|_| source);
            BackupRecord::change(transaction.batch, &arn, |record| match failure {
                None => record.status = BackupStatus::Available,
                Some(failure) => {
                    (record.status, record.failure) = (BackupStatus::Failed, Some(failure.clone()));
                    (record.items, record.bytes) = (0, 0);
                }
            })?;
        }
        CopyTarget::Export { arn, source } => {
            follow_up.removal = failure.map(|_| source);
            ExportRecord::change(transaction.batch, &arn, |record| match failure {
                None => record.is_copied = true,
                Some(failure) => record.finish(now_ms, Some(failure.clone())),
            })?;
            follow_up.export = failure.is_none().then_some(arn);
        }
        CopyTarget::Table { name } => {
            let Some(old) = transaction.table(&name)? else {
                return Ok(follow_up);
            };
            transaction.change_table(&old, |new| {
                if failure.is_none() {
                    new.status = TableStatus::Active;
                }
                if let Some(restored) = &mut new.control.restored {
                    restored.is_in_progress = false;
                    restored.failure = failure.cloned().or(restored.failure.take());
                }
            })?;
        }
    }
    Ok(follow_up)
}
