//! BatchExecuteStatement: statements in; an item or an error out for each (docs/dynamodb.md 19.1).

use super::capacity::{self, Units};
use super::error::WireError;
use super::members;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::statements::{self, PARAMETERS, STATEMENT};
use super::write::{self, ObjectWriter};
use super::{answer, ask, fault};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchStatement, BatchStatementResponse, ReturnConsumedCapacity,
};
use crate::model::error::exception::VALIDATION;
use crate::model::limits::BATCH_STATEMENTS_MAX;

pub static SHAPE: Structure = Structure {
    name: "BatchExecuteStatementInput",
    members: &[
        Member::new("Statements", Shape::List(&Element { shape: Shape::Structure(&BATCH_STATEMENT), rules: &[] }))
            .required()
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(BATCH_STATEMENTS_MAX)]),
        members::RETURN_CONSUMED_CAPACITY,
    ],
};

static BATCH_STATEMENT: Structure = Structure {
    name: "BatchStatementRequest",
    members: &[STATEMENT, PARAMETERS, members::CONSISTENT_READ, members::RETURN_VALUES_ON_FAILURE],
};

/// Reads a body.
///
/// # Errors
/// The service's first objection to the whole batch.
pub fn request(json: Json<'_>) -> Result<BatchExecuteStatementRequest, WireError> {
    let members = statements::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    let statements = members.list("Statements").unwrap_or_default();
    Ok(BatchExecuteStatementRequest {
        statements: statements.map(statement).collect::<Result<_, _>>()?,
        return_consumed_capacity: members::return_consumed_capacity(members),
    })
}

fn statement(json: Json<'_>) -> Result<BatchStatement, WireError> {
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    Ok(BatchStatement {
        statement: members.owned("Statement").unwrap_or_default(),
        parameters: statements::parameters(members),
        consistent_read: members.boolean("ConsistentRead").unwrap_or(false),
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
    })
}

/// Appends the body.
pub fn response(response: &BatchExecuteStatementResponse, detail: ReturnConsumedCapacity, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(response.responses.iter(), object.member("Responses"), member);
    let consumed = response.consumed_capacity.iter().map(|(name, consumed)| (name.as_str(), consumed));
    capacity::write_list(detail, Units::Plain, consumed, &mut object);
    object.end();
}

fn member(response: &BatchStatementResponse, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    if let Err(failed) = &response.outcome {
        error(failed, object.member("Error"));
    }
    if let Some(name) = &response.table_name {
        write::string(name.as_str(), object.member("TableName"));
    }
    if let Ok(Some(item)) = &response.outcome {
        dynamodb_json::write_item(item, object.member("Item"));
    }
    object.end();
}

fn error(error: &Error, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::string(code(error), object.member("Code"));
    write::string(&error.to_string(), object.member("Message"));
    if let Error::ConditionalCheckFailed { item: Some(item) } = error {
        dynamodb_json::write_item(item, object.member("Item"));
    }
    object.end();
}

/// The short name of an exception.
fn code(error: &Error) -> &'static str {
    match error.exception() {
        VALIDATION => "ValidationError",
        "ThrottlingException" => "ThrottlingError",
        exception => exception.strip_suffix("Exception").unwrap_or(exception),
    }
}

/// Appends the body of a request. A statement whose parameters are at fault has none: it is not to be sent.
pub fn write_request(request: &BatchExecuteStatementRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(request.statements.iter(), object.member("Statements"), |one, out| {
        let mut object = ObjectWriter::start(out);
        let parameters = one.parameters.as_deref().unwrap_or_default();
        statements::write_members(&one.statement, parameters, one.return_old_on_condition_failure, &mut object);
        object.flag("ConsistentRead", one.consistent_read);
        object.end();
    });
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<BatchExecuteStatementResponse, Error> {
    let members = answer::members(json)?;
    let responses = members.list("Responses").unwrap_or_default().map(read_member);
    let (consumed_capacity, _) = capacity::of_reads(capacity::read_list(members)?);
    Ok(BatchExecuteStatementResponse { responses: responses.collect::<Result<_, _>>()?, consumed_capacity })
}

fn read_member(json: Json<'_>) -> Result<BatchStatementResponse, Error> {
    let members = answer::members(json)?;
    let outcome = match members.structure("Error") {
        Some(error) => Err(fault::of_code(error)),
        None => Ok(answer::item(members, "Item")?),
    };
    let table_name = members.string("TableName").map(answer::table_name).transpose()?;
    Ok(BatchStatementResponse { table_name, outcome })
}
