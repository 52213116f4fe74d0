//! The end of a job that cannot go on: what it held is let go, and what it was to make says why.
//!
//! All of it is a removal, so that it has room on a full disk, which is what stops most jobs.

use super::after_piece::{AfterPiece, Rest};
use super::table_hold::release;
use crate::engine::account::job::{CopySource, CopyTarget, Job};
use crate::engine::account::{AccountRecord, BackupRecord, ExportRecord, JobRecord};
use crate::engine::base::keys::SourceId;
use crate::engine::catalog::TableEntry;
use crate::engine::purge;
use crate::engine::runtime::Transaction;
use crate::model::api::backup::BackupStatus;
use crate::model::api::common::Failure;
use crate::model::api::transfer::TransferStatus;
use crate::model::error::StoreError;
use crate::model::{Error, TableName};

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
