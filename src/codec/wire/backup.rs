//! Backups and point-in-time recovery: what they have beside their declarations, and what is told of them (docs/dynamodb.md 20.1, 20.2).

use serde_json::{Value, json};

use super::declared::*;
use super::names::{self, NAME_RULES};
use super::table_description::{self, timestamp};
use super::tables::{self, GlobalIndex, LocalIndex};
use super::write::object;
use crate::model::TableSchema;
use crate::model::api::backup::*;
use crate::model::api::{IndexDefinition, TableDescription};
use crate::model::arn;
use crate::model::error::RecoveryError;
use crate::model::schema::{BillingMode, Encryption, IndexKind, OnDemandThroughput, ProvisionedThroughput};

backup!(wire);

/// The one of two members that names the table that is restored.
#[derive(Debug)]
pub struct RestoreSource;

impl Group<TableName> for RestoreSource {
    const MEMBERS: &'static [Member] = &[
        Member::new("SourceTableArn", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(1024)]),
        Member::new("SourceTableName", Shape::String).rules(NAME_RULES),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<TableName, WireError> {
        match (members.string("SourceTableName"), members.string("SourceTableArn")) {
            (Some(text), None) | (None, Some(text)) => names::table(text),
            (Some(_), Some(_)) | (None, None) => Err(RecoveryError::RestoreSourceChoice.into()),
        }
    }
}

/// The time, or the word that it is the latest.
#[derive(Debug)]
pub struct RestoreTime;

impl Group<Option<u64>> for RestoreTime {
    const MEMBERS: &'static [Member] =
        &[Member::new("UseLatestRestorableTime", Shape::Boolean), Member::new("RestoreDateTime", Shape::Long)];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<u64>, WireError> {
        let time_ms = members.time_ms("RestoreDateTime");
        if members.boolean("UseLatestRestorableTime").unwrap_or(false) == time_ms.is_some() {
            return Err(RecoveryError::RestoreTimeChoice.into());
        }
        Ok(time_ms)
    }
}

/// The body of CreateBackup.
#[must_use]
pub fn details_to_json(backup: &Backup) -> Value {
    json!({ "BackupDetails": details(backup) })
}

fn details(backup: &Backup) -> Value {
    summary(backup, None)
}

/// What every answer tells of a backup, and of its table in a list.
fn summary(backup: &Backup, table: Option<&TableDescription>) -> Value {
    object! {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": backup.status.word(),
        "BackupType": if backup.is_system { "SYSTEM" } else { "USER" },
        "BackupCreationDateTime": timestamp(backup.created_ms),
        "FailureCode": backup.failure.as_ref().map(|failure| &failure.code),
        "FailureMessage": backup.failure.as_ref().map(|failure| &failure.message),
        "TableName": table.map(|table| table.schema.name.as_str()),
        "TableId": table.map(|table| &table.table_id),
        "TableArn": table.map(|table| arn::table(&table.schema.name)),
    }
}

/// The body of DescribeBackup and DeleteBackup.
#[must_use]
pub fn description_to_json(backup: &Backup) -> Value {
    let description = json!({
        "BackupDetails": details(backup),
        "SourceTableDetails": source_details(&backup.table),
        "SourceTableFeatureDetails": feature_details(&backup.table.schema),
    });
    json!({ "BackupDescription": description })
}

fn source_details(table: &TableDescription) -> Value {
    let schema = &table.schema;
    let units = schema.throughput.map_or((0, 0), |units| (units.read_capacity_units, units.write_capacity_units));
    object! {
        "TableName": schema.name.as_str(),
        "TableId": table.table_id,
        "TableArn": arn::table(&schema.name),
        "TableSizeBytes": table.table_size_bytes,
        "KeySchema": table_description::table_key_schema(schema),
        "TableCreationDateTime": timestamp(table.created_ms),
        "ProvisionedThroughput": { let (read, write) = units; json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write }) },
        "ItemCount": table.item_count,
        "BillingMode": schema.billing_mode.word(),
        "OnDemandThroughput": tree_of(&schema.settings.throughput).remove("OnDemandThroughput"),
    }
}

fn feature_details(schema: &TableSchema) -> Value {
    let indexes = |kind| {
        let indexes: Vec<Value> = schema.indexes_of(kind).map(|index| Value::Object(tables::index_to_json(index))).collect();
        (!indexes.is_empty()).then_some(indexes)
    };
    object! {
        "LocalSecondaryIndexes": indexes(IndexKind::Local),
        "GlobalSecondaryIndexes": indexes(IndexKind::Global),
        "StreamDescription": tree_of(&schema.settings).remove("StreamSpecification"),
        "SSEDescription": schema.settings.encryption.is_some().then(|| json!({ "Status": "ENABLED", "SSEType": "KMS" })),
    }
}

/// The body of ListBackups.
#[must_use]
pub fn list_to_json(response: &ListBackupsResponse) -> Value {
    object! {
        "BackupSummaries": response.backups.iter().map(|backup| summary(backup, Some(&backup.table))).collect::<Value>(),
        "LastEvaluatedBackupArn": response.last_evaluated_arn,
    }
}

/// The body of both restores.
#[must_use]
pub fn restored_to_json(table: &TableDescription) -> Value {
    json!({ "TableDescription": table_description::to_json(table) })
}

/// The body of UpdateContinuousBackups and DescribeContinuousBackups.
#[must_use]
pub fn window_to_json(window: Option<RecoveryWindow>) -> Value {
    let recovery = match window {
        None => json!({ "PointInTimeRecoveryStatus": "DISABLED" }),
        Some(window) => json!({
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": window.period_days,
            "EarliestRestorableDateTime": timestamp(window.earliest_ms),
            "LatestRestorableDateTime": timestamp(window.latest_ms),
        }),
    };
    let description = json!({ "ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery });
    json!({ "ContinuousBackupsDescription": description })
}
