//! `TableDescription`, the output of every control operation on a table (docs/dynamodb.md 11.1, 11.2, 11.4).

use serde_json::{Value, json};

use super::table_settings;
use super::write::object;
use crate::model::Word;
use crate::model::api::table_control::{RestoreSummary, ThroughputHistory};
use crate::model::api::{IndexDescription, StreamName, TableDescription, TableStatus};
use crate::model::arn::{self, ACCOUNT, REGION};
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, ProvisionedThroughput};
use crate::model::settings::Encryption;
use crate::model::{IndexSchema, Projection, TableSchema};

/// The answer of DescribeTable as a tree.
#[must_use]
pub fn described(table: &TableDescription) -> Value {
    json!({ "Table": to_json(table) })
}

/// The description as CreateTable and DescribeTable give it; tags are never shown.
#[must_use]
pub fn to_json(table: &TableDescription) -> Value {
    let (schema, settings) = (&table.schema, &table.schema.settings);
    let label = table.latest_stream_label.as_ref();
    let stream = label.map(|label| StreamName { table_name: schema.name.clone(), label: label.clone() });
    object! {
        "AttributeDefinitions": attribute_definitions(schema),
        "TableName": schema.name.as_str(),
        "KeySchema": table_key_schema(schema),
        "TableStatus": table.status.word(),
        "CreationDateTime": timestamp(table.created_ms),
        "ProvisionedThroughput": throughput(schema.throughput, &table.control.throughput, table.at_ms),
        "TableSizeBytes": table.table_size_bytes,
        "ItemCount": table.item_count,
        "TableArn": arn::table(&schema.name),
        "TableId": table.table_id,
        "BillingModeSummary": billing_mode_summary(table),
        "LocalSecondaryIndexes": indexes(table, IndexKind::Local),
        "GlobalSecondaryIndexes": indexes(table, IndexKind::Global),
        "DeletionProtectionEnabled": schema.deletion_protection,
        "StreamSpecification": settings.stream.map(table_settings::stream_to_json),
        "LatestStreamLabel": label,
        "LatestStreamArn": stream.as_ref().map(arn::stream),
        "SSEDescription": settings.encryption.as_ref().map(|encryption| encryption_to_json(encryption, table.status)),
        "TableClassSummary": settings.table_class.map(|class| object! {
            "TableClass": class.word(),
            "LastUpdateDateTime": table.control.class_changed_ms.map(timestamp),
        }),
        "OnDemandThroughput": table_settings::on_demand_to_json(settings.throughput.on_demand),
        "WarmThroughput": warm_throughput(schema, None, table.status),
        "RestoreSummary": table.control.restored.as_ref().map(restored_to_json),
    }
}

fn encryption_to_json(encryption: &Encryption, state: TableStatus) -> Value {
    let status = if state == TableStatus::Updating { "UPDATING" } else { "ENABLED" };
    json!({ "Status": status, "SSEType": "KMS", "KMSMasterKeyArn": key_arn(encryption) })
}

fn restored_to_json(restored: &RestoreSummary) -> Value {
    object! {
        "SourceBackupArn": restored.source_backup_arn,
        "SourceTableArn": restored.source_table_arn,
        "RestoreDateTime": timestamp(restored.restore_ms),
        "RestoreInProgress": restored.is_in_progress,
        "FailureCode": restored.failure.as_ref().map(|failure| &failure.code),
        "FailureMessage": restored.failure.as_ref().map(|failure| &failure.message),
    }
}

/// Of a table that is on demand, or once was.
fn billing_mode_summary(table: &TableDescription) -> Option<Value> {
    let mode = table.schema.billing_mode;
    let created_on_demand = (mode == BillingMode::PayPerRequest).then_some(table.created_ms);
    let since = table.control.on_demand_since_ms.or(created_on_demand)?;
    Some(json!({ "BillingMode": mode.word(), "LastUpdateToPayPerRequestDateTime": timestamp(since) }))
}

/// The description of a table that is going: without keys, definitions, indexes and creation time.
#[must_use]
pub fn deleted_to_json(table: &TableDescription) -> Value {
    let schema = &table.schema;
    object! {
        "TableName": schema.name.as_str(),
        "TableStatus": table.status.word(),
        "ProvisionedThroughput": throughput(schema.throughput, &table.control.throughput, table.at_ms),
        "TableSizeBytes": table.table_size_bytes,
        "ItemCount": table.item_count,
        "TableArn": arn::table(&schema.name),
        "TableId": table.table_id,
        "DeletionProtectionEnabled": schema.deletion_protection,
        "BillingModeSummary": billing_mode_summary(table),
    }
}

/// The indexes of that kind, if there are any.
fn indexes(table: &TableDescription, kind: IndexKind) -> Option<Vec<Value>> {
    let described = table.schema.indexes.iter().zip(&table.indexes).filter(|(index, _)| index.kind == kind);
    let indexes: Vec<Value> = described.map(|(index, state)| index_to_json(table, index, state)).collect();
    (!indexes.is_empty()).then_some(indexes)
}

/// What a global index has of its own, a local one has with its table.
fn index_to_json(table: &TableDescription, index: &IndexSchema, state: &IndexDescription) -> Value {
    let (schema, name) = (&table.schema, index.name.as_str());
    let global = (index.kind == IndexKind::Global).then_some(index);
    let history = table.control.indexes.get(name).copied().unwrap_or_default();
    object! {
        "IndexName": name,
        "KeySchema": index_key_schema(index),
        "Projection": projection(&index.projection),
        "IndexSizeBytes": state.index_size_bytes,
        "ItemCount": state.item_count,
        "IndexArn": format!("{}/index/{name}", arn::table(&schema.name)),
        "IndexStatus": global.map(|_| state.status.word()),
        "Backfilling": global.and(state.backfilling),
        "ProvisionedThroughput": global.map(|index| throughput(index.throughput, &history, table.at_ms)),
        "OnDemandThroughput": global.and_then(|index| table_settings::on_demand_to_json(index.settings.on_demand)),
        "WarmThroughput": global.and_then(|_| warm_throughput(schema, Some(name), state.status)),
    }
}

/// `AttributeDefinitions`, sorted by name.
pub(super) fn attribute_definitions(schema: &TableSchema) -> Value {
    let definition =
        |attribute: &KeyAttribute| json!({ "AttributeName": attribute.name, "AttributeType": attribute.attribute_type.word() });
    schema.attribute_definitions().iter().map(definition).collect()
}

pub(super) fn table_key_schema(schema: &TableSchema) -> Value {
    key_schema(std::slice::from_ref(&schema.key.partition), schema.key.sort.as_slice())
}

pub(super) fn index_key_schema(index: &IndexSchema) -> Value {
    key_schema(&index.partition, &index.sort)
}

fn key_schema(partition: &[KeyAttribute], sort: &[KeyAttribute]) -> Value {
    let element =
        |key_type: &'static str| move |attribute: &KeyAttribute| json!({ "AttributeName": attribute.name, "KeyType": key_type });
    partition.iter().map(element("HASH")).chain(sort.iter().map(element("RANGE"))).collect()
}

pub(super) fn projection(projection: &Projection) -> Value {
    match projection {
        Projection::All => json!({ "ProjectionType": "ALL" }),
        Projection::KeysOnly => json!({ "ProjectionType": "KEYS_ONLY" }),
        Projection::Include(names) => json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names }),
    }
}

/// `ProvisionedThroughputDescription`; all zero on demand.
fn throughput(throughput: Option<ProvisionedThroughput>, history: &ThroughputHistory, at_ms: u64) -> Value {
    let units = throughput.unwrap_or(ProvisionedThroughput { read_capacity_units: 0, write_capacity_units: 0 });
    object! {
        "LastIncreaseDateTime": history.last_increase_ms.map(timestamp),
        "LastDecreaseDateTime": history.last_decrease_ms.map(timestamp),
        "NumberOfDecreasesToday": throughput.map_or(0, |_| history.decreases_today(at_ms)),
        "ReadCapacityUnits": units.read_capacity_units,
        "WriteCapacityUnits": units.write_capacity_units,
    }
}

/// Of what is being created there is none yet.
fn warm_throughput(schema: &TableSchema, index: Option<&str>, state: TableStatus) -> Option<Value> {
    let warm = schema.effective_warm(index);
    let told = json!({
        "ReadUnitsPerSecond": warm.read_capacity_units,
        "WriteUnitsPerSecond": warm.write_capacity_units,
        "Status": state.word(),
    });
    (state != TableStatus::Creating).then_some(told)
}

/// The key that an `SSESpecification` names, or the account's own for DynamoDB.
fn key_arn(encryption: &Encryption) -> String {
    match encryption.kms_master_key_id.as_deref() {
        Some(arn) if arn.starts_with("arn:") => arn.to_owned(),
        Some(id) => format!("arn:aws:kms:{REGION}:{ACCOUNT}:key/{id}"),
        None => format!("arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/dynamodb"),
    }
}

/// Seconds since the epoch with milliseconds as a fraction.
#[must_use]
pub fn timestamp(milliseconds: u64) -> Value {
    // Exact: milliseconds of any date that matters are far below 2^53.
    let seconds = milliseconds as f64 / 1000.0;
    json!(seconds)
}
