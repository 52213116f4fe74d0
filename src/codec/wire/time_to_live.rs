//! UpdateTimeToLive and DescribeTimeToLive: the attribute that says when an item is over (docs/dynamodb.md 16).

use serde_json::{Map, Value, json};

use super::error::WireError;
use super::shape::{Member, Rule, Shape, Structure};
use super::{members, names};
use crate::codec::json::document::Json;
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
    let status = match response.status {
        TimeToLiveStatus::Enabling => "ENABLING",
        TimeToLiveStatus::Enabled => "ENABLED",
        TimeToLiveStatus::Disabling => "DISABLING",
        TimeToLiveStatus::Disabled => "DISABLED",
    };
    let mut out = Map::new();
    out.insert("TimeToLiveStatus".to_owned(), json!(status));
    if let Some(name) = &response.attribute_name {
        out.insert("AttributeName".to_owned(), json!(name));
    }
    json!({ "TimeToLiveDescription": out })
}
