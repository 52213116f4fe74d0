//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).
//!
//! A backup is the table as of the commit of CreateBackup; a restored table is that of the chosen
//! moment, to the millisecond. Both are copied in the background, see `engine::jobs`. There is no
//! margin: the latest restorable time is now.

use super::tables::description;
use crate::codec::calendar;
use crate::engine::{
    account::{
        self, AccountRecord, BackupRecord,
        job::{CopySource, CopyTarget, Job},
    },
    jobs, purge,
    runtime::{batch::source_counters, prelude::*},
};
use crate::model::{
    api::{
        DescribeTableRequest,
        backup::{
            Backup, BackupDetails, BackupRequest, BackupStatus, BackupSummary, BackupType,
            ContinuousBackups, CreateBackupRequest, CreateBackupResponse, ListBackupsRequest,
            ListBackupsResponse, RecoveryWindow, UpdateContinuousBackupsRequest,
        },
        table_control::PointInTimeRecovery,
    },
    arn,
    error::RecoveryError,
    limits::{ENTRY_OVERHEAD_BYTES, LIST_TABLES_MAX},
};

impl Engine {
    /// Runs an operation that may add a job, and starts the job.
    pub(super) fn submit_with_job<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Transaction<'_>) -> Result<(T, Option<u32>), Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, job) = self.shared.submit_and_wait(run)?;
        job.into_iter()
            .for_each(|job| jobs::start(Arc::clone(&self.shared), job));
        Ok(answer)
    }
}

/// Returns a table that can be backed up, restored or exported.
///
/// # Errors
/// Fails with `TableNotFound`, or with `TableInUse` in another state.
pub(in crate::engine) fn recoverable_table(
    entry: Option<Arc<TableEntry>>,
    name: &TableName,
) -> Result<Arc<TableEntry>, RecoveryError> {
    let text = || name.to_string();
    let entry = entry.ok_or_else(|| RecoveryError::TableNotFound(text()))?;
    match entry.status {
        TableStatus::Active | TableStatus::Updating => Ok(entry),
        TableStatus::Creating | TableStatus::Deleting => Err(RecoveryError::TableInUse(text())),
    }
}

// CreateBackup, DescribeBackup, ListBackups, DeleteBackup: copies of a table at a moment, made by a
// job (docs/dynamodb.md 20.1).

impl Engine {
    /// Makes a backup of the table as it is now; the items are copied in the background.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn create_backup(
        &self,
        request: CreateBackupRequest,
    ) -> Result<CreateBackupResponse, Error> {
        let backup = self.submit_with_job(move |transaction| create(transaction, &request))?;
        Ok(CreateBackupResponse {
            details: backup.details,
        })
    }

    /// Returns a backup with the description of its table.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn describe_backup(&self, request: &BackupRequest) -> Result<Backup, Error> {
        let view = self.view()?;
        let record = BackupRecord::require(
            view.read(),
            &request.backup_arn,
            RecoveryError::BackupNotFound,
        )?;
        Ok(to_backup(view.read(), &record)?)
    }

    /// Returns a page of backups.
    pub fn list_backups(&self, request: &ListBackupsRequest) -> Result<ListBackupsResponse, Error> {
        let limit = request
            .limit
            .unwrap_or(LIST_TABLES_MAX)
            .clamp(1, LIST_TABLES_MAX) as usize;
        let table = request
            .table_name
            .as_ref()
            .map(|name| format!("{}/", arn::table(name)));
        let view = self.view()?;
        let fits = |record: &BackupRecord| {
            is_of_type(record, request.backup_type)
                && table
                    .as_ref()
                    .is_none_or(|table| record.arn.starts_with(table))
                && request
                    .lower_ms
                    .is_none_or(|lower| record.created_ms >= lower)
                && request
                    .upper_ms
                    .is_none_or(|upper| record.created_ms < upper)
        };
        let (backups, has_more) = BackupRecord::page(
            view.read(),
            request.exclusive_start_arn.as_deref(),
            limit,
            |record| {
                fits(&record)
                    .then(|| Ok(summary(to_backup(view.read(), &record)?)))
                    .transpose()
            },
        )?;
        let last_evaluated_arn = backups
            .last()
            .filter(|_| has_more)
            .map(|backup| backup.details.arn.clone());
        Ok(ListBackupsResponse {
            backups,
            last_evaluated_arn,
        })
    }

    /// Deletes a backup that no restore reads.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn delete_backup(&self, request: BackupRequest) -> Result<Backup, Error> {
        let (backup, source) = self
            .shared
            .submit_and_wait(move |transaction| delete(transaction, &request.backup_arn))?;
        purge::start(Arc::clone(&self.shared), source);
        Ok(backup)
    }
}

/// Converts a record to the API type. The copy has the item count of its source table.
fn to_backup(read: &dyn Read, record: &BackupRecord) -> Result<Backup, StoreError> {
    let mut table = description(read, &record.table, record.created_ms)?;
    let (items, bytes) = match record.is_system {
        // The counters of the deleted table.
        true => source_counters(read, record.source)
            .map(|counters| (counters.entries, counters.bytes))?,
        false => (record.items, record.bytes),
    };
    table.item_count = items;
    table.table_size_bytes = bytes + items * ENTRY_OVERHEAD_BYTES;
    let details = BackupDetails {
        arn: record.arn.clone(),
        name: record.name.clone(),
        size_bytes: table.table_size_bytes,
        status: record.status,
        backup_type: if record.is_system {
            BackupType::System
        } else {
            BackupType::User
        },
        created_ms: record.created_ms,
        failure: record.failure.clone(),
    };
    Ok(Backup { details, table })
}

fn summary(Backup { details, table }: Backup) -> BackupSummary {
    BackupSummary {
        details,
        table_name: table.schema.name,
        table_id: table.table_id,
    }
}

fn is_of_type(record: &BackupRecord, backup_type: BackupType) -> bool {
    match backup_type {
        BackupType::User => !record.is_system,
        BackupType::System => record.is_system,
        BackupType::AwsBackup => false,
        BackupType::All => true,
    }
}

fn create(
    transaction: &mut Transaction<'_>,
    request: &CreateBackupRequest,
) -> Result<(Backup, Option<u32>), Error> {
    let table = recoverable_table(transaction.table(&request.table_name)?, &request.table_name)?;
    let (now_ms, source) = (
        transaction.now_ms(),
        catalog::allocate_source(transaction.batch)?,
    );
    let record = BackupRecord {
        arn: account::new_arn(
            transaction.shared.options.seed,
            &request.table_name,
            "backup",
            now_ms,
            source,
        ),
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
    let bound = jobs::current_bound(transaction)?;
    let from = CopySource::Table {
        name: request.table_name.clone(),
        source: table.source,
        bound,
    };
    let to = CopyTarget::Backup {
        arn: record.arn.clone(),
        source,
    };
    let job = jobs::add(transaction, Job::copy(from, to))?;
    Ok((to_backup(transaction.read(), &record)?, Some(job)))
}

fn delete(transaction: &mut Transaction<'_>, arn: &str) -> Result<(Backup, SourceId), Error> {
    let mut record = BackupRecord::require(transaction.read(), arn, RecoveryError::BackupNotFound)?;
    if record.readers > 0 || record.status == BackupStatus::Creating {
        return Err(RecoveryError::BackupInUse(arn.to_owned()).into());
    }
    transaction.mark_removal();
    BackupRecord::delete(transaction.batch, arn)?;
    purge::mark(transaction, record.source)?;
    record.status = BackupStatus::Deleted;
    Ok((to_backup(transaction.read(), &record)?, record.source))
}

// UpdateContinuousBackups, DescribeContinuousBackups: the switch, and the window that can be
// restored (docs/dynamodb.md 20.2).

/// The default of `RecoveryPeriodInDays`.
const PERIOD_DAYS: u32 = 35;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const SECOND_MS: u64 = 1000;

impl Engine {
    /// Turns recovery on or off, or changes its period.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn update_continuous_backups(
        &self,
        request: UpdateContinuousBackupsRequest,
    ) -> Result<ContinuousBackups, Error> {
        self.submit_with_job(move |transaction| {
            let old =
                recoverable_table(transaction.table(&request.table_name)?, &request.table_name)?;
            let now_ms = transaction.now_ms();
            let recovery = request.recovery.enabled.then(|| {
                let before = old.control.recovery;
                let period = request
                    .recovery
                    .period_days
                    .map(u64::from)
                    .or(before.map(|recovery| recovery.period_days));
                PointInTimeRecovery {
                    since_ms: before.map_or(now_ms, |recovery| recovery.since_ms),
                    period_days: period.unwrap_or(u64::from(PERIOD_DAYS)),
                }
            });
            let new = transaction.change_table(&old, |new| new.control.recovery = recovery)?;
            let job = if old.control.recovery.is_some() {
                jobs::trim(transaction, &new)?
            } else {
                None
            };
            Ok((
                ContinuousBackups {
                    window: recovery_window(&new, now_ms),
                },
                job,
            ))
        })
    }

    /// Returns the recovery window, if recovery is on.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn describe_continuous_backups(
        &self,
        request: &DescribeTableRequest,
    ) -> Result<ContinuousBackups, Error> {
        let table = recoverable_table(self.table(&request.table_name)?, &request.table_name)?;
        Ok(ContinuousBackups {
            window: recovery_window(&table, self.shared.now_ms()),
        })
    }
}

/// Returns the times to which a table can be restored: whole seconds from its start up to now.
fn recovery_window(table: &TableEntry, now_ms: u64) -> Option<RecoveryWindow> {
    let recovery = table.control.recovery?;
    let earliest = earliest_ms(recovery, now_ms);
    Some(RecoveryWindow {
        period_days: recovery.period_days,
        earliest_ms: earliest.next_multiple_of(SECOND_MS),
        latest_ms: now_ms - now_ms % SECOND_MS,
    })
}

/// Returns the first moment of the window, in milliseconds.
fn earliest_ms(recovery: PointInTimeRecovery, now_ms: u64) -> u64 {
    recovery
        .since_ms
        .max(now_ms.saturating_sub(recovery.period_days * DAY_MS))
}

/// Returns the version bound of a time in the table's window, or of now without a time. `outside`
/// makes the error for a time outside of it, from the ends of the window.
pub(super) fn version_bound(
    transaction: &Transaction<'_>,
    table: &TableEntry,
    time_ms: Option<u64>,
    outside: impl FnOnce(String, String) -> RecoveryError,
) -> Result<Version, Error> {
    let unavailable = || RecoveryError::RecoveryUnavailable(table.schema.name.to_string());
    let recovery = table.control.recovery.ok_or_else(unavailable)?;
    let now_ms = transaction.now_ms();
    let Some(time_ms) = time_ms else {
        return Ok(jobs::current_bound(transaction)?);
    };
    let earliest = earliest_ms(recovery, now_ms);
    if time_ms < earliest || time_ms > now_ms {
        return Err(outside(calendar::iso(earliest), calendar::iso(now_ms)).into());
    }
    Ok(jobs::bound_at(transaction, table.source, time_ms)?)
}
