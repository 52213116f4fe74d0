//! ExecuteStatement: a statement of PartiQL and its parameters in; a page of items out (docs/dynamodb.md 19.1).

use super::capacity::Reporting;
use super::error::WireError;
use super::members;
use super::shape::{Member, Rule, Shape, Structure};
use super::statements::{self, PARAMETERS, STATEMENT};
use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::api::{ExecuteStatementRequest, ExecuteStatementResponse, ReturnConsumedCapacity};
use crate::model::limits::STATEMENT_TOKEN_CHARS_MAX;

pub static SHAPE: Structure = Structure {
    name: "ExecuteStatementInput",
    members: &[
        STATEMENT,
        PARAMETERS,
        members::CONSISTENT_READ,
        Member::new("NextToken", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(STATEMENT_TOKEN_CHARS_MAX)]),
        members::RETURN_CONSUMED_CAPACITY,
        Member::new("Limit", Shape::Integer).rules(&[Rule::ValueMin(1)]),
        members::RETURN_VALUES_ON_FAILURE,
    ],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<ExecuteStatementRequest, WireError> {
    let members = members::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    Ok(ExecuteStatementRequest {
        parameters: statements::parameters(members)?,
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        limit: members.count("Limit"),
        next_token: members.owned("NextToken"),
        return_consumed_capacity: members::return_consumed_capacity(members),
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
        ..ExecuteStatementRequest::new(members.string("Statement").unwrap_or_default())
    })
}

/// Appends the body.
pub fn response(response: &ExecuteStatementResponse, detail: ReturnConsumedCapacity, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(response.items.iter(), object.member("Items"), dynamodb_json::write_item);
    if let Some(token) = &response.next_token {
        write::string(token, object.member("NextToken"));
    }
    if let Some(key) = &response.last_evaluated_key {
        dynamodb_json::write_item(key, object.member("LastEvaluatedKey"));
    }
    Reporting { table: response.table_name.to_string(), detail }.write(&response.consumed_capacity, &mut object);
    object.end();
}
