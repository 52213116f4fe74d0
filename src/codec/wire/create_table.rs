//! CreateTable (docs/dynamodb.md 11.1): the request from its JSON, and a stored definition back to a request that recreates it.

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::{answer, table_answer, table_description, table_members, table_settings};
use crate::codec::json::document::Json;
use crate::model::Word;
use crate::model::api::{CreateTableRequest, CreateTableResponse, IndexDefinition};
use crate::model::limits::{INDEX_KEY_ATTRIBUTES_MAX, KEY_NAME_CHARS_MAX, NON_KEY_ATTRIBUTES_MAX};
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, ProvisionedThroughput};
use crate::model::{Error, IndexSchema, TableSchema};

const ATTRIBUTE_NAME: Member =
    Member::new("AttributeName", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(KEY_NAME_CHARS_MAX)]);

static ATTRIBUTE_DEFINITION: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "AttributeDefinition",
        members: &[ATTRIBUTE_NAME, Member::new("AttributeType", Shape::String).required().rules(&[Rule::OneOf(&["B", "N", "S"])])],
    }),
    rules: &[],
};

static KEY_SCHEMA_ELEMENT: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "KeySchemaElement",
        members: &[ATTRIBUTE_NAME, Member::new("KeyType", Shape::String).required().rules(&[Rule::OneOf(&["HASH", "RANGE"])])],
    }),
    rules: &[],
};

static PROJECTION: Structure = Structure {
    name: "Projection",
    members: &[
        Member::new("ProjectionType", Shape::String).rules(&[Rule::OneOf(&["ALL", "INCLUDE", "KEYS_ONLY"])]),
        Member::new("NonKeyAttributes", Shape::List(&NON_KEY_ATTRIBUTE))
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(NON_KEY_ATTRIBUTES_MAX)]),
    ],
};

static NON_KEY_ATTRIBUTE: Element =
    Element { shape: Shape::String, rules: &[Rule::LengthMin(1), Rule::LengthMax(KEY_NAME_CHARS_MAX)] };

static THROUGHPUT: Structure = Structure {
    name: "ProvisionedThroughput",
    members: &[
        Member::new("WriteCapacityUnits", Shape::Long).required().rules(&[Rule::ValueMin(1)]),
        Member::new("ReadCapacityUnits", Shape::Long).required().rules(&[Rule::ValueMin(1)]),
    ],
};

const KEY_SCHEMA: Member = Member::new("KeySchema", Shape::List(&KEY_SCHEMA_ELEMENT)).required();
const KEY_SCHEMA_RULES: &[Rule] = &[Rule::LengthMin(1), Rule::LengthMax(2)];
const GLOBAL_KEY_SCHEMA_RULES: &[Rule] = &[Rule::LengthMin(1), Rule::LengthMax(2 * INDEX_KEY_ATTRIBUTES_MAX)];
const INDEX_NAME: Member = Member::new("IndexName", Shape::String).required().rules(NAME_RULES);
const PROJECTION_MEMBER: Member = Member::new("Projection", Shape::Structure(&PROJECTION)).required();
pub(super) const THROUGHPUT_MEMBER: Member = Member::new("ProvisionedThroughput", Shape::Structure(&THROUGHPUT));

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
pub(super) const ATTRIBUTE_DEFINITIONS: Member = Member::new("AttributeDefinitions", Shape::List(&ATTRIBUTE_DEFINITION));
pub(super) const BILLING_MODE: Member =
    Member::new("BillingMode", Shape::String).rules(&[Rule::OneOf(&["PROVISIONED", "PAY_PER_REQUEST"])]);

pub static SHAPE: Structure = Structure {
    name: "CreateTableInput",
    members: &[
        ATTRIBUTE_DEFINITIONS.required(),
        members::TABLE_NAME,
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

/// Reads a body, or a `schema.json`.
///
/// # Errors
/// The service's first objection to types, constraints and the members that are only kept; what concerns keys and indexes the
/// operation checks.
pub fn request(json: Json<'_>) -> Result<CreateTableRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    let table_name = names::new_table(members)?;
    members::constrained(json, &SHAPE)?;
    members::refuse(members, &["GlobalTableSourceArn", "GlobalTableSettingsReplicationMode", "VectorIndexes"])?;
    let billing_mode = members.word("BillingMode");
    table_settings::check(members, billing_mode.unwrap_or(BillingMode::Provisioned))?;
    Ok(CreateTableRequest {
        table_name,
        attribute_definitions: table_members::structures(members, "AttributeDefinitions").filter_map(key_attribute).collect(),
        key_schema: table_members::key_schema(members),
        billing_mode,
        throughput: table_members::throughput(members),
        local_indexes: indexes(members, "LocalSecondaryIndexes", IndexKind::Local)?,
        global_indexes: indexes(members, "GlobalSecondaryIndexes", IndexKind::Global)?,
        deletion_protection: members.boolean("DeletionProtectionEnabled").unwrap_or(false),
        settings: table_settings::read(members),
    })
}

/// `AttributeDefinitions`; `None` when it is absent.
pub(super) fn attribute_definitions(members: Members<'_>) -> Option<Vec<KeyAttribute>> {
    members
        .has("AttributeDefinitions")
        .then(|| table_members::structures(members, "AttributeDefinitions").filter_map(key_attribute).collect())
}

fn key_attribute(members: Members<'_>) -> Option<KeyAttribute> {
    Some(KeyAttribute { attribute_type: members.word("AttributeType")?, name: members.owned("AttributeName")? })
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

/// The response's body as a tree.
#[must_use]
pub fn response_to_json(response: &CreateTableResponse) -> Value {
    json!({ "TableDescription": table_description::to_json(&response.table_description) })
}

/// Appends the body of a request.
pub fn write_request(request: &CreateTableRequest, out: &mut Vec<u8>) {
    let mut members = Map::new();
    members.insert("TableName".to_owned(), json!(request.table_name.as_str()));
    members.insert("AttributeDefinitions".to_owned(), table_description::definitions_to_json(&request.attribute_definitions));
    members.insert("KeySchema".to_owned(), table_description::key_schema_to_json(&request.key_schema));
    let indexes = [("LocalSecondaryIndexes", &request.local_indexes), ("GlobalSecondaryIndexes", &request.global_indexes)];
    for (name, indexes) in indexes {
        if let Some(indexes) = indexes {
            members.insert(name.to_owned(), indexes.iter().map(definition_to_json).collect());
        }
    }
    add_billing((request.billing_mode, request.throughput), &mut members);
    if request.deletion_protection {
        members.insert("DeletionProtectionEnabled".to_owned(), json!(true));
    }
    table_settings::to_json(&request.settings, &mut members);
    out.extend(Value::Object(members).to_string().into_bytes());
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

/// Reads the body of an answer, given at `at_ms`.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>, at_ms: u64) -> Result<CreateTableResponse, Error> {
    let members = answer::structure(answer::members(json)?, "TableDescription")?;
    Ok(CreateTableResponse { table_description: table_answer::read(members, at_ms)? })
}
