//! UpdateTable: what is to change of a table in; its description out (docs/dynamodb.md 11.3).

use serde_json::{Map, Value, json};

use super::create_table::{self, THROUGHPUT_MEMBER};
use super::declared::*;
use super::error::WireError;
use super::members;
use super::names::{self, NAME_RULES};
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::table_description;
use super::table_members;
use super::table_settings;
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::Word;
use crate::model::api::update_table::{IndexChange, IndexUpdate, StreamSpecification, UpdateTableRequest, update_table};
use crate::model::api::{TableDescription, UpdateTableResponse};
use crate::model::error::UpdateTableError;
use crate::model::schema::IndexKind;
use crate::model::settings::{OnDemandThroughput, ThroughputSettings, WarmThroughput};

const INDEX_NAME: Member = Member::new("IndexName", Shape::String).required().rules(NAME_RULES);

static INDEX_UPDATE: Element = Element {
    shape: Shape::Structure(&Structure {
        name: "GlobalSecondaryIndexUpdate",
        members: &[
            Member::new("Update", Shape::Structure(&UPDATE)),
            Member::new("Create", Shape::Structure(&create_table::CREATE_INDEX)),
            Member::new("Delete", Shape::Structure(&DELETE)),
        ],
    }),
    rules: &[],
};

static UPDATE: Structure = Structure {
    name: "UpdateGlobalSecondaryIndexAction",
    members: &[INDEX_NAME, THROUGHPUT_MEMBER, table_settings::ON_DEMAND_THROUGHPUT, table_settings::WARM_THROUGHPUT],
};

static DELETE: Structure = Structure { name: "DeleteGlobalSecondaryIndexAction", members: &[INDEX_NAME] };

/// Refused when present, whatever it holds.
static ANY: Element = Element { shape: Shape::Structure(&Structure { name: "Update", members: &[] }), rules: &[] };

update_table!(wire);

pub static SHAPE: Structure = Structure {
    name: "UpdateTableInput",
    members: &[
        create_table::ATTRIBUTE_DEFINITIONS,
        Member::new("TableName", Shape::String),
        create_table::BILLING_MODE,
        THROUGHPUT_MEMBER,
        Member::new("GlobalSecondaryIndexUpdates", Shape::List(&INDEX_UPDATE)),
        table_settings::STREAM_SPECIFICATION,
        table_settings::SSE_SPECIFICATION,
        Member::new("ReplicaUpdates", Shape::List(&ANY)).rules(&[Rule::LengthMin(1)]),
        table_settings::TABLE_CLASS,
        Member::new("DeletionProtectionEnabled", Shape::Boolean),
        Member::new("MultiRegionConsistency", Shape::String),
        Member::new("GlobalTableWitnessUpdates", Shape::List(&ANY)),
        table_settings::ON_DEMAND_THROUGHPUT,
        table_settings::WARM_THROUGHPUT,
        Member::new("GlobalTableSettingsReplicationMode", Shape::String),
        Member::new("VectorIndexUpdates", Shape::List(&ANY)),
    ],
};

/// Members of which this version has nothing.
const REFUSED: &[&str] =
    &["MultiRegionConsistency", "GlobalTableWitnessUpdates", "GlobalTableSettingsReplicationMode", "VectorIndexUpdates"];

impl Declared for UpdateTableRequest {
    const STRUCTURE: &'static Structure = &SHAPE;

    fn check(json: Json<'_>, members: Members<'_>) -> Result<(), WireError> {
        names::control_table(members)?;
        members::constrained(json, &SHAPE)?;
        members::refuse(members, REFUSED)
    }

    fn read_members(members: Members<'_>, _: Sender) -> Result<Self, WireError> {
        let updates = members.list("GlobalSecondaryIndexUpdates");
        let updates = updates.map(|list| list.filter_map(Members::of).map(index_update).collect::<Result<_, _>>());
        Ok(Self {
            table_name: names::control_table(members)?,
            attribute_definitions: create_table::attribute_definitions(members)?,
            billing_mode: members.word("BillingMode"),
            throughput: table_members::throughput(members),
            index_updates: updates.transpose()?,
            stream: stream(members)?,
            encryption: table_settings::encryption(members)?,
            table_class: table_settings::table_class(members)?,
            deletion_protection: members.boolean("DeletionProtectionEnabled"),
            on_demand: table_settings::on_demand(members),
            warm: table_settings::warm(members),
            has_replicas: members.has("ReplicaUpdates"),
        })
    }

    /// What it says of replicas is not kept, so that it has no place here.
    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        let mut members = Map::new();
        let mut add = |name: &str, value: Option<Value>| drop(value.map(|value| members.insert(name.to_owned(), value)));
        add("TableName", Some(json!(self.table_name.as_str())));
        add("AttributeDefinitions", self.attribute_definitions.as_deref().map(table_description::definitions_to_json));
        add("GlobalSecondaryIndexUpdates", self.index_updates.as_ref().map(|all| all.iter().map(index_update_to_json).collect()));
        add("StreamSpecification", self.stream.as_ref().map(stream_to_json));
        add("SSESpecification", self.encryption.as_ref().map(table_settings::encryption_to_json));
        add("TableClass", self.table_class.map(|class| json!(class.word())));
        add("DeletionProtectionEnabled", self.deletion_protection.map(|protection| json!(protection)));
        create_table::add_billing((self.billing_mode, self.throughput), &mut members);
        add_throughput((self.on_demand, self.warm), &mut members);
        object.tree(members);
    }
}

/// Reads a body.
///
/// # Errors
/// Types, constraints, the table's name, and what is wrong with a member alone.
pub fn request(json: Json<'_>) -> Result<UpdateTableRequest, WireError> {
    super::request(json)
}

fn index_update(members: Members<'_>) -> Result<IndexUpdate, WireError> {
    let name = |action: &str| {
        let name = members.structure(action).and_then(|action| action.string("IndexName"));
        name.map(names::index_name).transpose()
    };
    let update = match (name("Update")?, members.structure("Update")) {
        (Some(name), Some(update)) => Some(IndexChange {
            name,
            throughput: table_members::throughput(update),
            on_demand: table_settings::on_demand(update),
            warm: table_settings::warm(update),
        }),
        _ => None,
    };
    let create = match members.structure("Create") {
        Some(create) => Some(Box::new(create_table::index(create, IndexKind::Global)?)),
        None => None,
    };
    Ok(IndexUpdate { create, update, delete: name("Delete")? })
}

fn stream(members: Members<'_>) -> Result<Option<StreamSpecification>, WireError> {
    let Some(stream) = members.structure("StreamSpecification") else { return Ok(None) };
    let change =
        StreamSpecification { enabled: stream.boolean("StreamEnabled").unwrap_or(false), view_type: stream.word("StreamViewType") };
    match (change.enabled, change.view_type) {
        (true, None) => Err(UpdateTableError::StreamViewTypeMissing.into()),
        (false, Some(_)) => Err(UpdateTableError::StreamViewTypeUnwanted.into()),
        (true, Some(_)) | (false, None) => Ok(Some(change)),
    }
}

fn add_throughput((on_demand, warm): (Option<OnDemandThroughput>, Option<WarmThroughput>), members: &mut Map<String, Value>) {
    let settings = ThroughputSettings { on_demand: on_demand.unwrap_or_default(), warm: warm.unwrap_or_default() };
    table_settings::throughput_to_json(&settings, members);
}

fn stream_to_json(stream: &StreamSpecification) -> Value {
    stream.view_type.map_or_else(|| json!({ "StreamEnabled": stream.enabled }), table_settings::stream_to_json)
}

fn index_update_to_json(update: &IndexUpdate) -> Value {
    let mut out = Map::new();
    if let Some(create) = &update.create {
        out.insert("Create".to_owned(), create_table::definition_to_json(create));
    }
    if let Some(change) = &update.update {
        let mut members = Map::new();
        members.insert("IndexName".to_owned(), json!(change.name.as_str()));
        create_table::add_billing((None, change.throughput), &mut members);
        add_throughput((change.on_demand, change.warm), &mut members);
        out.insert("Update".to_owned(), Value::Object(members));
    }
    if let Some(name) = &update.delete {
        out.insert("Delete".to_owned(), json!({ "IndexName": name.as_str() }));
    }
    Value::Object(out)
}
