//! ExecuteStatement: a statement of PartiQL and its parameters in; a page of items out (docs/dynamodb.md 19.1).

use super::capacity::{self, Reporting};
use super::error::WireError;
use super::members;
use super::shape::{Member, Rule, Shape, Structure};
use super::statements::{self, PARAMETERS, STATEMENT};
use super::write::{self, ObjectWriter};
use super::{answer, ask};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::Error;
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
    let members = statements::typed(json, &SHAPE)?;
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

/// Appends the body of a request.
pub fn write_request(request: &ExecuteStatementRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    statements::write_members(&request.statement, &request.parameters, request.return_old_on_condition_failure, &mut object);
    object.flag("ConsistentRead", request.consistent_read);
    object.count("Limit", request.limit);
    object.text_if("NextToken", request.next_token.as_ref());
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer. Which table it is about only the capacity says: the request must have asked for it.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<ExecuteStatementResponse, Error> {
    let members = answer::members(json)?;
    let table = answer::text(answer::structure(members, "ConsumedCapacity")?, "TableName")?;
    Ok(ExecuteStatementResponse {
        items: answer::items(members.list("Items"))?,
        next_token: members.owned("NextToken"),
        last_evaluated_key: answer::item(members, "LastEvaluatedKey")?,
        table_name: answer::table_name(table)?,
        consumed_capacity: capacity::read(members),
    })
}
