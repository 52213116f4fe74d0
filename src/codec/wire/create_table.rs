//! CreateTable (docs/dynamodb.md 11.1): the request from its JSON, and a stored definition back to a request that recreates it.

use serde_json::{Map, Value, json};

use super::declared::*;
use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::write::ObjectWriter;
use super::{table_description, table_members, table_settings};
use crate::codec::json::document::Json;
use crate::model::Word;
use crate::model::api::TableDescription;
use crate::model::api::create_table::*;
use crate::model::limits::{INDEX_KEY_ATTRIBUTES_MAX, NON_KEY_ATTRIBUTES_MAX};
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, KeyAttributeType, KeyType, ProvisionedThroughput};
use crate::model::{IndexSchema, TableSchema};

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

const KEY_SCHEMA: Member = Member::new("KeySchema", <Vec<KeySchemaElement>>::SHAPE).required();
const KEY_SCHEMA_RULES: &[Rule] = &[Rule::LengthMin(1), Rule::LengthMax(2)];
const GLOBAL_KEY_SCHEMA_RULES: &[Rule] = &[Rule::LengthMin(1), Rule::LengthMax(2 * INDEX_KEY_ATTRIBUTES_MAX)];
const INDEX_NAME: Member = Member::new("IndexName", Shape::String).required().rules(NAME_RULES);
const PROJECTION_MEMBER: Member = Member::new("Projection", ProjectionDefinition::SHAPE).required();
pub(super) const THROUGHPUT_MEMBER: Member = Member::new("ProvisionedThroughput", ProvisionedThroughput::SHAPE);

pub(super) static LOCAL_INDEX: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "LocalSecondaryIndex",
        members: &[INDEX_NAME, KEY_SCHEMA.rules(KEY_SCHEMA_RULES), PROJECTION_MEMBER],
    }),
    rules: &[],
};

const GLOBAL_INDEX_MEMBERS: &[Member] = &[
    INDEX_NAME,
    KEY_SCHEMA.rules(GLOBAL_KEY_SCHEMA_RULES),
    PROJECTION_MEMBER,
    THROUGHPUT_MEMBER,
    table_settings::ON_DEMAND_THROUGHPUT,
    table_settings::WARM_THROUGHPUT,
];

static GLOBAL_INDEX_STRUCTURE: Structure = Structure { name: "GlobalSecondaryIndex", members: GLOBAL_INDEX_MEMBERS };

/// An index as UpdateTable creates it.
pub(super) static CREATE_INDEX: Structure = Structure { name: "CreateGlobalSecondaryIndexAction", members: GLOBAL_INDEX_MEMBERS };

pub(super) static GLOBAL_INDEX: Element = Element { shape: Shape::Structure(&GLOBAL_INDEX_STRUCTURE), rules: &[] };
pub(super) const ATTRIBUTE_DEFINITIONS: Member = Member::new("AttributeDefinitions", <Vec<KeyAttribute>>::SHAPE);
pub(super) const BILLING_MODE: Member =
    Member::new("BillingMode", Shape::String).rules(&[Rule::OneOf(&["PROVISIONED", "PAY_PER_REQUEST"])]);

pub static SHAPE: Structure = Structure {
    name: "CreateTableInput",
    members: &[
        ATTRIBUTE_DEFINITIONS.required(),
        Member::new("TableName", Shape::String),
        BILLING_MODE,
        THROUGHPUT_MEMBER,
        KEY_SCHEMA.rules(KEY_SCHEMA_RULES),
        Member::new("GlobalSecondaryIndexes", Shape::List(&GLOBAL_INDEX)),
        Member::new("LocalSecondaryIndexes", Shape::List(&LOCAL_INDEX)),
        table_settings::STREAM_SPECIFICATION,
        table_settings::SSE_SPECIFICATION,
        table_settings::TAGS,
        table_settings::TABLE_CLASS,
        Member::new("DeletionProtectionEnabled", Shape::Boolean),
        table_settings::WARM_THROUGHPUT,
        table_settings::ON_DEMAND_THROUGHPUT,
        Member::new("ResourcePolicy", Shape::String),
        Member::new("GlobalTableSourceArn", Shape::String),
        Member::new("GlobalTableSettingsReplicationMode", Shape::String),
        Member::new("VectorIndexes", Shape::List(&VECTOR_INDEX)),
    ],
};

/// Refused when present, whatever it holds.
static VECTOR_INDEX: Element = Element { shape: Shape::Structure(&Structure { name: "VectorIndex", members: &[] }), rules: &[] };

impl Declared for CreateTableRequest {
    const STRUCTURE: &'static Structure = &SHAPE;

    /// What concerns keys and indexes the operation checks.
    fn check(json: Json<'_>, members: Members<'_>) -> Result<(), WireError> {
        names::new_table(members)?;
        members::constrained(json, &SHAPE)?;
        members::refuse(members, &["GlobalTableSourceArn", "GlobalTableSettingsReplicationMode", "VectorIndexes"])?;
        table_settings::check(members, members.word("BillingMode").unwrap_or(BillingMode::Provisioned))
    }

    fn read_members(members: Members<'_>, _: Sender) -> Result<Self, WireError> {
        Ok(Self {
            table_name: names::new_table(members)?,
            attribute_definitions: attribute_definitions(members)?.unwrap_or_default(),
            key_schema: table_members::key_schema(members),
            billing_mode: members.word("BillingMode"),
            throughput: table_members::throughput(members),
            local_indexes: indexes(members, "LocalSecondaryIndexes", IndexKind::Local)?,
            global_indexes: indexes(members, "GlobalSecondaryIndexes", IndexKind::Global)?,
            deletion_protection: members.boolean("DeletionProtectionEnabled").unwrap_or(false),
            settings: table_settings::read(members),
        })
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        let mut members = Map::new();
        members.insert("TableName".to_owned(), json!(self.table_name.as_str()));
        members.insert("AttributeDefinitions".to_owned(), table_description::definitions_to_json(&self.attribute_definitions));
        members.insert("KeySchema".to_owned(), table_description::key_schema_to_json(&self.key_schema));
        let indexes = [("LocalSecondaryIndexes", &self.local_indexes), ("GlobalSecondaryIndexes", &self.global_indexes)];
        for (name, indexes) in indexes {
            if let Some(indexes) = indexes {
                members.insert(name.to_owned(), indexes.iter().map(definition_to_json).collect());
            }
        }
        add_billing((self.billing_mode, self.throughput), &mut members);
        if self.deletion_protection {
            members.insert("DeletionProtectionEnabled".to_owned(), json!(true));
        }
        table_settings::to_json(&self.settings, &mut members);
        object.tree(members);
    }
}

/// Reads a body, or a `schema.json`.
///
/// # Errors
/// The service's first objection to types, constraints and the members that are only kept.
pub fn request(json: Json<'_>) -> Result<CreateTableRequest, WireError> {
    super::request(json)
}

/// `AttributeDefinitions`; `None` when it is absent.
pub(super) fn attribute_definitions(members: Members<'_>) -> Result<Option<Vec<KeyAttribute>>, WireError> {
    optional::<_, Plain>(members, "AttributeDefinitions", Sender::Client)
}

pub(super) fn indexes(members: Members<'_>, name: &str, kind: IndexKind) -> Result<Option<Vec<IndexDefinition>>, WireError> {
    if !members.has(name) {
        return Ok(None);
    }
    table_members::structures(members, name).map(|members| index(members, kind)).collect::<Result<_, _>>().map(Some)
}

pub(super) fn index(members: Members<'_>, kind: IndexKind) -> Result<IndexDefinition, WireError> {
    Ok(IndexDefinition {
        name: names::index_name(members.string("IndexName").unwrap_or_default())?,
        kind,
        key_schema: table_members::key_schema(members),
        projection: members.structure("Projection").map(table_members::projection).unwrap_or_default(),
        throughput: table_members::throughput(members),
        settings: table_settings::of_index(members),
    })
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
    let mut out = Map::new();
    out.insert("TableName".to_owned(), json!(schema.name.as_str()));
    out.insert("AttributeDefinitions".to_owned(), table_description::attribute_definitions(schema));
    out.insert("KeySchema".to_owned(), table_description::table_key_schema(schema));
    for (kind, name) in [(IndexKind::Local, "LocalSecondaryIndexes"), (IndexKind::Global, "GlobalSecondaryIndexes")] {
        let indexes: Vec<Value> = schema.indexes_of(kind).map(remade).collect();
        if !indexes.is_empty() {
            out.insert(name.to_owned(), Value::Array(indexes));
        }
    }
    out.insert("BillingMode".to_owned(), json!(schema.billing_mode.word()));
    if let Some(throughput) = schema.throughput {
        out.insert("ProvisionedThroughput".to_owned(), throughput_to_json(throughput));
    }
    out.insert("DeletionProtectionEnabled".to_owned(), json!(schema.deletion_protection));
    table_settings::to_json(&schema.settings, &mut out);
    Value::Object(out)
}

/// An index without its settings.
pub(super) fn index_to_json(index: &IndexSchema) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("IndexName".to_owned(), json!(index.name.as_str()));
    out.insert("KeySchema".to_owned(), table_description::index_key_schema(index));
    out.insert("Projection".to_owned(), table_description::projection(&index.projection));
    if let Some(throughput) = index.throughput {
        out.insert("ProvisionedThroughput".to_owned(), throughput_to_json(throughput));
    }
    out
}

pub(super) fn throughput_to_json(throughput: ProvisionedThroughput) -> Value {
    json!({
        "ReadCapacityUnits": throughput.read_capacity_units,
        "WriteCapacityUnits": throughput.write_capacity_units,
    })
}

/// `BillingMode` and `ProvisionedThroughput`.
pub(super) fn add_billing(
    (mode, throughput): (Option<BillingMode>, Option<ProvisionedThroughput>),
    members: &mut Map<String, Value>,
) {
    if let Some(mode) = mode {
        members.insert("BillingMode".to_owned(), json!(mode.word()));
    }
    if let Some(throughput) = throughput {
        members.insert("ProvisionedThroughput".to_owned(), throughput_to_json(throughput));
    }
}

/// An index as it was sent.
pub(super) fn definition_to_json(index: &IndexDefinition) -> Value {
    let mut out = Map::new();
    out.insert("IndexName".to_owned(), json!(index.name.as_str()));
    out.insert("KeySchema".to_owned(), table_description::key_schema_to_json(&index.key_schema));
    let mut projection = Map::new();
    if let Some(projection_type) = index.projection.projection_type {
        projection.insert("ProjectionType".to_owned(), json!(projection_type.word()));
    }
    if let Some(names) = &index.projection.non_key_attributes {
        projection.insert("NonKeyAttributes".to_owned(), json!(names));
    }
    out.insert("Projection".to_owned(), Value::Object(projection));
    add_billing((None, index.throughput), &mut out);
    table_settings::throughput_to_json(&index.settings, &mut out);
    Value::Object(out)
}
