//! RestoreTableFromBackup, RestoreTableToPointInTime (docs/dynamodb.md 20.1, 20.2): a new table, filled in the background.

use super::{
    recovery::{bound, table_of},
    tables::{add_table, description},
};
use crate::engine::{
    account::{
        AccountRecord, BackupRecord,
        job::{CopySource, CopyTarget, Job},
    },
    base::table_definition::build_schema,
    jobs,
    runtime::prelude::*,
};
use crate::model::{
    Projection, TableSettings,
    api::{
        TableDescription,
        backup::{BackupStatus, RestoreFromBackupRequest, RestoreOverrides, RestoreToPointInTimeRequest},
        table_control::RestoreSummary,
        tables::{CreateTableRequest, IndexDefinition, KeySchemaElement, ProjectionDefinition, ProjectionType},
    },
    arn,
    error::RecoveryError,
    schema::{BillingMode, KeyAttribute, KeyType, OnDemandThroughput},
};

/// The table that a restore makes, and the job that fills it.
type Restored = (TableDescription, Option<u32>);

impl Engine {
    /// Makes a table of a backup's items.
    ///
    /// # Errors
    /// `Recovery`, `Schema`; those of the store.
    pub fn restore_from_backup(&self, request: RestoreFromBackupRequest) -> Result<TableDescription, Error> {
        self.submit_with_job(move |transaction| from_backup(transaction, &request))
    }

    /// Makes a table of another's items at a moment of its window.
    ///
    /// # Errors
    /// `Recovery`, `Schema`; those of the store.
    pub fn restore_to_point_in_time(&self, request: RestoreToPointInTimeRequest) -> Result<TableDescription, Error> {
        self.submit_with_job(move |transaction| to_point_in_time(transaction, &request))
    }
}

fn from_backup(transaction: &mut Transaction<'_>, request: &RestoreFromBackupRequest) -> Result<Restored, Error> {
    let arn = &request.backup_arn;
    let record = BackupRecord::known(transaction.read(), arn, RecoveryError::BackupNotFound)?;
    if record.status != BackupStatus::Available {
        return Err(RecoveryError::BackupInUse(arn.clone()).into());
    }
    let schema = target_schema(transaction, &record.table, (&request.target, &request.overrides))?;
    let of = (Some(arn.clone()), arn::table(&record.table.schema.name), record.created_ms);
    restore(transaction, schema, of, CopySource::Backup { arn: arn.clone(), source: record.source })
}

fn to_point_in_time(transaction: &mut Transaction<'_>, request: &RestoreToPointInTimeRequest) -> Result<Restored, Error> {
    let table = table_of(transaction.table(&request.source)?, &request.source)?;
    let now_ms = transaction.now_ms();
    let outside = |earliest, latest| RecoveryError::RestoreTime { earliest, latest };
    let bound = bound(transaction, &table, request.time_ms, outside)?;
    let schema = target_schema(transaction, &table, (&request.target, &request.overrides))?;
    let of = (None, arn::table(&request.source), request.time_ms.unwrap_or(now_ms));
    restore(transaction, schema, of, CopySource::Table { name: request.source.clone(), source: table.source, bound })
}

/// The definition of a table that is not there yet.
fn target_schema(
    transaction: &Transaction<'_>,
    source: &TableEntry,
    (target, overrides): (&TableName, &RestoreOverrides),
) -> Result<TableSchema, Error> {
    let schema = build_schema(request_of(&source.schema, target, overrides)?)?;
    match transaction.table(target)? {
        Some(_) => Err(RecoveryError::TableAlreadyExists(target.as_str().to_owned()).into()),
        None => Ok(schema),
    }
}

/// Makes the table, with the backup's ARN, the table's and the moment that it is of.
fn restore(
    transaction: &mut Transaction<'_>,
    schema: TableSchema,
    (source_backup_arn, source_table_arn, restore_ms): (Option<String>, String, u64),
    from: CopySource,
) -> Result<Restored, Error> {
    let to = CopyTarget::Table { name: schema.name.clone() };
    let mut entry = add_table(transaction, &Arc::new(schema), TableStatus::Creating)?;
    let is_in_progress = true;
    entry.control.restored =
        Some(RestoreSummary { source_backup_arn, source_table_arn, restore_ms, is_in_progress, failure: None });
    transaction.replace_table(&entry)?;
    let job = jobs::add(transaction, Job::copy(from, to))?;
    Ok((description(transaction.read(), &entry, transaction.now_ms())?, Some(job)))
}

/// The request that creates the table.
///
/// # Errors
/// `OverrideIndex` for an index that the source does not have.
pub fn request_of(
    source: &TableSchema,
    target: &TableName,
    overrides: &RestoreOverrides,
) -> Result<CreateTableRequest, RecoveryError> {
    let billing_mode = overrides.billing_mode.unwrap_or(source.billing_mode);
    let throughput = overrides.throughput.or(source.throughput.filter(|_| billing_mode == BillingMode::Provisioned));
    let mut global = indexes(source, IndexKind::Global, overrides.global_indexes.as_deref())?;
    if billing_mode == BillingMode::PayPerRequest {
        global.iter_mut().for_each(|index| index.throughput = None);
    }
    let local = indexes(source, IndexKind::Local, overrides.local_indexes.as_deref())?;
    let used = |attribute: &KeyAttribute| {
        let elements = global.iter().chain(&local).flat_map(|index| &index.key_schema);
        source.key.contains(&attribute.name) || elements.clone().any(|element| element.attribute_name == attribute.name)
    };
    let mut throughput_settings = source.settings.throughput;
    throughput_settings.on_demand = match billing_mode {
        BillingMode::Provisioned => OnDemandThroughput::default(),
        BillingMode::PayPerRequest => overrides.on_demand.unwrap_or(throughput_settings.on_demand),
    };
    let encryption = overrides.encryption.as_ref().map(|encryption| encryption.enabled.then(|| encryption.clone()));
    // Tags, stream and policy stay behind.
    let settings = TableSettings {
        encryption: encryption.unwrap_or_else(|| source.settings.encryption.clone()),
        table_class: source.settings.table_class,
        throughput: throughput_settings,
        ..TableSettings::default()
    };
    Ok(CreateTableRequest {
        table_name: target.clone(),
        attribute_definitions: source.attribute_definitions().into_iter().filter(used).collect(),
        key_schema: elements(std::iter::once(&source.key.partition), source.key.sort.as_ref().into_iter()),
        billing_mode: Some(billing_mode),
        throughput,
        local_indexes: (!local.is_empty()).then_some(local),
        global_indexes: (!global.is_empty()).then_some(global),
        deletion_protection: false,
        settings,
    })
}

fn elements<'a>(
    partition: impl Iterator<Item = &'a KeyAttribute>,
    sort: impl Iterator<Item = &'a KeyAttribute>,
) -> Vec<KeySchemaElement> {
    let element =
        |key_type: KeyType| move |attribute: &KeyAttribute| KeySchemaElement { attribute_name: attribute.name.clone(), key_type };
    partition.map(element(KeyType::Hash)).chain(sort.map(element(KeyType::Range))).collect()
}

/// The source's indexes of a kind, or those asked for.
fn indexes(
    source: &TableSchema,
    kind: IndexKind,
    asked: Option<&[IndexDefinition]>,
) -> Result<Vec<IndexDefinition>, RecoveryError> {
    let mut existing = source.indexes_of(kind).map(definition);
    let Some(asked) = asked else { return Ok(existing.collect()) };
    let existing: Vec<IndexDefinition> = existing.by_ref().collect();
    let find = |index: &IndexDefinition| {
        let same = |known: &&IndexDefinition| {
            known.key_schema == index.key_schema && sorted(&known.projection) == sorted(&index.projection)
        };
        let known = existing.iter().find(same).ok_or_else(|| RecoveryError::OverrideIndex(index.name.as_str().to_owned()))?;
        Ok(IndexDefinition { throughput: index.throughput.or(known.throughput), settings: known.settings, ..index.clone() })
    };
    asked.iter().map(find).collect()
}

/// A projection whose order of names does not count.
fn sorted(projection: &ProjectionDefinition) -> ProjectionDefinition {
    let mut sorted = projection.clone();
    sorted.non_key_attributes.iter_mut().for_each(|names| names.sort());
    sorted
}

fn definition(index: &IndexSchema) -> IndexDefinition {
    let (projection_type, names) = match &index.projection {
        Projection::All => (ProjectionType::All, None),
        Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        Projection::Include(names) => (ProjectionType::Include, Some(names.clone())),
    };
    IndexDefinition {
        name: index.name.clone(),
        kind: index.kind,
        key_schema: elements(index.partition.iter(), index.sort.iter()),
        projection: ProjectionDefinition { projection_type: Some(projection_type), non_key_attributes: names },
        throughput: index.throughput,
        settings: index.settings,
    }
}
