//! `TableDescription`, the output of every control operation on a table (docs/dynamodb.md 11.1, 11.2, 11.4).

use serde_json::{Map, Value, json};

use super::table_settings;
use crate::model::Word;
use crate::model::api::common::Failure;
use crate::model::api::table_control::ThroughputHistory;
use crate::model::api::{IndexDescription, KeySchemaElement, StreamName, TableDescription, TableStatus};
use crate::model::arn::{self, ACCOUNT, REGION};
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, ProvisionedThroughput};
use crate::model::settings::Encryption;
use crate::model::{IndexSchema, Projection, TableSchema};

/// The answer of DescribeTable as a tree.
#[must_use]
pub fn described(table: &TableDescription) -> Value {
    json!({ "Table": to_json(table) })
}

/// The description as CreateTable and DescribeTable give it.
#[must_use]
pub fn to_json(table: &TableDescription) -> Value {
    let schema = &table.schema;
    let mut out = Map::new();
    let mut add = |name: &str, value: Value| {
        out.insert(name.to_owned(), value);
    };
    add("AttributeDefinitions", attribute_definitions(schema));
    add("TableName", json!(schema.name.as_str()));
    add("KeySchema", table_key_schema(schema));
    add("TableStatus", json!(table.status.word()));
    add("CreationDateTime", timestamp(table.created_ms));
    add("ProvisionedThroughput", throughput(schema.throughput, &table.control.throughput, table.at_ms));
    add("TableSizeBytes", json!(table.table_size_bytes));
    add("ItemCount", json!(table.item_count));
    add("TableArn", json!(arn::table(&schema.name)));
    add("TableId", json!(table.table_id));
    if let Some(summary) = billing_mode_summary(table) {
        add("BillingModeSummary", summary);
    }
    for (name, kind) in [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)] {
        let indexes = indexes(table, kind);
        if !indexes.is_empty() {
            add(name, Value::Array(indexes));
        }
    }
    add("DeletionProtectionEnabled", json!(schema.deletion_protection));
    add_options(table, &mut out);
    Value::Object(out)
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
    let mut out = json!({
        "TableName": schema.name.as_str(),
        "TableStatus": table.status.word(),
        "ProvisionedThroughput": throughput(schema.throughput, &table.control.throughput, table.at_ms),
        "TableSizeBytes": table.table_size_bytes,
        "ItemCount": table.item_count,
        "TableArn": arn::table(&schema.name),
        "TableId": table.table_id,
        "DeletionProtectionEnabled": schema.deletion_protection,
    });
    if let Some(summary) = billing_mode_summary(table) {
        out["BillingModeSummary"] = summary;
    }
    out
}

/// Members that CreateTable took and the service shows; tags are never shown.
fn add_options(table: &TableDescription, out: &mut Map<String, Value>) {
    let schema = &table.schema;
    if let Some(view_type) = schema.settings.stream {
        out.insert("StreamSpecification".to_owned(), table_settings::stream_to_json(view_type));
    }
    if let Some(label) = &table.latest_stream_label {
        let stream = StreamName { table_name: schema.name.clone(), label: label.clone() };
        out.insert("LatestStreamLabel".to_owned(), json!(label));
        out.insert("LatestStreamArn".to_owned(), json!(arn::stream(&stream)));
    }
    if let Some(encryption) = &schema.settings.encryption {
        let status = if table.status == TableStatus::Updating { "UPDATING" } else { "ENABLED" };
        out.insert(
            "SSEDescription".to_owned(),
            json!({ "Status": status, "SSEType": "KMS", "KMSMasterKeyArn": key_arn(encryption) }),
        );
    }
    if let Some(class) = schema.settings.table_class {
        let mut summary = json!({ "TableClass": class.word() });
        if let (Some(changed), Some(members)) = (table.control.class_changed_ms, summary.as_object_mut()) {
            members.insert("LastUpdateDateTime".to_owned(), timestamp(changed));
        }
        out.insert("TableClassSummary".to_owned(), summary);
    }
    table_settings::on_demand_to_json(&schema.settings.throughput.on_demand, out);
    if table.status != TableStatus::Creating {
        out.insert("WarmThroughput".to_owned(), warm_throughput(schema, None, table.status));
    }
    if let Some(restored) = &table.control.restored {
        let mut summary = Map::new();
        if let Some(arn) = &restored.source_backup_arn {
            summary.insert("SourceBackupArn".to_owned(), json!(arn));
        }
        summary.insert("SourceTableArn".to_owned(), json!(restored.source_table_arn));
        summary.insert("RestoreDateTime".to_owned(), timestamp(restored.restore_ms));
        summary.insert("RestoreInProgress".to_owned(), json!(restored.is_in_progress));
        add_failure(restored.failure.as_ref(), &mut summary);
        out.insert("RestoreSummary".to_owned(), Value::Object(summary));
    }
}

fn indexes(table: &TableDescription, kind: IndexKind) -> Vec<Value> {
    let described = table.schema.indexes.iter().zip(&table.indexes).filter(|(index, _)| index.kind == kind);
    described
        .map(|(index, state)| {
            let mut out = index_to_json(&table.schema, index, state);
            if kind == IndexKind::Global {
                out.insert("IndexStatus".to_owned(), json!(state.status.word()));
                if let Some(backfilling) = state.backfilling {
                    out.insert("Backfilling".to_owned(), json!(backfilling));
                }
                let history = table.control.indexes.get(index.name.as_str()).copied().unwrap_or_default();
                out.insert("ProvisionedThroughput".to_owned(), throughput(index.throughput, &history, table.at_ms));
                table_settings::on_demand_to_json(&index.settings.on_demand, &mut out);
                if state.status != TableStatus::Creating {
                    let warm = warm_throughput(&table.schema, Some(index.name.as_str()), state.status);
                    out.insert("WarmThroughput".to_owned(), warm);
                }
            }
            Value::Object(out)
        })
        .collect()
}

fn index_to_json(schema: &TableSchema, index: &IndexSchema, state: &IndexDescription) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("IndexName".to_owned(), json!(index.name.as_str()));
    out.insert("KeySchema".to_owned(), index_key_schema(index));
    out.insert("Projection".to_owned(), projection(&index.projection));
    out.insert("IndexSizeBytes".to_owned(), json!(state.index_size_bytes));
    out.insert("ItemCount".to_owned(), json!(state.item_count));
    out.insert("IndexArn".to_owned(), json!(format!("{}/index/{}", arn::table(&schema.name), index.name)));
    out
}

/// `AttributeDefinitions`, sorted by name.
pub(super) fn attribute_definitions(schema: &TableSchema) -> Value {
    definitions_to_json(&schema.attribute_definitions())
}

/// `AttributeDefinitions` in this order.
pub(super) fn definitions_to_json(attributes: &[KeyAttribute]) -> Value {
    let definition =
        |attribute: &KeyAttribute| json!({ "AttributeName": attribute.name, "AttributeType": attribute.attribute_type.word() });
    attributes.iter().map(definition).collect()
}

/// `KeySchema` as it was sent.
pub(super) fn key_schema_to_json(elements: &[KeySchemaElement]) -> Value {
    let element =
        |element: &KeySchemaElement| json!({ "AttributeName": element.attribute_name, "KeyType": element.key_type.word() });
    elements.iter().map(element).collect()
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
    let mut out = Map::new();
    for (name, moment) in [("LastIncreaseDateTime", history.last_increase_ms), ("LastDecreaseDateTime", history.last_decrease_ms)] {
        if let Some(moment) = moment {
            out.insert(name.to_owned(), timestamp(moment));
        }
    }
    let today = if throughput.is_some() { history.decreases_today(at_ms) } else { 0 };
    out.insert("NumberOfDecreasesToday".to_owned(), json!(today));
    out.insert("ReadCapacityUnits".to_owned(), json!(throughput.map_or(0, |units| units.read_capacity_units)));
    out.insert("WriteCapacityUnits".to_owned(), json!(throughput.map_or(0, |units| units.write_capacity_units)));
    Value::Object(out)
}

fn warm_throughput(schema: &TableSchema, index: Option<&str>, state: TableStatus) -> Value {
    let warm = schema.effective_warm(index);
    json!({
        "ReadUnitsPerSecond": warm.read_capacity_units,
        "WriteUnitsPerSecond": warm.write_capacity_units,
        "Status": state.word(),
    })
}

/// The key that an `SSESpecification` names, or the account's own for DynamoDB.
fn key_arn(encryption: &Encryption) -> String {
    match encryption.kms_master_key_id.as_deref() {
        Some(arn) if arn.starts_with("arn:") => arn.to_owned(),
        Some(id) => format!("arn:aws:kms:{REGION}:{ACCOUNT}:key/{id}"),
        None => format!("arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/dynamodb"),
    }
}

/// `FailureCode` and `FailureMessage`, if something failed.
pub(super) fn add_failure(failure: Option<&Failure>, out: &mut Map<String, Value>) {
    if let Some(failure) = failure {
        out.insert("FailureCode".to_owned(), json!(failure.code));
        out.insert("FailureMessage".to_owned(), json!(failure.message));
    }
}

/// Seconds since the epoch with milliseconds as a fraction.
#[must_use]
pub fn timestamp(milliseconds: u64) -> Value {
    // Exact: milliseconds of any date that matters are far below 2^53.
    let seconds = milliseconds as f64 / 1000.0;
    json!(seconds)
}
