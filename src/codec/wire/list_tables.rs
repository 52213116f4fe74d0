//! ListTables: a page of names (docs/dynamodb.md 11.5).

use super::answer;
use super::error::WireError;
use super::members;
use super::names::NAME_RULES;
use super::shape::{Member, Rule, Shape, Structure};
use super::write::{self, ObjectWriter};
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{ListTablesRequest, ListTablesResponse};
use crate::model::limits::LIST_TABLES_MAX;

pub static SHAPE: Structure = Structure {
    name: "ListTablesInput",
    members: &[
        Member::new("ExclusiveStartTableName", Shape::String).rules(NAME_RULES),
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1), Rule::ValueMax(LIST_TABLES_MAX as i64)]),
    ],
};

/// Reads a body.
///
/// # Errors
/// Types and constraints.
pub fn request(json: Json<'_>) -> Result<ListTablesRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    Ok(ListTablesRequest { exclusive_start_table_name: members.owned("ExclusiveStartTableName"), limit: members.count("Limit") })
}

/// Appends the body.
pub fn response(response: &ListTablesResponse, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Some(name) = &response.last_evaluated_table_name {
        write::string(name, object.member("LastEvaluatedTableName"));
    }
    let names = object.member("TableNames");
    names.push(b'[');
    for (position, name) in response.table_names.iter().enumerate() {
        if position > 0 {
            names.push(b',');
        }
        write::string(name, names);
    }
    names.push(b']');
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &ListTablesRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    object.text_if("ExclusiveStartTableName", request.exclusive_start_table_name.as_ref());
    object.count("Limit", request.limit);
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none; a name is none of a table.
pub fn read_response(json: Json<'_>) -> Result<ListTablesResponse, Error> {
    let members = answer::members(json)?;
    let names = members.list("TableNames").ok_or_else(|| answer::missing("TableNames"))?;
    Ok(ListTablesResponse {
        table_names: names
            .filter_map(Json::as_str)
            .map(|name| Ok(answer::table_name(name)?.into()))
            .collect::<Result<_, Error>>()?,
        last_evaluated_table_name: members.owned("LastEvaluatedTableName"),
    })
}
