//! Backups and point-in-time recovery: requests, and descriptions of what they made (docs/dynamodb.md 20.1, 20.2).

use serde_json::{Map, Value, json};

use super::create_table::{self, THROUGHPUT_MEMBER};
use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Member, Members, Rule, Shape, Structure};
use super::table_description::{self, add_failure, timestamp};
use super::table_members;
use super::table_settings;
use crate::codec::json::document::{Document, Json};
use crate::model::Word;
use crate::model::api::TableDescription;
use crate::model::api::backup::{
    Backup, CreateBackupRequest, ListBackupsRequest, ListBackupsResponse, RecoveryWindow, RestoreFromBackupRequest,
    RestoreOverrides, RestoreToPointInTimeRequest, UpdateContinuousBackupsRequest,
};
use crate::model::arn;
use crate::model::error::RecoveryError;
use crate::model::schema::IndexKind;
use crate::model::{TableName, TableSchema};

const ARN_RULES: &[Rule] = &[Rule::LengthMin(37), Rule::LengthMax(1024)];
const BACKUP_ARN: Member = Member::new("BackupArn", Shape::String).required().rules(ARN_RULES);
const TARGET: Member = Member::new("TargetTableName", Shape::String).required().rules(NAME_RULES);

static CREATE: Structure = Structure {
    name: "CreateBackupInput",
    members: &[Member::new("TableName", Shape::String), Member::new("BackupName", Shape::String).required().rules(NAME_RULES)],
};
static BACKUP: Structure = Structure { name: "DescribeBackupInput", members: &[BACKUP_ARN] };
static LIST: Structure = Structure {
    name: "ListBackupsInput",
    members: &[
        Member::new("TableName", Shape::String),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(100)]),
        Member::new("TimeRangeLowerBound", Shape::Long),
        Member::new("TimeRangeUpperBound", Shape::Long),
        Member::new("ExclusiveStartBackupArn", Shape::String).rules(ARN_RULES),
        Member::new("BackupType", Shape::String).rules(&[Rule::OneOf(&["USER", "SYSTEM", "AWS_BACKUP", "ALL"])]),
    ],
};

macro_rules! restore_shape {
    ($name:literal, $($first:expr),*) => {
        Structure {
            name: $name,
            members: &[
                $($first,)*
                TARGET,
                Member::new("BillingModeOverride", Shape::String).rules(&[Rule::OneOf(&["PROVISIONED", "PAY_PER_REQUEST"])]),
                Member::new("GlobalSecondaryIndexOverride", Shape::List(&create_table::GLOBAL_INDEX)),
                Member::new("LocalSecondaryIndexOverride", Shape::List(&create_table::LOCAL_INDEX)),
                Member { name: "ProvisionedThroughputOverride", ..THROUGHPUT_MEMBER },
                Member { name: "OnDemandThroughputOverride", ..table_settings::ON_DEMAND_THROUGHPUT },
                Member { name: "SSESpecificationOverride", ..table_settings::SSE_SPECIFICATION },
            ],
        }
    };
}

static FROM_BACKUP: Structure = restore_shape!("RestoreTableFromBackupInput", BACKUP_ARN);
static TO_POINT_IN_TIME: Structure = restore_shape!(
    "RestoreTableToPointInTimeInput",
    Member::new("SourceTableArn", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(1024)]),
    Member::new("SourceTableName", Shape::String).rules(NAME_RULES),
    Member::new("UseLatestRestorableTime", Shape::Boolean),
    Member::new("RestoreDateTime", Shape::Long)
);

static CONTINUOUS: Structure = Structure {
    name: "UpdateContinuousBackupsInput",
    members: &[
        Member::new("TableName", Shape::String),
        Member::new(
            "PointInTimeRecoverySpecification",
            Shape::Structure(&Structure {
                name: "PointInTimeRecoverySpecification",
                members: &[
                    Member::new("PointInTimeRecoveryEnabled", Shape::Boolean).required(),
                    Member::new("RecoveryPeriodInDays", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(35)]),
                ],
            }),
        )
        .required(),
    ],
};
static DESCRIBE_CONTINUOUS: Structure =
    Structure { name: "DescribeContinuousBackupsInput", members: &[Member::new("TableName", Shape::String)] };

fn read<'a>(json: Json<'a>, shape: &Structure) -> Result<Members<'a>, WireError> {
    let members = members::typed(json, shape)?;
    members::constrained(json, shape)?;
    Ok(members)
}

/// CreateBackup.
///
/// # Errors
/// Types, constraints, the table's name.
pub fn create_request(json: Json<'_>) -> Result<CreateBackupRequest, WireError> {
    let members = members::typed(json, &CREATE)?;
    let table_name = names::control_table(members)?;
    members::constrained(json, &CREATE)?;
    Ok(CreateBackupRequest { table_name, backup_name: members.owned("BackupName").unwrap_or_default() })
}

/// DescribeBackup and DeleteBackup: the ARN.
///
/// # Errors
/// Types, constraints.
pub fn arn_request(json: Json<'_>) -> Result<String, WireError> {
    Ok(read(json, &BACKUP)?.owned("BackupArn").unwrap_or_default())
}

/// ListBackups.
///
/// # Errors
/// Types, constraints, the table's name.
pub fn list_request(json: Json<'_>) -> Result<ListBackupsRequest, WireError> {
    let members = read(json, &LIST)?;
    Ok(ListBackupsRequest {
        table_name: if members.has("TableName") { Some(names::control_table(members)?) } else { None },
        limit: members.count("Limit"),
        lower_ms: members.time_ms("TimeRangeLowerBound"),
        upper_ms: members.time_ms("TimeRangeUpperBound"),
        exclusive_start_arn: members.owned("ExclusiveStartBackupArn"),
        backup_type: members.word("BackupType").unwrap_or_default(),
    })
}

fn overrides(members: Members<'_>) -> Result<RestoreOverrides, WireError> {
    // Their members are those of UpdateTable by other names: put under these, one reader serves both.
    let renamed = |name: &str, as_name: &str| {
        let value = members.get(name).map_or(Value::Null, Json::to_value);
        Document::of(&Value::Object(Map::from_iter([(as_name.to_owned(), value)])))
    };
    let throughput = renamed("ProvisionedThroughputOverride", "ProvisionedThroughput");
    let maxima = renamed("OnDemandThroughputOverride", "OnDemandThroughput");
    let sse = renamed("SSESpecificationOverride", "SSESpecification");
    fn of(document: &Document) -> Result<Members<'_>, WireError> {
        Members::of(document.root()).ok_or(WireError::NotAnObject)
    }
    Ok(RestoreOverrides {
        billing_mode: members.word("BillingModeOverride"),
        throughput: table_members::throughput(of(&throughput)?),
        on_demand: table_settings::on_demand(of(&maxima)?),
        encryption: table_settings::encryption(of(&sse)?)?,
        global_indexes: create_table::indexes(members, "GlobalSecondaryIndexOverride", IndexKind::Global)?,
        local_indexes: create_table::indexes(members, "LocalSecondaryIndexOverride", IndexKind::Local)?,
    })
}

fn target(members: Members<'_>) -> Result<TableName, WireError> {
    names::plain_table(members.string("TargetTableName").unwrap_or_default())
}

/// RestoreTableFromBackup.
///
/// # Errors
/// Types, constraints, names.
pub fn restore_request(json: Json<'_>) -> Result<RestoreFromBackupRequest, WireError> {
    let members = read(json, &FROM_BACKUP)?;
    Ok(RestoreFromBackupRequest {
        target: target(members)?,
        backup_arn: members.owned("BackupArn").unwrap_or_default(),
        overrides: overrides(members)?,
    })
}

/// RestoreTableToPointInTime.
///
/// # Errors
/// Types, constraints, names, and not exactly one source or time.
pub fn point_in_time_request(json: Json<'_>) -> Result<RestoreToPointInTimeRequest, WireError> {
    let members = read(json, &TO_POINT_IN_TIME)?;
    let source = match (members.string("SourceTableName"), members.string("SourceTableArn")) {
        (Some(text), None) | (None, Some(text)) => names::table_or_arn(text)?,
        (Some(_), Some(_)) | (None, None) => return Err(RecoveryError::RestoreSourceChoice.into()),
    };
    let time_ms = members.time_ms("RestoreDateTime");
    if members.boolean("UseLatestRestorableTime").unwrap_or(false) == time_ms.is_some() {
        return Err(RecoveryError::RestoreTimeChoice.into());
    }
    Ok(RestoreToPointInTimeRequest { source, target: target(members)?, time_ms, overrides: overrides(members)? })
}

/// UpdateContinuousBackups.
///
/// # Errors
/// Types, constraints, the table's name.
pub fn continuous_request(json: Json<'_>) -> Result<UpdateContinuousBackupsRequest, WireError> {
    let members = members::typed(json, &CONTINUOUS)?;
    let table_name = names::control_table(members)?;
    members::constrained(json, &CONTINUOUS)?;
    let specification = members.structure("PointInTimeRecoverySpecification");
    Ok(UpdateContinuousBackupsRequest {
        table_name,
        enabled: specification.and_then(|of| of.boolean("PointInTimeRecoveryEnabled")).unwrap_or(false),
        period_days: specification.and_then(|of| of.count("RecoveryPeriodInDays")),
    })
}

/// DescribeContinuousBackups: the table.
///
/// # Errors
/// Types, the table's name.
pub fn describe_continuous_request(json: Json<'_>) -> Result<TableName, WireError> {
    names::control_table(members::typed(json, &DESCRIBE_CONTINUOUS)?)
}

/// The body of CreateBackup.
#[must_use]
pub fn details_to_json(backup: &Backup) -> Value {
    json!({ "BackupDetails": details(backup) })
}

fn details(backup: &Backup) -> Value {
    let mut out = json!({
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": backup.status.word(),
        "BackupType": if backup.is_system { "SYSTEM" } else { "USER" },
        "BackupCreationDateTime": timestamp(backup.created_ms),
    });
    if let Some(members) = out.as_object_mut() {
        add_failure(backup.failure.as_ref(), members);
    }
    out
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
    let mut out = json!({
        "TableName": schema.name.as_str(),
        "TableId": table.table_id,
        "TableArn": arn::table(&schema.name),
        "TableSizeBytes": table.table_size_bytes,
        "KeySchema": table_description::table_key_schema(schema),
        "TableCreationDateTime": timestamp(table.created_ms),
        "ProvisionedThroughput": { "ReadCapacityUnits": units.0, "WriteCapacityUnits": units.1 },
        "ItemCount": table.item_count,
        "BillingMode": schema.billing_mode.word(),
    });
    if let Some(members) = out.as_object_mut() {
        table_settings::on_demand_to_json(&schema.settings.throughput.on_demand, members);
    }
    out
}

fn feature_details(schema: &TableSchema) -> Value {
    let mut out = Map::new();
    for (kind, name) in [(IndexKind::Local, "LocalSecondaryIndexes"), (IndexKind::Global, "GlobalSecondaryIndexes")] {
        let indexes: Vec<Value> = schema.indexes_of(kind).map(|index| Value::Object(create_table::index_to_json(index))).collect();
        if !indexes.is_empty() {
            out.insert(name.to_owned(), Value::Array(indexes));
        }
    }
    if let Some(view_type) = schema.settings.stream {
        out.insert("StreamDescription".to_owned(), table_settings::stream_to_json(view_type));
    }
    if schema.settings.encryption.is_some() {
        out.insert("SSEDescription".to_owned(), json!({ "Status": "ENABLED", "SSEType": "KMS" }));
    }
    Value::Object(out)
}

/// The body of ListBackups.
#[must_use]
pub fn list_to_json(response: &ListBackupsResponse) -> Value {
    let summary = |backup: &Backup| {
        let mut out = details(backup);
        if let Some(members) = out.as_object_mut() {
            members.insert("TableName".to_owned(), json!(backup.table.schema.name.as_str()));
            members.insert("TableId".to_owned(), json!(backup.table.table_id));
            members.insert("TableArn".to_owned(), json!(arn::table(&backup.table.schema.name)));
        }
        out
    };
    let mut out = json!({ "BackupSummaries": response.backups.iter().map(summary).collect::<Vec<_>>() });
    if let (Some(arn), Some(members)) = (&response.last_evaluated_arn, out.as_object_mut()) {
        members.insert("LastEvaluatedBackupArn".to_owned(), json!(arn));
    }
    out
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
