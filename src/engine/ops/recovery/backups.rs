//! CreateBackup, DescribeBackup, ListBackups, DeleteBackup: copies of a table at a moment; a job makes them (docs/dynamodb.md 20.1).

use std::sync::Arc;

use super::table_of;
use crate::engine::account::job::{CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use crate::engine::account::{self, AccountRecord, BackupRecord};
use crate::engine::base::keys::SourceId;
use crate::engine::ops::tables::description;
use crate::engine::runtime::batch::source_counters;
use crate::engine::runtime::{Engine, Transaction};
use crate::engine::{catalog, jobs, purge};
use crate::model::Error;
use crate::model::api::backup::{Backup, BackupStatus, BackupType, CreateBackupRequest, ListBackupsRequest, ListBackupsResponse};
use crate::model::arn;
use crate::model::error::{RecoveryError, StoreError};
use crate::model::limits::{ENTRY_OVERHEAD_BYTES, LIST_TABLES_MAX};
use crate::store::Read;

impl Engine {
    /// Makes a backup of the table as it is now; copied in the background.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn create_backup(&self, request: CreateBackupRequest) -> Result<Backup, Error> {
        self.submit_with_job(move |transaction| create(transaction, &request))
    }

    /// A backup with the table as it was.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_backup(&self, arn: &str) -> Result<Backup, Error> {
        let view = self.view()?;
        let record = BackupRecord::get(view.read(), arn)?;
        let record = record.ok_or_else(|| RecoveryError::BackupNotFound(arn.to_owned()))?;
        Ok(backup(view.read(), &record)?)
    }

    /// A page of backups.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_backups(&self, request: &ListBackupsRequest) -> Result<ListBackupsResponse, Error> {
        let limit = request.limit.unwrap_or(LIST_TABLES_MAX).clamp(1, LIST_TABLES_MAX) as usize;
        let table = request.table_name.as_ref().map(|name| format!("{}/", arn::table(name)));
        let view = self.view()?;
        let fits = |record: &BackupRecord| {
            is_of_type(record, request.backup_type)
                && table.as_ref().is_none_or(|table| record.arn.starts_with(table))
                && request.lower_ms.is_none_or(|lower| record.created_ms >= lower)
                && request.upper_ms.is_none_or(|upper| record.created_ms < upper)
        };
        let (backups, has_more) = BackupRecord::page(view.read(), request.exclusive_start_arn.as_deref(), limit, |record| {
            fits(&record).then(|| backup(view.read(), &record)).transpose()
        })?;
        let last_evaluated_arn = backups.last().filter(|_| has_more).map(|backup| backup.arn.clone());
        Ok(ListBackupsResponse { backups, last_evaluated_arn })
    }

    /// Removes a backup that nothing works on.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn delete_backup(&self, arn: String) -> Result<Backup, Error> {
        let (backup, source) = self.shared.submit_and_wait(move |transaction| delete(transaction, &arn))?;
        purge::start(Arc::clone(&self.shared), source);
        Ok(backup)
    }
}

/// The typed form of a record. The copy takes the number of items from the table that it is of.
fn backup(read: &dyn Read, record: &BackupRecord) -> Result<Backup, StoreError> {
    let mut table = description(read, &record.table, record.created_ms)?;
    let (items, bytes) = match record.is_system {
        // The counters of the table that it was.
        true => source_counters(read, record.source).map(|counters| (counters.entries, counters.bytes))?,
        false => (record.items, record.bytes),
    };
    table.item_count = items;
    table.table_size_bytes = bytes + items * ENTRY_OVERHEAD_BYTES;
    Ok(Backup {
        arn: record.arn.clone(),
        name: record.name.clone(),
        status: record.status,
        created_ms: record.created_ms,
        size_bytes: table.table_size_bytes,
        is_system: record.is_system,
        failure: record.failure.clone(),
        table,
    })
}

fn is_of_type(record: &BackupRecord, wanted: BackupType) -> bool {
    match wanted {
        BackupType::User => !record.is_system,
        BackupType::System => record.is_system,
        BackupType::AwsBackup => false,
        BackupType::All => true,
    }
}

fn create(transaction: &mut Transaction<'_>, request: &CreateBackupRequest) -> Result<(Backup, Option<u32>), Error> {
    let table = table_of(transaction.table(&request.table_name)?, &request.table_name)?;
    let (now_ms, source) = (transaction.now_ms(), catalog::take_source(transaction.batch)?);
    let record = BackupRecord {
        arn: account::new_arn(transaction.shared.options.seed, &request.table_name, "backup", (now_ms, source)),
        name: request.backup_name.clone(),
        status: BackupStatus::Creating,
        created_ms: now_ms,
        source,
        items: 0,
        bytes: 0,
        readers: 0,
        is_system: false,
        failure: None,
        table: Arc::clone(&table),
    };
    record.put(transaction.batch, &record.arn)?;
    let bound = jobs::bound_now(transaction)?;
    jobs::hold(transaction, &request.table_name)?;
    let from = CopySource::Table { name: request.table_name.clone(), source: table.source, bound };
    let to = CopyTarget::Backup { arn: record.arn.clone(), source };
    let job = jobs::add(transaction, Job::Copy(CopyJob { from, to, place: CopyPlace::Items(None) }))?;
    Ok((backup(transaction.read(), &record)?, Some(job)))
}

fn delete(transaction: &mut Transaction<'_>, arn: &str) -> Result<(Backup, SourceId), Error> {
    let record = BackupRecord::get(transaction.read(), arn)?;
    let mut record = record.ok_or_else(|| RecoveryError::BackupNotFound(arn.to_owned()))?;
    if record.readers > 0 || record.status == BackupStatus::Creating {
        return Err(RecoveryError::BackupInUse(arn.to_owned()).into());
    }
    transaction.removes();
    BackupRecord::delete(transaction.batch, arn)?;
    purge::mark(transaction, record.source)?;
    record.status = BackupStatus::Deleted;
    Ok((backup(transaction.read(), &record)?, record.source))
}
