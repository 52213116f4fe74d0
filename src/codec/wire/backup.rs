//! The JSON form of backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2): the parts
//! that the declarations in `model::api::backup` do not generate, and the descriptions.

use serde_json::{Value, json};

use super::declared::*;
use super::members::JobFailureMembers;
use super::names::{self, NAME_RULES};
use super::table_description::{self, timestamp};
use super::tables::{self, GlobalIndex, LocalIndex, VectorIndex};
use super::write::object;
use crate::model::TableSchema;
use crate::model::api::backup::*;
use crate::model::api::{IndexDefinition, JobFailure, TableDescription};
use crate::model::arn;
use crate::model::error::RecoveryError;
use crate::model::schema::{
    BillingMode, Encryption, IndexKind, OnDemandThroughput, ProvisionedThroughput,
};

backup!(wire);

/// The choice of two members that names the restored table.
#[derive(Debug)]
pub struct RestoreSource;

impl Group<TableName> for RestoreSource {
    const MEMBERS: &'static [Member] = &[
        Member::new("SourceTableArn", Shape::String)
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(1024)]),
        Member::new("SourceTableName", Shape::String).rules(NAME_RULES),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<TableName, WireError> {
        match (
            members.string("SourceTableName"),
            members.string("SourceTableArn"),
        ) {
            (Some(text), None) | (None, Some(text)) => names::table(text),
            (Some(_), Some(_)) | (None, None) => Err(RecoveryError::RestoreSourceChoice.into()),
        }
    }
}

/// The time to restore, or the flag that it is the latest.
#[derive(Debug)]
pub struct RestoreTime;

impl Group<Option<u64>> for RestoreTime {
    const MEMBERS: &'static [Member] = &[
        Member::new("UseLatestRestorableTime", Shape::Boolean),
        Member::new("RestoreDateTime", Shape::Long),
    ];

    fn read(members: Members<'_>, _: Sender) -> Result<Option<u64>, WireError> {
        let time_ms = members.time_ms("RestoreDateTime");
        if members.boolean("UseLatestRestorableTime").unwrap_or(false) == time_ms.is_some() {
            return Err(RecoveryError::RestoreTimeChoice.into());
        }
        Ok(time_ms)
    }
}

/// The window that can be restored; `None` if recovery is off.
#[derive(Debug)]
pub struct Recovery;

impl Form<Option<RecoveryWindow>> for Recovery {
    const SHAPE: Shape = RecoveryWindow::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Option<RecoveryWindow>>, WireError> {
        let is_on = json.get("PointInTimeRecoveryStatus").and_then(Json::as_str) == Some("ENABLED");
        if is_on {
            Ok(RecoveryWindow::read(json, sender)?.map(Some))
        } else {
            Ok(Some(None))
        }
    }

    fn write(value: &Option<RecoveryWindow>, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        object.text(
            "PointInTimeRecoveryStatus",
            if value.is_some() {
                "ENABLED"
            } else {
                "DISABLED"
            },
        );
        if let Some(window) = value {
            window.write_members(&mut object);
        }
        object.end();
    }
}

tree_bodies! {
    Backup: description_to_json;
}

/// Returns the body of DescribeBackup and DeleteBackup.
fn description_to_json(backup: &Backup) -> Value {
    let description = json!({
        "BackupDetails": tree_of(&backup.details),
        "SourceTableDetails": source_details(&backup.table),
        "SourceTableFeatureDetails": feature_details(&backup.table.schema),
    });
    json!({ "BackupDescription": description })
}

fn source_details(table: &TableDescription) -> Value {
    let schema = &table.schema;
    let units = schema.throughput.map_or((0, 0), |units| {
        (units.read_capacity_units, units.write_capacity_units)
    });
    object! {
        "TableName": schema.name.as_str(),
        "TableId": table.table_id,
        "TableArn": arn::table(&schema.name),
        "TableSizeBytes": table.table_size_bytes,
        "KeySchema": table_description::table_key_schema(schema),
        "TableCreationDateTime": timestamp(table.created_ms),
        "ProvisionedThroughput": { let (read, write) = units; json!({ "ReadCapacityUnits": read, "WriteCapacityUnits": write }) },
        "ItemCount": table.item_count,
        "BillingMode": schema.billing_mode.as_str(),
        "OnDemandThroughput": tree_of(&schema.settings.throughput).remove("OnDemandThroughput"),
    }
}

fn feature_details(schema: &TableSchema) -> Value {
    let indexes = |kind| {
        let indexes: Vec<Value> = schema
            .indexes_of(kind)
            .map(|index| Value::Object(tables::index_to_json(index)))
            .collect();
        (!indexes.is_empty()).then_some(indexes)
    };
    object! {
        "LocalSecondaryIndexes": indexes(IndexKind::Local),
        "GlobalSecondaryIndexes": indexes(IndexKind::Global),
        "VectorIndexes": indexes(IndexKind::Vector),
        "StreamDescription": tree_of(&schema.settings).remove("StreamSpecification"),
        "SSEDescription": schema.settings.encryption.is_some().then(|| json!({ "Status": "ENABLED", "SSEType": "KMS" })),
    }
}
