//! UpdateTimeToLive and DescribeTimeToLive: the attribute that says when an item is over (docs/dynamodb.md 16).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Member, Rule, Shape, Structure};
use super::write::ObjectWriter;
use super::{answer, describe_table, members, names};
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::Word;
use crate::model::api::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification, TimeToLiveStatus, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse,
};
use crate::model::limits::KEY_NAME_CHARS_MAX;

static SPECIFICATION: Structure = Structure {
    name: "TimeToLiveSpecification",
    members: &[
        Member::new("Enabled", Shape::Boolean).required(),
        Member::new("AttributeName", Shape::String).required().rules(&[Rule::LengthMin(1), Rule::LengthMax(KEY_NAME_CHARS_MAX)]),
    ],
};

pub static UPDATE: Structure = Structure {
    name: "UpdateTimeToLiveInput",
    members: &[members::TABLE_NAME, Member::new("TimeToLiveSpecification", Shape::Structure(&SPECIFICATION)).required()],
};

pub static DESCRIBE: Structure = Structure { name: "DescribeTimeToLiveInput", members: &[members::TABLE_NAME] };

/// Reads a body of UpdateTimeToLive.
///
/// # Errors
/// Types, the table's name, constraints.
pub fn update_request(json: Json<'_>) -> Result<UpdateTimeToLiveRequest, WireError> {
    let members = members::typed(json, &UPDATE)?;
    let table_name = names::control_table(members)?;
    members::constrained(json, &UPDATE)?;
    let specification = members.structure("TimeToLiveSpecification");
    let enabled = specification.and_then(|it| it.boolean("Enabled")).unwrap_or(false);
    let attribute_name = specification.and_then(|it| it.owned("AttributeName")).unwrap_or_default();
    Ok(UpdateTimeToLiveRequest { table_name, specification: TimeToLiveSpecification { enabled, attribute_name } })
}

/// The body of UpdateTimeToLive's answer as a tree.
#[must_use]
pub fn update_to_json(response: &UpdateTimeToLiveResponse) -> Value {
    let specification = &response.specification;
    json!({ "TimeToLiveSpecification": { "Enabled": specification.enabled, "AttributeName": specification.attribute_name } })
}

/// Reads a body of DescribeTimeToLive.
///
/// # Errors
/// Types and the table's name.
pub fn describe_request(json: Json<'_>) -> Result<DescribeTimeToLiveRequest, WireError> {
    let members = members::typed(json, &DESCRIBE)?;
    Ok(DescribeTimeToLiveRequest { table_name: names::control_table(members)? })
}

/// The body of DescribeTimeToLive's answer as a tree.
#[must_use]
pub fn describe_to_json(response: &DescribeTimeToLiveResponse) -> Value {
    let mut out = Map::new();
    out.insert("TimeToLiveStatus".to_owned(), json!(response.status.word()));
    if let Some(name) = &response.attribute_name {
        out.insert("AttributeName".to_owned(), json!(name));
    }
    json!({ "TimeToLiveDescription": out })
}

/// Appends the body of a request of UpdateTimeToLive.
pub fn write_update_request(request: &UpdateTimeToLiveRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("TableName", request.table_name.as_str());
    let mut specification = ObjectWriter::start(object.member("TimeToLiveSpecification"));
    specification.boolean("Enabled", request.specification.enabled);
    specification.text("AttributeName", &request.specification.attribute_name);
    specification.end();
    object.end();
}

/// Reads the body of an answer of UpdateTimeToLive.
///
/// # Errors
/// It is none.
pub fn read_update_response(json: Json<'_>) -> Result<UpdateTimeToLiveResponse, Error> {
    let members = answer::structure(answer::members(json)?, "TimeToLiveSpecification")?;
    let attribute_name = answer::text(members, "AttributeName")?.to_owned();
    let enabled = members.boolean("Enabled").ok_or_else(|| answer::missing("Enabled"))?;
    Ok(UpdateTimeToLiveResponse { specification: TimeToLiveSpecification { enabled, attribute_name } })
}

/// Appends the body of a request of DescribeTimeToLive.
pub fn write_describe_request(request: &DescribeTimeToLiveRequest, out: &mut Vec<u8>) {
    describe_table::of_table(&request.table_name, out);
}

/// Reads the body of an answer of DescribeTimeToLive.
///
/// # Errors
/// It is none.
pub fn read_describe_response(json: Json<'_>) -> Result<DescribeTimeToLiveResponse, Error> {
    let members = answer::structure(answer::members(json)?, "TimeToLiveDescription")?;
    let status = members.word("TimeToLiveStatus").unwrap_or(TimeToLiveStatus::Disabled);
    Ok(DescribeTimeToLiveResponse { status, attribute_name: members.owned("AttributeName") })
}
