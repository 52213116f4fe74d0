//! What follows a piece of a job or its end, and what a job holds meanwhile.

use crate::engine::{
    account::{
        AccountRecord, BackupRecord, ExportRecord, JobRecord,
        job::{ChangesJob, CopyJob, CopySource, CopyTarget, Job},
    },
    history, purge,
    runtime::prelude::*,
};
use crate::model::api::{backup::BackupStatus, common::Failure};

/// What is left to do when a job is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rest {
    /// The job that came out of it.
    pub job: Option<u32>,
    /// The export whose items are there to be written.
    pub export: Option<String>,
    /// A marked source.
    pub removal: Option<SourceId>,
}

// What a job does to the table that it reads: the table keeps history meanwhile, and the history goes with its last reader.

/// Adds a job, which holds what it reads from now on; it is to be started after the commit.
///
/// # Errors
/// Those of the store.
pub fn add(transaction: &mut Transaction<'_>, job: Job) -> Result<u32, StoreError> {
    match &job {
        Job::Copy(CopyJob {
            from: CopySource::Table { name, .. },
            ..
        })
        | Job::Changes(ChangesJob { table: name, .. }) => {
            if let Some(old) = transaction.table(name)? {
                // Readers are counted: the history goes with the last of them.
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
    let SourceId(id) = catalog::take_source(transaction.batch)?;
    JobRecord { id, job }.put(transaction.batch, &id.to_string())?;
    Ok(id)
}

/// A job has read a table. The job that removes the history, if nothing needs it any more.
///
/// # Errors
/// Those of the store.
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

/// The job that removes a table's history, unless something needs it.
///
/// # Errors
/// Those of the store.
pub fn trim(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
) -> Result<Option<u32>, StoreError> {
    if table.control.keeps_history() {
        return Ok(None);
    }
    // What is noted after this has a later version.
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

/// The moment of a table that is now.
///
/// # Errors
/// Those of the store.
pub fn bound_now(transaction: &Transaction<'_>) -> Result<Version, StoreError> {
    Ok(transaction.next_version()? - 1)
}

/// The version bound of a table at a time for which it has history.
///
/// # Errors
/// Those of the store.
pub fn bound_at(
    transaction: &Transaction<'_>,
    source: SourceId,
    time_ms: u64,
) -> Result<Version, StoreError> {
    history::bound_at(transaction.read(), source, time_ms, bound_now(transaction)?)
}

// A job that cannot go on: all of its end is a removal, so that it has room on a full disk, which is what stops most jobs.

/// `FailureCode` of a job that found the disk full.
const DISK_FULL: &str = "DiskFull";
/// `FailureCode` of everything else.
const OTHER: &str = "InternalServerError";

/// What is told of a job that an error ended.
#[must_use]
pub fn failure_of(error: &Error) -> Failure {
    let code = if matches!(error, Error::Store(StoreError::NoSpace)) {
        DISK_FULL
    } else {
        OTHER
    };
    Failure {
        code: code.to_owned(),
        message: error.to_string(),
    }
}

/// Ends a job that cannot go on; `None` when it is to be tried again.
///
/// # Errors
/// Those of the store.
pub fn give_up(
    transaction: &mut Transaction<'_>,
    id: u32,
    failure: &Failure,
) -> Result<Option<Rest>, Error> {
    transaction.removes();
    match JobRecord::get(transaction.read(), &id.to_string())?.map(|record| record.job) {
        Some(Job::Trim { .. }) if failure.code == DISK_FULL => Ok(None),
        Some(Job::Trim { .. }) | None => Ok(Some(Rest::default())),
        Some(job) => end(transaction, id, job, Some(failure)).map(Some),
    }
}

/// Ends a job: it holds nothing any more, and what it was to make is there or says why not.
///
/// # Errors
/// Those of the store.
pub fn end(
    transaction: &mut Transaction<'_>,
    id: u32,
    job: Job,
    failure: Option<&Failure>,
) -> Result<Rest, Error> {
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
        Job::Trim { .. } => return Ok(Rest::default()),
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
    let rest = Rest {
        job,
        ..end_target(transaction, to, failure)?
    };
    rest.removal
        .map_or(Ok(()), |source| purge::mark(transaction, source))?;
    Ok(rest)
}

/// Ends what a copy was to make; what follows.
fn end_target(
    transaction: &mut Transaction<'_>,
    to: CopyTarget,
    failure: Option<&Failure>,
) -> Result<Rest, StoreError> {
    let (now_ms, mut rest) = (transaction.now_ms(), Rest::default());
    match to {
        CopyTarget::Backup { arn, source } => {
            rest.removal = failure.map(|_| source);
            BackupRecord::change(transaction.batch, &arn, |record| match failure {
                None => record.status = BackupStatus::Available,
                Some(failure) => {
                    (record.status, record.failure) = (BackupStatus::Failed, Some(failure.clone()));
                    (record.items, record.bytes) = (0, 0);
                }
            })?;
        }
        CopyTarget::Export { arn, source } => {
            rest.removal = failure.map(|_| source);
            ExportRecord::change(transaction.batch, &arn, |record| match failure {
                None => record.is_copied = true,
                Some(failure) => record.end(now_ms, Some(failure.clone())),
            })?;
            rest.export = failure.is_none().then_some(arn);
        }
        CopyTarget::Table { name } => {
            let Some(old) = transaction.table(&name)? else {
                return Ok(rest);
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
    Ok(rest)
}
