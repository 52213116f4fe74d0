//! What follows a piece of a job or its end, and what a job holds meanwhile.

use crate::engine::account::job::{CopySource, CopyTarget, Job};
use crate::engine::account::{AccountRecord, BackupRecord, ExportRecord, JobRecord};
use crate::engine::prelude::*;
use crate::engine::runtime::Transaction;
use crate::engine::{history, purge};
use crate::model::api::backup::BackupStatus;
use crate::model::api::common::Failure;
use crate::model::api::transfer::TransferStatus;

/// What is to be done after a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterPiece {
    /// The job has more to do.
    Again,
    Done(Rest),
}

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

/// Adds a job; it is to be started after the commit.
///
/// # Errors
/// Those of the store.
pub fn add(transaction: &mut Transaction<'_>, job: Job) -> Result<u32, StoreError> {
    // A number that is never used again.
    let SourceId(id) = catalog::take_source(transaction.batch)?;
    JobRecord { id, job }.put(transaction.batch, &id.to_string())?;
    Ok(id)
}

/// A job begins to read a table: from now on it keeps history.
///
/// # Errors
/// Those of the store.
pub fn hold(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    if let Some(old) = transaction.table(name)? {
        // Readers are counted: the history goes with the last of them.
        transaction.change_table(&old, |new| new.control.readers += 1)?;
    }
    Ok(())
}

/// A job has read a table. The job that removes the history, if nothing needs it any more.
///
/// # Errors
/// Those of the store.
pub fn release(transaction: &mut Transaction<'_>, name: &TableName) -> Result<Option<u32>, StoreError> {
    let Some(old) = transaction.table(name)? else { return Ok(None) };
    let new = transaction.change_table(&old, |new| new.control.readers = new.control.readers.saturating_sub(1))?;
    trim(transaction, &new)
}

/// The job that removes a table's history, unless something needs it.
///
/// # Errors
/// Those of the store.
pub fn trim(transaction: &mut Transaction<'_>, table: &TableEntry) -> Result<Option<u32>, StoreError> {
    if table.control.keeps_history() {
        return Ok(None);
    }
    // What is noted after this has a later version.
    let below = transaction.next_version()?;
    add(transaction, Job::Trim { source: table.source, below }).map(Some)
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
pub fn bound_at(transaction: &Transaction<'_>, source: SourceId, time_ms: u64) -> Result<Version, StoreError> {
    history::bound_at(transaction.read(), source, time_ms, bound_now(transaction)?)
}

// The end of a job that cannot go on: what it held is let go, and what it was to make says why.
//
// All of it is a removal, so that it has room on a full disk, which is what stops most jobs.

/// `FailureCode` of a job that found the disk full.
const DISK_FULL: &str = "DiskFull";
/// `FailureCode` of everything else.
const OTHER: &str = "InternalServerError";

/// What is told of a job that an error ended.
#[must_use]
pub fn failure_of(error: &Error) -> Failure {
    let code = if matches!(error, Error::Store(StoreError::NoSpace)) { DISK_FULL } else { OTHER };
    Failure { code: code.to_owned(), message: error.to_string() }
}

/// Ends a job that cannot go on.
///
/// # Errors
/// Those of the store.
pub fn end(transaction: &mut Transaction<'_>, id: u32, failure: &Failure) -> Result<AfterPiece, Error> {
    transaction.removes();
    let name = id.to_string();
    let nothing = AfterPiece::Done(Rest::default());
    let Some(record) = JobRecord::get(transaction.read(), &name)? else { return Ok(nothing) };
    let (job, removal) = match record.job {
        Job::Trim { .. } if failure.code == DISK_FULL => return Ok(AfterPiece::Again),
        Job::Trim { .. } => return Ok(nothing),
        Job::Copy(copy) => (let_go(transaction, &copy.from)?, fail_target(transaction, &copy.to, failure)?),
        Job::Changes(of) => (release(transaction, &of.table)?, Some(fail_export(transaction, &of.arn, of.into, failure)?)),
    };
    JobRecord::delete(transaction.batch, &name)?;
    Ok(AfterPiece::Done(Rest { job, export: None, removal }))
}

/// What a copy read is free again.
pub(super) fn let_go(transaction: &mut Transaction<'_>, from: &CopySource) -> Result<Option<u32>, StoreError> {
    match from {
        CopySource::Table { name, .. } => release(transaction, name),
        CopySource::Backup { arn, .. } => {
            BackupRecord::change(transaction.batch, arn, |record| record.readers = record.readers.saturating_sub(1))?;
            Ok(None)
        }
    }
}

/// What a copy was to make has failed; the copied items that are to be removed.
fn fail_target(transaction: &mut Transaction<'_>, to: &CopyTarget, failure: &Failure) -> Result<Option<SourceId>, StoreError> {
    match to {
        CopyTarget::Backup { arn, source } => {
            BackupRecord::change(transaction.batch, arn, |record| {
                record.status = BackupStatus::Failed;
                record.failure = Some(failure.clone());
                (record.items, record.bytes) = (0, 0);
            })?;
            purge::mark(transaction, *source).map(|()| Some(*source))
        }
        CopyTarget::Export { arn, source } => fail_export(transaction, arn, *source, failure).map(Some),
        CopyTarget::Table { name } => fail_restore(transaction, name, failure).map(|()| None),
    }
}

fn fail_export(transaction: &mut Transaction<'_>, arn: &str, source: SourceId, failure: &Failure) -> Result<SourceId, StoreError> {
    let now_ms = transaction.now_ms();
    ExportRecord::change(transaction.batch, arn, |record| {
        record.export.status = TransferStatus::Failed;
        record.export.end_ms = Some(now_ms);
        record.export.failure = Some(failure.clone());
    })?;
    purge::mark(transaction, source).map(|()| source)
}

fn fail_restore(transaction: &mut Transaction<'_>, name: &TableName, failure: &Failure) -> Result<(), StoreError> {
    let Some(old) = transaction.table(name)? else { return Ok(()) };
    let failed = |new: &mut TableEntry| {
        if let Some(restored) = &mut new.control.restored {
            restored.is_in_progress = false;
            restored.failure = Some(failure.clone());
        }
    };
    transaction.change_table(&old, failed).map(drop)
}
