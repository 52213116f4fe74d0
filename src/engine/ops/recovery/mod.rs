//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).
//!
//! A backup is the table as of the commit of CreateBackup, a restored table that of the chosen moment, to the millisecond; both are
//! copied in the background, see `engine::jobs`. There is no margin: the latest restorable time is now.

mod backups;
mod continuous;
mod restore;

use std::sync::Arc;

pub(in crate::engine) use continuous::{Bound, bound};

use crate::engine::catalog::TableEntry;
use crate::engine::jobs;
use crate::engine::runtime::{Engine, Transaction};
use crate::model::api::TableStatus;
use crate::model::error::RecoveryError;
use crate::model::{Error, TableName};

impl Engine {
    /// Runs an operation that may leave a job, and starts the job.
    pub(super) fn submit_with_job<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Transaction<'_>) -> Result<(T, Option<u32>), Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, job) = self.shared.submit_and_wait(run)?;
        job.into_iter().for_each(|job| jobs::start(Arc::clone(&self.shared), job));
        Ok(answer)
    }
}

/// A table that backups, restores and exports can be of.
///
/// # Errors
/// `TableNotFound`, `TableInUse`.
pub(in crate::engine) fn table_of(entry: Option<Arc<TableEntry>>, name: &TableName) -> Result<Arc<TableEntry>, RecoveryError> {
    let text = || name.as_str().to_owned();
    let entry = entry.ok_or_else(|| RecoveryError::TableNotFound(text()))?;
    match entry.status {
        TableStatus::Active | TableStatus::Updating => Ok(entry),
        TableStatus::Creating | TableStatus::Deleting => Err(RecoveryError::TableInUse(text())),
    }
}
