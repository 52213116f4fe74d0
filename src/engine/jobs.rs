//! Background jobs: copies of items and removal of history, piece after piece, gone on with after a restart.
//!
//! A copy reads a source **as of a version** and writes it to another source as it is (a backup, what an export reads) or to a
//! table (a restore). It needs no long read transaction: each piece runs in a write transaction of its own, first over the items,
//! passing over those changed since, then over the history for their old images (see `history`). An item seen twice is the same
//! both times. Where it stands is in its record, written with each piece, so that a restart and even two processes go on right.
//! A job that cannot go on, as on a full disk, has failed (see `fail`): it holds nothing, and what it was to make says why.

mod changes;
mod copy;
mod fail;
mod record;

use std::sync::Arc;

use super::account::{self, RecordKind};
use super::keys::{self, SourceId};
use super::transaction::Transaction;
use super::{Shared, catalog, history, purge};
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::{Error, TableName};

pub use changes::{Change, Changes};
pub use fail::failure_of;
pub use record::{BackupRecord, ExportRecord, ImportRecord, kept_sources};

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Copy(Copy),
    Changes(Changes),
    /// Removes the history of a source up to a version.
    Trim {
        source: SourceId,
        below: Version,
    },
}

/// A copy of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    pub from: From,
    pub to: To,
    pub place: Place,
}

/// Where a copy reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// A table as of a version.
    Table { name: TableName, source: SourceId, bound: Version },
    /// A backup, whole.
    Backup { arn: String, source: SourceId },
}

/// Where a copy writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    Backup { arn: String, source: SourceId },
    Export { arn: String, source: SourceId },
    Table(TableName),
}

/// How far a copy is: strictly after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Items(Option<Vec<u8>>),
    History(Version),
}

/// Nothing comes after the job.
const DONE: Next = Next::Done { job: None, export: None };

/// What is to be done after a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    Again,
    /// With the job that came out of it, and the export whose items are there to be written.
    Done {
        job: Option<u32>,
        export: Option<String>,
    },
}

/// Goes on with every job that an earlier process left.
///
/// # Errors
/// Those of the store.
pub fn resume(shared: &Arc<Shared>) -> Result<(), StoreError> {
    for id in record::job_ids(&*shared.store.snapshot()?)? {
        start(Arc::clone(shared), id);
    }
    super::ops::transfer::resume(shared)
}

/// Runs a job to its end, a piece at a time.
pub fn start(shared: Arc<Shared>, id: u32) {
    let again = Arc::clone(&shared);
    let next = Box::new(move |outcome: Result<Next, Error>| match outcome {
        Ok(Next::Again) => start(again, id),
        Ok(Next::Done { job, export }) => {
            if let Some(arn) = export {
                super::ops::transfer::write_export(&again, arn);
            }
            if let Some(job) = job {
                start(again, job);
            }
        }
        Err(error) => fail::stopped(&again, id, &error),
    });
    shared.submit(move |transaction| piece(transaction, id), next);
}

/// Adds a job; it is to be started after the commit.
///
/// # Errors
/// Those of the store.
pub fn add(transaction: &mut Transaction<'_>, job: &Job) -> Result<u32, StoreError> {
    let id = new_id(transaction)?;
    account::put(transaction.batch, RecordKind::Job, &id.to_string(), &record::job_value(id, job))?;
    Ok(id)
}

/// A number that is never used again.
///
/// # Errors
/// Those of the store.
pub fn new_id(transaction: &mut Transaction<'_>) -> Result<u32, StoreError> {
    let ids = catalog::take_sources(transaction.batch, 1)?;
    ids.first().map(|source| source.0).ok_or(StoreError::Corrupt("source ids are used up"))
}

/// A job begins to read a table: from now on it keeps history.
///
/// # Errors
/// Those of the store.
pub fn hold(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    if let Some(old) = transaction.table(name)? {
        let mut new = (*old).clone();
        new.control.readers += 1;
        catalog::replace_table(transaction, &new)?;
    }
    Ok(())
}

/// A job has read a table. The job that removes the history, if nothing needs it any more.
///
/// # Errors
/// Those of the store.
fn release(transaction: &mut Transaction<'_>, name: &TableName) -> Result<Option<u32>, StoreError> {
    let Some(old) = transaction.table(name)? else { return Ok(None) };
    let mut new = (*old).clone();
    new.control.readers = new.control.readers.saturating_sub(1);
    catalog::replace_table(transaction, &new)?;
    trim(transaction, &new)
}

/// The job that removes a table's history, unless something needs it.
///
/// # Errors
/// Those of the store.
pub fn trim(transaction: &mut Transaction<'_>, table: &catalog::TableEntry) -> Result<Option<u32>, StoreError> {
    if table.control.keeps_history() {
        return Ok(None);
    }
    // What is noted after this has a later version.
    let below = transaction.shared.batch.next_version(transaction.batch.as_read())?;
    add(transaction, &Job::Trim { source: table.source, below }).map(Some)
}

fn piece(transaction: &mut Transaction<'_>, id: u32) -> Result<Next, Error> {
    let name = id.to_string();
    let Some(value) = account::get(transaction.batch.as_read(), RecordKind::Job, &name)? else { return Ok(DONE) };
    match record::job_of(&value)? {
        Job::Copy(copy) => copy::piece(transaction, id, copy),
        Job::Changes(changes) => changes::piece(transaction, id, changes),
        Job::Trim { source, below } => {
            let range = crate::store::KeyRange { upper: history_end(source, below), ..keys::history(source) };
            transaction.removes();
            let keys = transaction.shared.pieces.keys();
            let doomed = purge::first_keys(transaction.batch.as_read(), &range, keys)?;
            for key in &doomed {
                transaction.batch.delete(key)?;
            }
            if doomed.len() == keys {
                transaction.shared.pieces.grow();
                return Ok(Next::Again);
            }
            account::delete(transaction.batch, RecordKind::Job, &name)?;
            Ok(DONE)
        }
    }
}

fn history_end(source: SourceId, below: Version) -> std::ops::Bound<Vec<u8>> {
    std::ops::Bound::Excluded(keys::StoreKey::History(source, below).encode())
}

/// The moment of a table that is now.
///
/// # Errors
/// Those of the store.
pub fn bound_now(transaction: &Transaction<'_>) -> Result<Version, StoreError> {
    Ok(transaction.shared.batch.next_version(transaction.batch.as_read())? - 1)
}

/// The version bound of a table at a time for which it has history.
///
/// # Errors
/// Those of the store.
pub fn bound_at(transaction: &Transaction<'_>, source: SourceId, time_ms: u64) -> Result<Version, StoreError> {
    history::bound_at(transaction.batch.as_read(), source, time_ms, bound_now(transaction)?)
}
