//! RestoreTableFromBackup and RestoreTableToPointInTime (docs/dynamodb.md 20.1, 20.2): they create
//! a new table and start a copy job (`engine::jobs`) that fills it in the background.

use super::{
    recovery::{recoverable_table, version_bound},
    tables::{add_table, description},
};
use crate::engine::{
    account::{
        AccountRecord, BackupRecord,
        job::{CopySource, CopyTarget, Job},
    },
    base::table_definition::{check_schema, projection},
    jobs,
    runtime::prelude::*,
};
use crate::model::{
    TableSettings,
    api::{
        backup::{
            BackupStatus, RestoreFromBackupRequest, RestoreOverrides, RestoreResponse,
            RestoreToPointInTimeRequest,
        },
        table_control::RestoreSummary,
        tables::IndexDefinition,
    },
    arn,
    error::RecoveryError,
    schema::{BillingMode, KeyType, OnDemandThroughput},
};

/// The response of a restore, and the job that fills the table.
type RestoreResult = (RestoreResponse, Option<u32>);

impl Engine {
    /// Creates a table with the items of a backup.
    ///
    /// # Errors
    /// Fails with `Recovery` or `Schema`, or with an error of the store.
    pub fn restore_from_backup(
        &self,
        request: RestoreFromBackupRequest,
    ) -> Result<RestoreResponse, Error> {
        self.submit_with_job(move |transaction| from_backup(transaction, &request))
    }

    /// Creates a table with the items of another at a moment of its window.
    ///
    /// # Errors
    /// Fails with `Recovery` or `Schema`, or with an error of the store.
    pub fn restore_to_point_in_time(
        &self,
        request: RestoreToPointInTimeRequest,
    ) -> Result<RestoreResponse, Error> {
        self.submit_with_job(move |transaction| to_point_in_time(transaction, &request))
    }
}

fn from_backup(
    transaction: &mut Transaction<'_>,
    request: &RestoreFromBackupRequest,
) -> Result<RestoreResult, Error> {
    let arn = &request.backup_arn;
    let record = BackupRecord::require(transaction.read(), arn, RecoveryError::BackupNotFound)?;
    if record.status != BackupStatus::Available {
        return Err(RecoveryError::BackupInUse(arn.clone()).into());
    }
    let schema = target_schema(
        transaction,
        &record.table,
        &request.target,
        &request.overrides,
    )?;
    restore(
        transaction,
        schema,
        Some(arn.clone()),
        arn::table(&record.table.schema.name),
        record.created_ms,
        CopySource::Backup {
            arn: arn.clone(),
            source: record.source,
        },
    )
}

fn to_point_in_time(
    transaction: &mut Transaction<'_>,
    request: &RestoreToPointInTimeRequest,
) -> Result<RestoreResult, Error> {
    let table = recoverable_table(transaction.table(&request.source)?, &request.source)?;
    let now_ms = transaction.now_ms();
    let outside = |earliest, latest| RecoveryError::RestoreTime { earliest, latest };
    let bound = version_bound(transaction, &table, request.time_ms, outside)?;
    let schema = target_schema(transaction, &table, &request.target, &request.overrides)?;
    restore(
        transaction,
        schema,
        None,
        arn::table(&request.source),
        request.time_ms.unwrap_or(now_ms),
        CopySource::Table {
            name: request.source.clone(),
            source: table.source,
            bound,
        },
    )
}

/// Returns the definition of the new table, which must not exist yet.
fn target_schema(
    transaction: &Transaction<'_>,
    source: &TableEntry,
    target: &TableName,
    overrides: &RestoreOverrides,
) -> Result<TableSchema, Error> {
    let schema = overridden(&source.schema, target, overrides)?;
    check_schema(&schema)?;
    match transaction.table(target)? {
        Some(_) => Err(RecoveryError::TableAlreadyExists(target.to_string()).into()),
        None => Ok(schema),
    }
}

/// Creates the table, with the backup's ARN, the source table's ARN and the moment that it
/// restores.
fn restore(
    transaction: &mut Transaction<'_>,
    schema: TableSchema,
    source_backup_arn: Option<String>,
    source_table_arn: String,
    restore_ms: u64,
    from: CopySource,
) -> Result<RestoreResult, Error> {
    let to = CopyTarget::Table {
        name: schema.name.clone(),
    };
    let mut entry = add_table(transaction, &Arc::new(schema), TableStatus::Creating)?;
    let is_in_progress = true;
    entry.control.restored = Some(RestoreSummary {
        source_backup_arn,
        source_table_arn,
        restore_ms,
        is_in_progress,
        failure: None,
    });
    transaction.replace_table(&entry)?;
    let job = jobs::add(transaction, Job::copy(from, to))?;
    let table_description = description(transaction.read(), &entry, transaction.now_ms())?;
    Ok((RestoreResponse { table_description }, Some(job)))
}

/// Returns the source's definition under another name, with the overrides of the request.
///
/// # Errors
/// Fails with `OverrideIndex` for an index that the source does not have.
fn overridden(
    source: &TableSchema,
    target: &TableName,
    overrides: &RestoreOverrides,
) -> Result<TableSchema, RecoveryError> {
    let billing_mode = overrides.billing_mode.unwrap_or(source.billing_mode);
    let mut global = indexes(
        source,
        IndexKind::Global,
        overrides.global_indexes.as_deref(),
    )?;
    if billing_mode == BillingMode::PayPerRequest {
        global.iter_mut().for_each(|index| index.throughput = None);
    }
    let mut indexes = indexes(source, IndexKind::Local, overrides.local_indexes.as_deref())?;
    indexes.extend(global);
    indexes.extend(self::indexes(
        source,
        IndexKind::Vector,
        overrides.vector_indexes.as_deref(),
    )?);
    let mut throughput_settings = source.settings.throughput;
    throughput_settings.on_demand = match billing_mode {
        BillingMode::Provisioned => OnDemandThroughput::default(),
        BillingMode::PayPerRequest => overrides.on_demand.unwrap_or(throughput_settings.on_demand),
    };
    let encryption = overrides
        .encryption
        .as_ref()
        .map(|encryption| encryption.enabled.then(|| encryption.clone()));
    // Tags, stream and policy are not copied.
    let settings = TableSettings {
        encryption: encryption.unwrap_or_else(|| source.settings.encryption.clone()),
        table_class: source.settings.table_class,
        throughput: throughput_settings,
        ..TableSettings::default()
    };
    Ok(TableSchema {
        name: target.clone(),
        key: source.key.clone(),
        indexes,
        billing_mode,
        throughput: overrides.throughput.or(source
            .throughput
            .filter(|_| billing_mode == BillingMode::Provisioned)),
        deletion_protection: false,
        settings,
    })
}

/// Returns the source's indexes of a kind, or those asked for.
fn indexes(
    source: &TableSchema,
    kind: IndexKind,
    overrides: Option<&[IndexDefinition]>,
) -> Result<Vec<IndexSchema>, RecoveryError> {
    let existing: Vec<&IndexSchema> = source.indexes_of(kind).collect();
    let Some(overrides) = overrides else {
        return Ok(existing.into_iter().cloned().collect());
    };
    let find = |index: &IndexDefinition| {
        let known = existing.iter().find(|known| has_definition(known, index));
        let known = known.ok_or_else(|| RecoveryError::OverrideIndex(index.name.to_string()))?;
        let units = index.throughput.filter(|_| kind == IndexKind::Global);
        Ok(IndexSchema {
            name: index.name.clone(),
            throughput: units.or(known.throughput),
            ..(*known).clone()
        })
    };
    overrides.iter().map(find).collect()
}

/// True if an index has the keys and the projection asked for.
fn has_definition(schema: &IndexSchema, definition: &IndexDefinition) -> bool {
    let partition = schema
        .partition
        .iter()
        .map(|attribute| (&attribute.name, KeyType::Hash));
    let sort = schema
        .sort
        .iter()
        .map(|attribute| (&attribute.name, KeyType::Range));
    let elements = definition
        .key_schema
        .iter()
        .map(|element| (&element.attribute_name, element.key_type));
    elements.eq(partition.chain(sort))
        && schema.vector == definition.vector
        && projection(&definition.projection).is_ok_and(|requested| requested == schema.projection)
}
