//! RestoreTableFromBackup, RestoreTableToPointInTime (docs/dynamodb.md 20.1, 20.2): a new table, filled in the background.

use std::sync::Arc;

use super::continuous::{Bound, bound};
use super::{restore_schema, table_of};
use crate::engine::account::job::{CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use crate::engine::account::{AccountRecord, BackupRecord};
use crate::engine::base::table_definition::build_schema;
use crate::engine::catalog::TableEntry;
use crate::engine::jobs;
use crate::engine::ops::create_table::add_table;
use crate::engine::ops::describe_table::description;
use crate::engine::runtime::{Engine, Transaction};
use crate::model::api::backup::{BackupStatus, RestoreFromBackupRequest, RestoreToPointInTimeRequest};
use crate::model::api::table_control::RestoreSummary;
use crate::model::api::{TableDescription, TableStatus};
use crate::model::arn;
use crate::model::error::RecoveryError;
use crate::model::{Error, TableName, TableSchema};

impl Engine {
    /// Makes a table of a backup's items.
    ///
    /// # Errors
    /// `Recovery`, `Schema`; those of the store.
    pub fn restore_from_backup(&self, request: RestoreFromBackupRequest) -> Result<TableDescription, Error> {
        let (table, job) = self.shared.submit_and_wait(move |transaction| from_backup(transaction, &request))?;
        jobs::start(Arc::clone(&self.shared), job);
        Ok(table)
    }

    /// Makes a table of another's items at a moment of its window.
    ///
    /// # Errors
    /// `Recovery`, `Schema`; those of the store.
    pub fn restore_to_point_in_time(&self, request: RestoreToPointInTimeRequest) -> Result<TableDescription, Error> {
        let (table, job) = self.shared.submit_and_wait(move |transaction| to_point_in_time(transaction, &request))?;
        jobs::start(Arc::clone(&self.shared), job);
        Ok(table)
    }
}

fn from_backup(transaction: &mut Transaction<'_>, request: &RestoreFromBackupRequest) -> Result<(TableDescription, u32), Error> {
    let arn = &request.backup_arn;
    let record = BackupRecord::get(transaction.batch.as_read(), arn)?;
    let mut record = record.ok_or_else(|| RecoveryError::BackupNotFound(arn.clone()))?;
    if record.status != BackupStatus::Available {
        return Err(RecoveryError::BackupInUse(arn.clone()).into());
    }
    let schema = schema(&record.table, &request.target, &request.overrides)?;
    check_target(transaction, &request.target)?;
    let summary = RestoreSummary {
        source_backup_arn: Some(arn.clone()),
        source_table_arn: arn::table(&record.table.schema.name),
        restore_ms: record.created_ms,
        is_in_progress: true,
        failure: None,
    };
    record.readers += 1;
    record.put(transaction.batch, &record.arn)?;
    let from = CopySource::Backup { arn: arn.clone(), source: record.source };
    restore(transaction, schema, summary, from)
}

fn to_point_in_time(
    transaction: &mut Transaction<'_>,
    request: &RestoreToPointInTimeRequest,
) -> Result<(TableDescription, u32), Error> {
    let table = table_of(transaction.table(&request.source)?, &request.source)?;
    let now_ms = transaction.now_ms();
    let bound = match bound(transaction, &table, request.time_ms)? {
        Bound::At(bound) => bound,
        Bound::Outside { earliest, latest } => return Err(RecoveryError::RestoreTime { earliest, latest }.into()),
    };
    let schema = schema(&table, &request.target, &request.overrides)?;
    check_target(transaction, &request.target)?;
    let summary = RestoreSummary {
        source_backup_arn: None,
        source_table_arn: arn::table(&request.source),
        restore_ms: request.time_ms.unwrap_or(now_ms),
        is_in_progress: true,
        failure: None,
    };
    jobs::hold(transaction, &request.source)?;
    let from = CopySource::Table { name: request.source.clone(), source: table.source, bound };
    restore(transaction, schema, summary, from)
}

fn schema(
    source: &TableEntry,
    target: &TableName,
    overrides: &crate::model::api::backup::RestoreOverrides,
) -> Result<TableSchema, Error> {
    Ok(build_schema(restore_schema::request(&source.schema, target, overrides)?)?)
}

fn check_target(transaction: &Transaction<'_>, target: &TableName) -> Result<(), Error> {
    match transaction.table(target)? {
        Some(_) => Err(RecoveryError::TableAlreadyExists(target.as_str().to_owned()).into()),
        None => Ok(()),
    }
}

fn restore(
    transaction: &mut Transaction<'_>,
    schema: TableSchema,
    summary: RestoreSummary,
    from: CopySource,
) -> Result<(TableDescription, u32), Error> {
    let name = schema.name.clone();
    let mut entry = add_table(transaction, &Arc::new(schema), TableStatus::Creating)?;
    entry.control.restored = Some(summary);
    transaction.replace_table(&entry)?;
    let job = jobs::add(transaction, Job::Copy(CopyJob { from, to: CopyTarget::Table { name }, place: CopyPlace::Items(None) }))?;
    Ok((description(transaction.batch.as_read(), &entry, transaction.now_ms())?, job))
}
