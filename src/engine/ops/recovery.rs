//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).
//!
//! A backup is the table as of the commit of CreateBackup, a restored table that of the chosen moment, to the millisecond; both are
//! copied in the background, see `engine::jobs`. There is no margin: the latest restorable time is now.

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
    /// Runs an operation that may leave a job, and starts the job.
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

/// A table that backups, restores and exports can be of.
///
/// # Errors
/// `TableNotFound`, `TableInUse`.
pub(in crate::engine) fn table_of(
    entry: Option<Arc<TableEntry>>,
    name: &TableName,
) -> Result<Arc<TableEntry>, RecoveryError> {
    let text = || name.as_str().to_owned();
    let entry = entry.ok_or_else(|| RecoveryError::TableNotFound(text()))?;
    match entry.status {
        TableStatus::Active | TableStatus::Updating => Ok(entry),
        TableStatus::Creating | TableStatus::Deleting => Err(RecoveryError::TableInUse(text())),
    }
}

// CreateBackup, DescribeBackup, ListBackups, DeleteBackup: copies of a table at a moment; a job makes them (docs/dynamodb.md 20.1).

impl Engine {
    /// Makes a backup of the table as it is now; copied in the background.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn create_backup(
        &self,
        request: CreateBackupRequest,
    ) -> Result<CreateBackupResponse, Error> {
        let backup = self.submit_with_job(move |transaction| create(transaction, &request))?;
        Ok(CreateBackupResponse {
            details: backup.details,
        })
    }

    /// A backup with the table as it was.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_backup(&self, request: &BackupRequest) -> Result<Backup, Error> {
        let view = self.view()?;
        let record = BackupRecord::known(
            view.read(),
            &request.backup_arn,
            RecoveryError::BackupNotFound,
        )?;
        Ok(backup(view.read(), &record)?)
    }

    /// A page of backups.
    ///
    /// # Errors
    /// Those of the store.
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
                    .then(|| Ok(summary(backup(view.read(), &record)?)))
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

    /// Removes a backup that nothing works on.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn delete_backup(&self, request: BackupRequest) -> Result<Backup, Error> {
        let (backup, source) = self
            .shared
            .submit_and_wait(move |transaction| delete(transaction, &request.backup_arn))?;
        purge::start(Arc::clone(&self.shared), source);
        Ok(backup)
    }
}

/// The typed form of a record. The copy takes the number of items from the table that it is of.
fn backup(read: &dyn Read, record: &BackupRecord) -> Result<Backup, StoreError> {
    let mut table = description(read, &record.table, record.created_ms)?;
    let (items, bytes) = match record.is_system {
        // The counters of the table that it was.
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

fn is_of_type(record: &BackupRecord, wanted: BackupType) -> bool {
    match wanted {
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
    let table = table_of(transaction.table(&request.table_name)?, &request.table_name)?;
    let (now_ms, source) = (
        transaction.now_ms(),
        catalog::take_source(transaction.batch)?,
    );
    let record = BackupRecord {
        arn: account::new_arn(
            transaction.shared.options.seed,
            &request.table_name,
            "backup",
            (now_ms, source),
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
    let bound = jobs::bound_now(transaction)?;
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
    Ok((backup(transaction.read(), &record)?, Some(job)))
}

fn delete(transaction: &mut Transaction<'_>, arn: &str) -> Result<(Backup, SourceId), Error> {
    let mut record = BackupRecord::known(transaction.read(), arn, RecoveryError::BackupNotFound)?;
    if record.readers > 0 || record.status == BackupStatus::Creating {
        return Err(RecoveryError::BackupInUse(arn.to_owned()).into());
    }
    transaction.removes();
    BackupRecord::delete(transaction.batch, arn)?;
    purge::mark(transaction, record.source)?;
    record.status = BackupStatus::Deleted;
    Ok((backup(transaction.read(), &record)?, record.source))
}

// UpdateContinuousBackups, DescribeContinuousBackups: the switch, and the window that can be restored (docs/dynamodb.md 20.2).

/// `RecoveryPeriodInDays` unless another is asked for.
const PERIOD_DAYS: u32 = 35;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const SECOND_MS: u64 = 1000;

impl Engine {
    /// Turns recovery on or off, or changes its period.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn update_continuous_backups(
        &self,
        request: UpdateContinuousBackupsRequest,
    ) -> Result<ContinuousBackups, Error> {
        self.submit_with_job(move |transaction| {
            let old = table_of(transaction.table(&request.table_name)?, &request.table_name)?;
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
                    window: window(&new, now_ms),
                },
                job,
            ))
        })
    }

    /// The window of recovery, if it is on.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_continuous_backups(
        &self,
        request: &DescribeTableRequest,
    ) -> Result<ContinuousBackups, Error> {
        let table = table_of(self.table(&request.table_name)?, &request.table_name)?;
        Ok(ContinuousBackups {
            window: window(&table, self.shared.now_ms()),
        })
    }
}

/// The times to which a table can be restored: whole seconds from its start on, up to now.
fn window(table: &TableEntry, now_ms: u64) -> Option<RecoveryWindow> {
    let recovery = table.control.recovery?;
    let earliest = earliest_ms(recovery, now_ms);
    Some(RecoveryWindow {
        period_days: recovery.period_days,
        earliest_ms: earliest.next_multiple_of(SECOND_MS),
        latest_ms: now_ms - now_ms % SECOND_MS,
    })
}

/// The first moment of the window, to the millisecond.
fn earliest_ms(recovery: PointInTimeRecovery, now_ms: u64) -> u64 {
    recovery
        .since_ms
        .max(now_ms.saturating_sub(recovery.period_days * DAY_MS))
}

/// The version bound of a time in the table's window, the error being made of the window's ends; of now when there is no time.
pub(super) fn bound(
    transaction: &Transaction<'_>,
    table: &TableEntry,
    time_ms: Option<u64>,
    outside: impl FnOnce(String, String) -> RecoveryError,
) -> Result<Version, Error> {
    let unavailable = || RecoveryError::RecoveryUnavailable(table.schema.name.as_str().to_owned());
    let recovery = table.control.recovery.ok_or_else(unavailable)?;
    let now_ms = transaction.now_ms();
    let Some(time_ms) = time_ms else {
        return Ok(jobs::bound_now(transaction)?);
    };
    let earliest = earliest_ms(recovery, now_ms);
    if time_ms < earliest || time_ms > now_ms {
        return Err(outside(calendar::iso(earliest), calendar::iso(now_ms)).into());
    }
    Ok(jobs::bound_at(transaction, table.source, time_ms)?)
}
