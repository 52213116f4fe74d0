//! The JSON form of operations on tables (docs/dynamodb.md 11): the parts that the declarations in
//! `model::api::tables` do not generate, and the conversion of a stored definition to a request
//! that recreates it. `table_description` has the responses, `table_settings` the settings.

use serde_json::{Map, Value, json};

use super::declared::*;
use super::names;
use super::table_settings::{
    self, KnownClass, ON_DEMAND_THROUGHPUT, SSE_SPECIFICATION, STREAM_SPECIFICATION, TABLE_CLASS,
    TAGS, WARM_THROUGHPUT,
};
use super::write::{add, object};
use super::{members, response, table_description};
use crate::model::api::tables::*;
use crate::model::api::{IndexDefinition, StreamViewType, TableDescription};
use crate::model::error::UpdateTableError;
use crate::model::limits::{
    INDEX_KEY_ATTRIBUTES_MAX, KEY_NAME_CHARS_MAX, LIST_TABLES_MAX, NON_KEY_ATTRIBUTES_MAX,
};
use crate::model::schema::{
    BillingMode, DistanceFunction, Encryption, IndexKind, KeyAttribute, KeyAttributeType, KeyType,
    OnDemandThroughput, ProvisionedThroughput, TableClass, ThroughputSettings, WarmThroughput,
};
use crate::model::{IndexName, IndexSchema, TableSchema, TableSettings};

tables!(wire);

forms! {
    /// The name of a table; a service may report its ARN.
    Named of String, Shape::String, &[], |json, sender| Ok(TableName::read(json, sender)?.map(Into::into));
}

impl Field for TableDescription {
    const SHAPE: Shape = Shape::Structure(&Structure {
        name: "TableDescription",
        members: &[],
    });

    fn read(json: Json<'_>, _: Sender) -> Result<Option<Self>, WireError> {
        Ok(Some(table_description::read(response::members(json)?)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(table_description::to_json(self).to_string().into_bytes());
    }
}

/// A table that is being deleted, described without keys and indexes:
/// [`table_description::read_deleted`] reads it.
#[derive(Debug)]
pub struct DeletedTable;

impl Form<TableDescription> for DeletedTable {
    const SHAPE: Shape = TableDescription::SHAPE;

    fn read(_: Json<'_>, _: Sender) -> Result<Option<TableDescription>, WireError> {
        Ok(None)
    }

    fn write(value: &TableDescription, out: &mut Vec<u8>) {
        out.extend(
            table_description::deleted_to_json(value)
                .to_string()
                .into_bytes(),
        );
    }
}

create_table!(wire);

wire! {
    KeyAttribute = "AttributeDefinition" {
        required name: String as AttributeName = "AttributeName",
        required attribute_type: KeyAttributeType,
    }

    ProvisionedThroughput = "ProvisionedThroughput" {
        required write_capacity_units: u64 [ValueMin(1)],
        required read_capacity_units: u64 [ValueMin(1)],
    }
}

/// The members refused if present, whatever they hold.
const CREATE_REFUSED: &[Member] = &[
    Member::new("GlobalTableSourceArn", Shape::String),
    Member::new("GlobalTableSettingsReplicationMode", Shape::String),
];

/// Checks a CreateTable request. The operation checks keys and indexes.
fn check_create(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::new_table(members)?;
    members::constrained(json, structure)?;
    members::refuse(members, CREATE_REFUSED)?;
    table_settings::check(
        members,
        members
            .word("BillingMode")
            .unwrap_or(BillingMode::Provisioned),
    )?;
    Ok(Some(table))
}

const GLOBAL_INDEX: &[Member] = IndexDefinition::STRUCTURE.members;
const LOCAL_INDEX: &[Member] = &[
    GLOBAL_INDEX[0],
    GLOBAL_INDEX[1].rules(&[Rule::LengthMin(1), Rule::LengthMax(2)]),
    GLOBAL_INDEX[2],
];

/// Declares an index as it is sent in a member of that name.
macro_rules! index_forms {
    ($($form:ident: $name:literal, $members:ident, $kind:ident;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<IndexDefinition> for $form {
                const SHAPE: Shape = Shape::Structure(&Structure { name: $name, members: $members });

                fn read(json: Json<'_>, sender: Sender) -> Result<Option<IndexDefinition>, WireError> {
                    let index = IndexDefinition::read(json, sender)?;
                    Ok(index.map(|index| IndexDefinition { kind: IndexKind::$kind, ..index }))
                }

                fn write(value: &IndexDefinition, out: &mut Vec<u8>) {
                    value.write(out);
                }
            }
        )*
    };
}

index_forms! {
    LocalIndex: "LocalSecondaryIndex", LOCAL_INDEX, Local;
    GlobalIndex: "GlobalSecondaryIndex", GLOBAL_INDEX, Global;
    // The form in which UpdateTable creates it.
    CreateIndex: "CreateGlobalSecondaryIndexAction", GLOBAL_INDEX, Global;
}

/// Declares a vector index as it is sent in a member of that name.
macro_rules! vector_index_forms {
    ($($form:ident: $name:literal;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<IndexDefinition> for $form {
                const SHAPE: Shape = Shape::Structure(&Structure {
                    name: $name,
                    members: VectorIndexDefinition::STRUCTURE.members,
                });

                fn read(json: Json<'_>, sender: Sender) -> Result<Option<IndexDefinition>, WireError> {
                    Ok(VectorIndexDefinition::read(json, sender)?.map(Into::into))
                }

                fn write(value: &IndexDefinition, out: &mut Vec<u8>) {
                    if let Some(index) = VectorIndexDefinition::of(value) {
                        index.write(out);
                    }
                }
            }
        )*
    };
}

vector_index_forms! {
    VectorIndex: "VectorIndex";
    CreateVectorIndex: "CreateVectorIndexAction";
}

/// A member of `VectorIndexUpdates`.
#[derive(Debug)]
pub struct VectorIndexUpdate;

impl Form<IndexUpdate> for VectorIndexUpdate {
    const SHAPE: Shape = VectorUpdate::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<IndexUpdate>, WireError> {
        let update = VectorUpdate::read(json, sender)?;
        Ok(update.map(|VectorUpdate { create, delete }| IndexUpdate {
            update: None,
            create,
            delete,
        }))
    }

    fn write(value: &IndexUpdate, out: &mut Vec<u8>) {
        let IndexUpdate { create, delete, .. } = value.clone();
        VectorUpdate { create, delete }.write(out);
    }
}

/// Returns the request that recreates a table of this definition, members in a fixed order: the
/// content of `schema.json`.
#[must_use]
pub fn definition_to_json(schema: &TableSchema) -> Value {
    // The settings of a local index are empty.
    let remade = |index: &IndexSchema| {
        let mut out = index_to_json(index);
        out.extend(tree_of(&index.settings));
        Value::Object(out)
    };
    let indexes = |kind| {
        let indexes: Vec<Value> = schema.indexes_of(kind).map(remade).collect();
        (!indexes.is_empty()).then_some(indexes)
    };
    let mut out = object! {
        "TableName": schema.name.as_str(),
        "AttributeDefinitions": table_description::attribute_definitions(schema),
        "KeySchema": table_description::table_key_schema(schema),
        "LocalSecondaryIndexes": indexes(IndexKind::Local),
        "GlobalSecondaryIndexes": indexes(IndexKind::Global),
        "VectorIndexes": indexes(IndexKind::Vector),
        "BillingMode": schema.billing_mode.as_str(),
        "ProvisionedThroughput": schema.throughput.map(throughput_to_json),
        "DeletionProtectionEnabled": schema.deletion_protection,
    };
    if let Some(members) = out.as_object_mut() {
        members.extend(tree_of(&schema.settings));
    }
    out
}

/// Returns an index without its settings.
pub(super) fn index_to_json(index: &IndexSchema) -> Map<String, Value> {
    if let Some(index) = VectorIndexDefinition::of(&index.into()) {
        return tree_of(&index);
    }
    let mut out = Map::new();
    add(&mut out, "IndexName", &index.name.as_str());
    add(
        &mut out,
        "KeySchema",
        &table_description::index_key_schema(index),
    );
    add(
        &mut out,
        "Projection",
        &table_description::projection(&index.projection),
    );
    add(
        &mut out,
        "ProvisionedThroughput",
        &index.throughput.map(throughput_to_json),
    );
    out
}

pub(super) fn throughput_to_json(throughput: ProvisionedThroughput) -> Value {
    json!({
        "ReadCapacityUnits": throughput.read_capacity_units,
        "WriteCapacityUnits": throughput.write_capacity_units,
    })
}

update_table!(wire);

/// A structure refused if present, whatever it holds.
static ANY: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "Update",
        members: &[],
    }),
    rules: &[],
};

/// The members of multi-region features, which this version does not have.
const REGIONS: &[Member] = &[
    Member::new("MultiRegionConsistency", Shape::String),
    Member::new("GlobalTableWitnessUpdates", Shape::List(&ANY)),
];
const UPDATE_REFUSED: &[Member] = &[Member::new(
    "GlobalTableSettingsReplicationMode",
    Shape::String,
)];

fn check_update(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::control_table(members)?;
    members::constrained(json, structure)?;
    members::refuse(members, REGIONS)?;
    members::refuse(members, UPDATE_REFUSED)?;
    Ok(Some(table))
}

/// True if the request changes replicas; the changes themselves are not kept.
#[derive(Debug)]
pub struct Replicas;

impl Group<bool> for Replicas {
    const MEMBERS: &'static [Member] =
        &[Member::new("ReplicaUpdates", Shape::List(&ANY)).rules(&[Rule::LengthMin(1)])];

    fn read(members: Members<'_>, _: Sender) -> Result<bool, WireError> {
        Ok(members.has("ReplicaUpdates"))
    }
}

forms! {
    /// A stream with a view type exactly if it is enabled.
    WholeStream of StreamSpecification, StreamSpecification::SHAPE, &[], |json, sender| {
        let stream = StreamSpecification::read(json, sender)?;
        match stream.as_ref().map(|stream| (stream.enabled, stream.view_type)) {
            Some((true, None)) => Err(UpdateTableError::StreamViewTypeMissing.into()),
            Some((false, Some(_))) => Err(UpdateTableError::StreamViewTypeUnwanted.into()),
            _ => Ok(stream),
        }
    };
}

/// A large value in a box.
#[derive(Debug)]
pub struct Boxed<F>(F);

impl<T, F: Form<T>> Form<Box<T>> for Boxed<F> {
    const SHAPE: Shape = F::SHAPE;

    fn read(json: Json<'_>, sender: Sender) -> Result<Option<Box<T>>, WireError> {
        Ok(F::read(json, sender)?.map(Box::new))
    }

    fn write(value: &Box<T>, out: &mut Vec<u8>) {
        F::write(value, out);
    }
}

/// Declares the index to delete, as it is sent in a member of that name.
macro_rules! delete_forms {
    ($($form:ident: $name:literal;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<IndexName> for $form {
                const SHAPE: Shape = Shape::Structure(&Structure {
                    name: $name,
                    members: &[Member::new("IndexName", Shape::String)
                        .required()
                        .rules(names::NAME_RULES)],
                });

                fn read(json: Json<'_>, sender: Sender) -> Result<Option<IndexName>, WireError> {
                    Members::of(json).map_or(Ok(None), |members| {
                        optional::<_, Plain>(members, "IndexName", sender)
                    })
                }

                fn write(value: &IndexName, out: &mut Vec<u8>) {
                    let mut object = ObjectWriter::start(out);
                    object.text("IndexName", value.as_str());
                    object.end();
                }
            }
        )*
    };
}

delete_forms! {
    DeleteIndex: "DeleteGlobalSecondaryIndexAction";
    DeleteVectorIndex: "DeleteVectorIndexAction";
}

time_to_live!(wire);
