//! DeleteTable: a name in; the last description of the table out (docs/dynamodb.md 11.4).

use serde_json::{Value, json};

use super::answer;
use super::describe_table;
use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::table_answer;
use super::table_description;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{DeleteTableRequest, DeleteTableResponse, TableDescription};

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

/// Appends the body of a request. That the table must be empty has no place in it.
pub fn write_request(request: &DeleteTableRequest, out: &mut Vec<u8>) {
    describe_table::of_table(&request.table_name, out);
}

/// Reads the body of an answer over what the table was before: its keys and indexes are not in it.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>, before: TableDescription) -> Result<DeleteTableResponse, Error> {
    let members = answer::structure(answer::members(json)?, "TableDescription")?;
    Ok(DeleteTableResponse { table_description: table_answer::read_going(members, before) })
}
