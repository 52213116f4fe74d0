//! DeleteTable: a name in; the last description of the table out (docs/dynamodb.md 11.4).

use serde_json::{Value, json};

use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::table_description;
use crate::codec::json::document::Json;
use crate::model::api::{DeleteTableRequest, DeleteTableResponse};

pub static SHAPE: Structure = Structure { name: "DeleteTableInput", members: &[members::TABLE_NAME] };

/// Reads a body.
///
/// # Errors
/// Types and the table's name.
pub fn request(json: Json<'_>) -> Result<DeleteTableRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    Ok(DeleteTableRequest::new(names::control_table(members)?))
}

/// The body as a tree.
#[must_use]
pub fn to_json(response: &DeleteTableResponse) -> Value {
    json!({ "TableDescription": table_description::deleted_to_json(&response.table_description) })
}
