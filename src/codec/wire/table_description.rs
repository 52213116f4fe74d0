//! The JSON form of `TableDescription`, the output of every control operation on a table
//! (docs/dynamodb.md 11.1, 11.2, 11.4): its writer, and its reader for another service's. Fields
//! without a member in the API stay empty there: tags and policy, distinct partition keys,
//! violations, the lag of indexes. `tables` has the operations, `table_settings` the settings in a
//! description.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::declared::tree_of;
use super::field::{Field, Group, Plain, Sender, optional};
use super::members::JobFailureMembers;
use super::shape::Members;
use super::write::object;
use super::{response, table_settings};
use crate::model::api::table_control::{RestoreSummary, ThroughputHistory};
use crate::model::api::tables::{IndexDefinition, ProjectionType, VectorIndexDefinition};
use crate::model::api::{
    IndexDescription, KeySchemaElement, StreamName, TableControl, TableDescription, TableStatus,
};
use crate::model::arn::{self, ACCOUNT, REGION};
use crate::model::schema::{
    BillingMode, Encryption, IndexKind, KeyAttribute, KeyAttributeType, KeyType, ON_DEMAND_WARM,
    OnDemandThroughput, ProvisionedThroughput, TableClass, ThroughputSettings, WarmThroughput,
};
use crate::model::{
    ApiEnum, Error, IndexSchema, KeySchema, Projection, TableSchema, TableSettings,
};

/// Returns the response of DescribeTable as a tree.
#[must_use]
pub fn describe_to_json(table: &TableDescription) -> Value {
    json!({ "Table": to_json(table) })
}

/// Returns the description as CreateTable and DescribeTable give it; tags are never shown.
#[must_use]
pub fn to_json(table: &TableDescription) -> Value {
    let (schema, settings) = (&table.schema, &table.schema.settings);
    let members = tree_of(settings);
    let label = table.latest_stream_label.as_ref();
    let stream = label.map(|label| StreamName {
        table_name: schema.name.clone(),
        label: label.clone(),
    });
    object! {
        "AttributeDefinitions": attribute_definitions(schema),
        "TableName": schema.name.as_str(),
        "KeySchema": table_key_schema(schema),
        "TableStatus": table.status.as_str(),
        "CreationDateTime": timestamp(table.created_ms),
        "ProvisionedThroughput": throughput(schema.throughput, &table.control.throughput, table.at_ms),
        "TableSizeBytes": table.table_size_bytes,
        "ItemCount": table.item_count,
        "TableArn": arn::table(&schema.name),
        "TableId": table.table_id,
        "BillingModeSummary": billing_mode_summary(table),
        "LocalSecondaryIndexes": indexes(table, IndexKind::Local),
        "GlobalSecondaryIndexes": indexes(table, IndexKind::Global),
        "VectorIndexes": indexes(table, IndexKind::Vector),
        "DeletionProtectionEnabled": schema.deletion_protection,
        "StreamSpecification": members.get("StreamSpecification"),
        "LatestStreamLabel": label,
        "LatestStreamArn": stream.as_ref().map(arn::stream),
        "SSEDescription": settings.encryption.as_ref().map(|encryption| encryption_to_json(encryption, table.status)),
        "TableClassSummary": settings.table_class.map(|class| object! {
            "TableClass": class.as_str(),
            "LastUpdateDateTime": table.control.class_changed_ms.map(timestamp),
        }),
        "OnDemandThroughput": members.get("OnDemandThroughput"),
        "WarmThroughput": warm_throughput(schema, None, table.status),
        "RestoreSummary": table.control.restored.as_ref().map(restored_to_json),
    }
}

fn encryption_to_json(encryption: &Encryption, state: TableStatus) -> Value {
    let status = if state == TableStatus::Updating {
        "UPDATING"
    } else {
        "ENABLED"
    };
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

/// Returns `BillingModeSummary`, which a table has that is or was on demand.
fn billing_mode_summary(table: &TableDescription) -> Option<Value> {
    let mode = table.schema.billing_mode;
    let created_on_demand = (mode == BillingMode::PayPerRequest).then_some(table.created_ms);
    let since = table.control.on_demand_since_ms.or(created_on_demand)?;
    Some(
        json!({ "BillingMode": mode.as_str(), "LastUpdateToPayPerRequestDateTime": timestamp(since) }),
    )
}

/// Returns the description of a table that is being deleted: without keys, definitions, indexes and
/// creation time.
#[must_use]
pub fn deleted_to_json(table: &TableDescription) -> Value {
    let schema = &table.schema;
    object! {
        "TableName": schema.name.as_str(),
        "TableStatus": table.status.as_str(),
        "ProvisionedThroughput": throughput(schema.throughput, &table.control.throughput, table.at_ms),
        "TableSizeBytes": table.table_size_bytes,
        "ItemCount": table.item_count,
        "TableArn": arn::table(&schema.name),
        "TableId": table.table_id,
        "DeletionProtectionEnabled": schema.deletion_protection,
        "BillingModeSummary": billing_mode_summary(table),
    }
}

/// Returns the indexes of that kind, if there are any.
fn indexes(table: &TableDescription, kind: IndexKind) -> Option<Vec<Value>> {
    let described = table
        .schema
        .indexes
        .iter()
        .zip(&table.indexes)
        .filter(|(index, _)| index.kind == kind);
    let indexes: Vec<Value> = described
        .map(|(index, state)| index_to_json(table, index, state))
        .collect();
    (!indexes.is_empty()).then_some(indexes)
}

/// Returns the description of an index. A local one shares its table's status and throughput.
fn index_to_json(table: &TableDescription, index: &IndexSchema, state: &IndexDescription) -> Value {
    let (schema, name) = (&table.schema, index.name.as_str());
    let global = (index.kind == IndexKind::Global).then_some(index);
    let online = (index.kind != IndexKind::Local).then_some(state);
    let vector = VectorIndexDefinition::of(&index.into()).map(|vector| tree_of(&vector));
    let of_vector = |name: &str| vector.as_ref().and_then(|members| members.get(name));
    let history = table.control.indexes.get(name).copied().unwrap_or_default();
    object! {
        "IndexName": name,
        "KeySchema": vector.is_none().then(|| index_key_schema(index)),
        "VectorAttribute": of_vector("VectorAttribute"),
        "SearchSchema": of_vector("SearchSchema"),
        "Dimensions": of_vector("Dimensions"),
        "DistanceFunction": of_vector("DistanceFunction"),
        "Projection": projection(&index.projection),
        "IndexSizeBytes": state.index_size_bytes,
        "ItemCount": state.item_count,
        "IndexArn": format!("{}/index/{name}", arn::table(&schema.name)),
        "IndexStatus": online.map(|state| state.status.as_str()),
        "Backfilling": online.and_then(|state| state.backfilling),
        "ProvisionedThroughput": global.map(|index| throughput(index.throughput, &history, table.at_ms)),
        "OnDemandThroughput": global.and_then(|index| tree_of(&index.settings).remove("OnDemandThroughput")),
        "WarmThroughput": global.and_then(|_| warm_throughput(schema, Some(name), state.status)),
    }
}

/// Returns `AttributeDefinitions`, sorted by name.
pub(super) fn attribute_definitions(schema: &TableSchema) -> Value {
    let definition = |attribute: &KeyAttribute| json!({ "AttributeName": attribute.name, "AttributeType": attribute.attribute_type.as_str() });
    schema
        .attribute_definitions()
        .iter()
        .map(definition)
        .collect()
}

pub(super) fn table_key_schema(schema: &TableSchema) -> Value {
    key_schema(
        std::slice::from_ref(&schema.key.partition),
        schema.key.sort.as_slice(),
    )
}

pub(super) fn index_key_schema(index: &IndexSchema) -> Value {
    key_schema(&index.partition, &index.sort)
}

fn key_schema(partition: &[KeyAttribute], sort: &[KeyAttribute]) -> Value {
    let element = |key_type: &'static str| move |attribute: &KeyAttribute| json!({ "AttributeName": attribute.name, "KeyType": key_type });
    partition
        .iter()
        .map(element("HASH"))
        .chain(sort.iter().map(element("RANGE")))
        .collect()
}

pub(super) fn projection(projection: &Projection) -> Value {
    match projection {
        Projection::All => json!({ "ProjectionType": "ALL" }),
        Projection::KeysOnly => json!({ "ProjectionType": "KEYS_ONLY" }),
        Projection::Include(names) => {
            json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names })
        }
    }
}

/// Returns `ProvisionedThroughputDescription`; all zero on demand.
fn throughput(
    throughput: Option<ProvisionedThroughput>,
    history: &ThroughputHistory,
    at_ms: u64,
) -> Value {
    let units = throughput.unwrap_or(ProvisionedThroughput {
        read_capacity_units: 0,
        write_capacity_units: 0,
    });
    object! {
        "LastIncreaseDateTime": history.last_increase_ms.map(timestamp),
        "LastDecreaseDateTime": history.last_decrease_ms.map(timestamp),
        "NumberOfDecreasesToday": throughput.map_or(0, |_| history.decreases_today(at_ms)),
        "ReadCapacityUnits": units.read_capacity_units,
        "WriteCapacityUnits": units.write_capacity_units,
    }
}

/// Returns `WarmThroughput`; a table or index being created has none yet.
fn warm_throughput(schema: &TableSchema, index: Option<&str>, state: TableStatus) -> Option<Value> {
    let warm = schema.effective_warm(index);
    let warm_throughput = json!({
        "ReadUnitsPerSecond": warm.read_capacity_units,
        "WriteUnitsPerSecond": warm.write_capacity_units,
        "Status": state.as_str(),
    });
    (state != TableStatus::Creating).then_some(warm_throughput)
}

/// Returns the ARN of the key that an `SSESpecification` names, or of the account's own key for
/// DynamoDB.
fn key_arn(encryption: &Encryption) -> String {
    match encryption.kms_master_key_id.as_deref() {
        Some(arn) if arn.starts_with("arn:") => arn.to_owned(),
        Some(id) => format!("arn:aws:kms:{REGION}:{ACCOUNT}:key/{id}"),
        None => format!("arn:aws:kms:{REGION}:{ACCOUNT}:alias/aws/dynamodb"),
    }
}

/// Returns seconds since the epoch with milliseconds as a fraction.
#[must_use]
pub fn timestamp(milliseconds: u64) -> Value {
    // Exact: the milliseconds of any realistic date are far below 2^53.
    let seconds = milliseconds as f64 / 1000.0;
    json!(seconds)
}

/// The name of the KMS key of a table that names none.
const AWS_MANAGED_KEY: &str = ":alias/aws/dynamodb";

/// Reads the description of a table; `at_ms` is not in it.
///
/// # Errors
/// [`Error::Remote`] if a name or the key schema is missing or wrong.
pub fn read(members: Members<'_>) -> Result<TableDescription, Error> {
    let billing = members.structure("BillingModeSummary");
    let billing_mode = billing.map_or(Ok(None), |billing| known(billing, "BillingMode"))?;
    let billing_mode = billing_mode.unwrap_or(BillingMode::Provisioned);
    let created_ms = members.time_ms("CreationDateTime").unwrap_or(0);
    let status = status(members, "TableStatus");
    let types = AttributeTypes::of(members);
    let (schemas, indexes) = read_indexes(members, &types, billing_mode, status)?;
    let schema = TableSchema {
        name: response::table_name(response::text(members, "TableName")?)?,
        key: types.table_key(members)?,
        indexes: schemas,
        billing_mode,
        throughput: read_throughput(members)?,
        deletion_protection: members
            .boolean("DeletionProtectionEnabled")
            .unwrap_or(false),
        settings: settings(members, billing_mode)?,
    };
    let on_demand_since_ms =
        billing.and_then(|billing| billing.time_ms("LastUpdateToPayPerRequestDateTime"));
    let is_created_so =
        billing_mode == BillingMode::PayPerRequest && on_demand_since_ms == Some(created_ms);
    Ok(TableDescription {
        schema,
        status,
        table_id: members.owned("TableId").unwrap_or_default(),
        created_ms,
        item_count: response::count(members, "ItemCount")?,
        table_size_bytes: response::count(members, "TableSizeBytes")?,
        indexes,
        latest_stream_label: members.owned("LatestStreamLabel"),
        control: control(members, on_demand_since_ms.filter(|_| !is_created_so))?,
        index_lag: None,
        at_ms: 0,
    })
}

/// Reads the description of a table that is being deleted over `before`, as keys and indexes are
/// not in it.
#[must_use]
pub fn read_deleted(members: Members<'_>, before: TableDescription) -> TableDescription {
    TableDescription {
        status: status(members, "TableStatus"),
        ..before
    }
}

/// `AttributeDefinitions`: the types by attribute name.
struct AttributeTypes<'a>(BTreeMap<&'a str, KeyAttributeType>);

impl<'a> AttributeTypes<'a> {
    fn of(members: Members<'a>) -> Self {
        let one = |members: Members<'a>| {
            let attribute_type = members.word("AttributeType")?;
            Some((members.string("AttributeName")?, attribute_type))
        };
        // A key attribute without a readable definition is an error of the key.
        let definitions = members.list("AttributeDefinitions").unwrap_or_default();
        Self(
            definitions
                .filter_map(Members::of)
                .filter_map(one)
                .collect(),
        )
    }

    /// Returns the attributes of that part of a key.
    fn of_key(
        &self,
        elements: &[KeySchemaElement],
        part: KeyType,
    ) -> Result<Vec<KeyAttribute>, Error> {
        let attribute = |element: &KeySchemaElement| {
            let name = element.attribute_name.clone();
            match self.0.get(name.as_str()) {
                Some(&attribute_type) => Ok(KeyAttribute {
                    name,
                    attribute_type,
                }),
                None => Err(response::missing(&format!(
                    "AttributeDefinitions of {name}"
                ))),
            }
        };
        elements
            .iter()
            .filter(|element| element.key_type == part)
            .map(attribute)
            .collect()
    }

    fn table_key(&self, members: Members<'_>) -> Result<KeySchema, Error> {
        let elements = table_settings::key_schema(members)?;
        let partition = self
            .of_key(&elements, KeyType::Hash)?
            .pop()
            .ok_or_else(|| response::missing("KeySchema"))?;
        Ok(KeySchema {
            partition,
            sort: self.of_key(&elements, KeyType::Range)?.pop(),
        })
    }
}

type IndexLists = (Vec<IndexSchema>, Vec<IndexDescription>);

/// Reads the local indexes, then the global ones, then those of vectors.
fn read_indexes(
    members: Members<'_>,
    types: &AttributeTypes<'_>,
    mode: BillingMode,
    table: TableStatus,
) -> Result<IndexLists, Error> {
    let mut all = IndexLists::default();
    for (name, kind) in [
        ("LocalSecondaryIndexes", IndexKind::Local),
        ("GlobalSecondaryIndexes", IndexKind::Global),
        ("VectorIndexes", IndexKind::Vector),
    ] {
        for json in response::list(members, name)? {
            let members = response::members(json)?;
            let vector = match kind {
                IndexKind::Vector => VectorIndexDefinition::read(json, Sender::Service)
                    .map_err(response::from_wire_error)?
                    .map(IndexDefinition::from),
                IndexKind::Global | IndexKind::Local => None,
            };
            let elements = match &vector {
                Some(definition) => definition.key_schema.clone(),
                None => table_settings::key_schema(members)?,
            };
            let is_global = kind == IndexKind::Global;
            let status = if kind == IndexKind::Local {
                table
            } else {
                status(members, "IndexStatus")
            };
            // Some services list an index that is being deleted without the definitions of its key;
            // nothing of it can be read any more.
            if status == TableStatus::Deleting
                && (elements.is_empty()
                    || !elements
                        .iter()
                        .all(|element| types.0.contains_key(&*element.attribute_name)))
            {
                continue;
            }
            let partition = types.of_key(&elements, KeyType::Hash)?;
            if partition.is_empty() && vector.is_none() {
                return Err(response::missing("KeySchema"));
            }
            all.0.push(IndexSchema {
                name: response::index_name(response::text(members, "IndexName")?)?,
                kind,
                partition,
                sort: types.of_key(&elements, KeyType::Range)?,
                projection: read_projection(members)?,
                throughput: read_throughput(members)?.filter(|_| is_global),
                settings: if is_global {
                    throughput_settings(members, mode)?
                } else {
                    ThroughputSettings::default()
                },
                vector: vector.and_then(|definition| definition.vector),
            });
            all.1.push(IndexDescription {
                status,
                backfilling: members.boolean("Backfilling"),
                progress: None,
                violations: 0,
                item_count: response::count(members, "ItemCount")?,
                index_size_bytes: response::count(members, "IndexSizeBytes")?,
                partition_keys: 0,
            });
        }
    }
    Ok(all)
}

/// Reads `Projection`; some services leave it out where all attributes are projected.
fn read_projection(members: Members<'_>) -> Result<Projection, Error> {
    let Some(json) = members.get("Projection") else {
        return Ok(Projection::All);
    };
    let projection = response::members(json)?;
    Ok(match known(projection, "ProjectionType")? {
        Some(ProjectionType::KeysOnly) => Projection::KeysOnly,
        Some(ProjectionType::Include) => {
            let names = optional::<_, Plain>(projection, "NonKeyAttributes", Sender::Service)
                .map_err(response::from_wire_error)?;
            Projection::Include(names.ok_or_else(|| response::missing("NonKeyAttributes"))?)
        }
        Some(ProjectionType::All) | None => Projection::All,
    })
}

/// Reads an enum value, if present.
///
/// # Errors
/// [`Error::Remote`] for an unknown word, which must not count as the default.
fn known<T: ApiEnum>(members: Members<'_>, name: &str) -> Result<Option<T>, Error> {
    let unknown = |word| response::unreadable(format_args!("it has the unknown {name} {word:?}"));
    members
        .string(name)
        .map(|word| T::parse(word).ok_or_else(|| unknown(word)))
        .transpose()
}

/// Reads a status. One unknown to us counts as updating, in which a table must not be changed.
fn status(members: Members<'_>, name: &str) -> TableStatus {
    members.string(name).map_or(TableStatus::Active, |word| {
        TableStatus::parse(word).unwrap_or(TableStatus::Updating)
    })
}

/// Reads the provisioned units. On demand the members are present and zero; while a table becomes
/// so, they keep their old values.
fn read_throughput(members: Members<'_>) -> Result<Option<ProvisionedThroughput>, Error> {
    let units = table_settings::throughput(members)?;
    Ok(units.filter(|units| units.read_capacity_units > 0 || units.write_capacity_units > 0))
}

fn settings(members: Members<'_>, mode: BillingMode) -> Result<TableSettings, Error> {
    let stream = members
        .structure("StreamSpecification")
        .filter(|stream| stream.boolean("StreamEnabled") == Some(true));
    let class = members
        .structure("TableClassSummary")
        .and_then(|class| class.string("TableClass"));
    let view_type = |stream| {
        known(stream, "StreamViewType")?.ok_or_else(|| response::missing("StreamViewType"))
    };
    Ok(TableSettings {
        stream: stream.map(view_type).transpose()?,
        encryption: members.structure("SSEDescription").and_then(encryption),
        table_class: class.and_then(TableClass::parse),
        tags: Vec::new(),
        resource_policy: None,
        throughput: throughput_settings(members, mode)?,
    })
}

fn encryption(members: Members<'_>) -> Option<Encryption> {
    let is_on = matches!(
        members.string("Status"),
        Some("ENABLED" | "ENABLING" | "UPDATING")
    );
    let key = members
        .owned("KMSMasterKeyArn")
        .filter(|key| !key.ends_with(AWS_MANAGED_KEY));
    is_on.then_some(Encryption {
        enabled: true,
        kms_master_key_id: key,
    })
}

/// Reads the maxima that are set, which the service reports as -1 if they are not, and warm
/// throughput above the default.
fn throughput_settings(
    members: Members<'_>,
    mode: BillingMode,
) -> Result<ThroughputSettings, Error> {
    let ThroughputSettings { on_demand, warm } = table_settings::settings(members)?;
    let above = |units: Option<i64>, base: u64| {
        units.filter(|&units| u64::try_from(units).is_ok_and(|units| units > base))
    };
    let base = if mode == BillingMode::PayPerRequest {
        Some(ON_DEMAND_WARM)
    } else {
        table_settings::throughput(members)?
    };
    let (read, write) = base.map_or((0, 0), |base| {
        (base.read_capacity_units, base.write_capacity_units)
    });
    Ok(ThroughputSettings {
        on_demand: OnDemandThroughput {
            max_read_request_units: above(on_demand.max_read_request_units, 0),
            max_write_request_units: above(on_demand.max_write_request_units, 0),
        },
        warm: WarmThroughput {
            read_units_per_second: above(warm.read_units_per_second, read),
            write_units_per_second: above(warm.write_units_per_second, write),
        },
    })
}

fn control(members: Members<'_>, on_demand_since_ms: Option<u64>) -> Result<TableControl, Error> {
    let mut indexes = BTreeMap::new();
    for json in response::list(members, "GlobalSecondaryIndexes")? {
        let members = response::members(json)?;
        let history = history(members)?;
        if history != ThroughputHistory::default() {
            let name = response::text(members, "IndexName")?;
            indexes.insert(name.to_owned(), history);
        }
    }
    Ok(TableControl {
        throughput: history(members)?,
        indexes,
        on_demand_since_ms,
        class_changed_ms: members
            .structure("TableClassSummary")
            .and_then(|class| class.time_ms("LastUpdateDateTime")),
        restored: members.structure("RestoreSummary").map(restored),
        ..TableControl::default()
    })
}

fn history(members: Members<'_>) -> Result<ThroughputHistory, Error> {
    let Some(members) = members.structure("ProvisionedThroughput") else {
        return Ok(ThroughputHistory::default());
    };
    Ok(ThroughputHistory {
        last_increase_ms: members.time_ms("LastIncreaseDateTime"),
        last_decrease_ms: members.time_ms("LastDecreaseDateTime"),
        decreases: response::count(members, "NumberOfDecreasesToday")?,
    })
}

fn restored(members: Members<'_>) -> RestoreSummary {
    RestoreSummary {
        source_backup_arn: members.owned("SourceBackupArn"),
        source_table_arn: members.owned("SourceTableArn").unwrap_or_default(),
        restore_ms: members.time_ms("RestoreDateTime").unwrap_or(0),
        is_in_progress: members.boolean("RestoreInProgress").unwrap_or(false),
        failure: JobFailureMembers::read(members, Sender::Service).unwrap_or_default(),
    }
}
