//! CreateTable (docs/dynamodb.md 11.1): the request from its JSON, and a stored definition back to a request that recreates it.

use serde_json::{Map, Value, json};

use super::declared::*;
use super::members;
use super::names::{self, NAME_RULES};
use super::table_settings::{
    ON_DEMAND_THROUGHPUT, SSE_SPECIFICATION, STREAM_SPECIFICATION, Settings, TABLE_CLASS, TAGS, WARM_THROUGHPUT,
};
use super::write::{add, object};
use super::{table_description, table_members, table_settings};
use crate::model::api::TableDescription;
use crate::model::api::create_table::*;
use crate::model::limits::{INDEX_KEY_ATTRIBUTES_MAX, NON_KEY_ATTRIBUTES_MAX};
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, KeyAttributeType, KeyType, ProvisionedThroughput};
use crate::model::{IndexSchema, TableSchema, TableSettings};

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

/// Refused when present, whatever they hold.
const REFUSED: &[Member] = &[
    Member::new("GlobalTableSourceArn", Shape::String),
    Member::new("GlobalTableSettingsReplicationMode", Shape::String),
    Member::new(
        "VectorIndexes",
        Shape::List(&Element { shape: Shape::Structure(&Structure { name: "VectorIndex", members: &[] }), rules: &[] }),
    ),
];

/// What concerns keys and indexes the operation checks.
fn check_create(json: Json<'_>, members: Members<'_>, structure: &Structure) -> Checked {
    let table = names::new_table(members)?;
    members::constrained(json, structure)?;
    members::refuse(members, REFUSED)?;
    table_settings::check(members, members.word("BillingMode").unwrap_or(BillingMode::Provisioned))?;
    Ok(Some(table))
}

const INDEX_NAME: Member = Member::new("IndexName", Shape::String).required().rules(NAME_RULES);
const PROJECTION: Member = Member::new("Projection", ProjectionDefinition::SHAPE).required();
const THROUGHPUT: Member = Member::new("ProvisionedThroughput", ProvisionedThroughput::SHAPE);

/// The keys of an index, of so many attributes.
const fn key_schema(rules: &'static [Rule]) -> Member {
    Member::new("KeySchema", <Vec<KeySchemaElement>>::SHAPE).required().rules(rules)
}

const LOCAL_INDEX_MEMBERS: &[Member] = &[INDEX_NAME, key_schema(&[Rule::LengthMin(1), Rule::LengthMax(2)]), PROJECTION];
const GLOBAL_INDEX_MEMBERS: &[Member] = &[
    INDEX_NAME,
    key_schema(&[Rule::LengthMin(1), Rule::LengthMax(2 * INDEX_KEY_ATTRIBUTES_MAX)]),
    PROJECTION,
    THROUGHPUT,
    ON_DEMAND_THROUGHPUT,
    WARM_THROUGHPUT,
];

/// An index as it is sent in a member of that name.
macro_rules! indexes {
    ($($form:ident: $name:literal, $members:ident, $kind:ident;)*) => {
        $(
            #[derive(Debug)]
            pub struct $form;

            impl Form<IndexDefinition> for $form {
                const SHAPE: Shape = Shape::Structure(&Structure { name: $name, members: $members });

                fn read(json: Json<'_>, _: Sender) -> Result<Option<IndexDefinition>, WireError> {
                    Members::of(json).map(|members| index(members, IndexKind::$kind)).transpose()
                }

                fn write(value: &IndexDefinition, out: &mut Vec<u8>) {
                    write(value, out);
                }
            }
        )*
    };
}

indexes! {
    LocalIndex: "LocalSecondaryIndex", LOCAL_INDEX_MEMBERS, Local;
    GlobalIndex: "GlobalSecondaryIndex", GLOBAL_INDEX_MEMBERS, Global;
    // As UpdateTable creates it.
    CreateIndex: "CreateGlobalSecondaryIndexAction", GLOBAL_INDEX_MEMBERS, Global;
}

fn index(members: Members<'_>, kind: IndexKind) -> Result<IndexDefinition, WireError> {
    Ok(IndexDefinition {
        name: names::index_name(members.string("IndexName").unwrap_or_default())?,
        kind,
        key_schema: table_members::key_schema(members),
        projection: table_members::told(members, "Projection").unwrap_or_default(),
        throughput: table_members::throughput(members),
        settings: table_settings::of_index(members),
    })
}

/// An index as it was sent.
fn write(index: &IndexDefinition, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("IndexName", index.name.as_str());
    index.key_schema.write(object.member("KeySchema"));
    index.projection.write(object.member("Projection"));
    if let Some(throughput) = &index.throughput {
        throughput.write(object.member("ProvisionedThroughput"));
    }
    index.settings.write_members(&mut object);
    object.end();
}

/// The request that recreates a table of this definition, members in a fixed order: what `schema.json` shows.
#[must_use]
pub fn to_json(schema: &TableSchema) -> Value {
    // The settings of a local index are empty.
    let remade = |index: &IndexSchema| {
        let mut out = index_to_json(index);
        table_settings::throughput_to_json(&index.settings, &mut out);
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
        "BillingMode": schema.billing_mode.word(),
        "ProvisionedThroughput": schema.throughput.map(throughput_to_json),
        "DeletionProtectionEnabled": schema.deletion_protection,
    };
    if let Some(members) = out.as_object_mut() {
        table_settings::to_json(&schema.settings, members);
    }
    out
}

/// An index without its settings.
pub(super) fn index_to_json(index: &IndexSchema) -> Map<String, Value> {
    let mut out = Map::new();
    add(&mut out, "IndexName", &index.name.as_str());
    add(&mut out, "KeySchema", &table_description::index_key_schema(index));
    add(&mut out, "Projection", &table_description::projection(&index.projection));
    add(&mut out, "ProvisionedThroughput", &index.throughput.map(throughput_to_json));
    out
}

pub(super) fn throughput_to_json(throughput: ProvisionedThroughput) -> Value {
    json!({
        "ReadCapacityUnits": throughput.read_capacity_units,
        "WriteCapacityUnits": throughput.write_capacity_units,
    })
}
