//! DescribeTable: a name in; the description of the table out (docs/dynamodb.md 11.2).

use serde_json::{Value, json};

use super::answer;
use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::table_answer;
use super::table_description;
use super::write::ObjectWriter;
use crate::codec::json::document::Json;
use crate::model::api::{DescribeTableRequest, DescribeTableResponse, TableDescription};
use crate::model::{Error, TableName};

pub static SHAPE: Structure = Structure { name: "DescribeTableInput", members: &[members::TABLE_NAME] };

/// Reads a body.
///
/// # Errors
/// Types and the table's name.
pub fn request(json: Json<'_>) -> Result<DescribeTableRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    Ok(DescribeTableRequest { table_name: names::control_table(members)? })
}

/// The body as a tree: `{"Table": …}`.
#[must_use]
pub fn to_json(table: &TableDescription) -> Value {
    json!({ "Table": table_description::to_json(table) })
}

/// Appends the body of a request.
pub fn write_request(request: &DescribeTableRequest, out: &mut Vec<u8>) {
    of_table(&request.table_name, out);
}

/// The body of a request that only names a table.
pub(super) fn of_table(table: &TableName, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text("TableName", table.as_str());
    object.end();
}

/// Reads the body of an answer, given at `at_ms`.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>, at_ms: u64) -> Result<DescribeTableResponse, Error> {
    let table = table_answer::read(answer::structure(answer::members(json)?, "Table")?, at_ms)?;
    Ok(DescribeTableResponse { table })
}
