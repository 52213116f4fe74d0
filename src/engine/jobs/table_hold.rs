//! What a job does to the table that it reads: the table keeps history meanwhile, and the history goes with its last reader.

use crate::engine::account::job::Job;
use crate::engine::account::{AccountRecord, JobRecord};
use crate::engine::base::keys::SourceId;
use crate::engine::catalog::{self, TableEntry};
use crate::engine::history;
use crate::engine::runtime::Transaction;
use crate::model::TableName;
use crate::model::api::Version;
use crate::model::error::StoreError;

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
