//! DescribeTable: a name in; the description of the table out (docs/dynamodb.md 11.2).

use serde_json::{Value, json};

use super::error::WireError;
use super::members;
use super::names;
use super::shape::Structure;
use super::table_description;
use crate::codec::json::document::Json;
use crate::model::api::{DescribeTableRequest, TableDescription};

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
