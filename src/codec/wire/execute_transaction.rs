//! ExecuteTransaction: the statements of one transaction in; the items that they read out (docs/dynamodb.md 19.1).

use super::capacity::{self, Units};
use super::error::WireError;
use super::members;
use super::shape::{Element, Member, Members, Rule, Shape, Structure};
use super::statements::{self, PARAMETERS, STATEMENT};
use super::write::{self, ObjectWriter};
use super::{answer, ask, transaction};
use crate::codec::dynamodb_json;
use crate::codec::json::document::Json;
use crate::model::Error;
use crate::model::api::{ExecuteTransactionRequest, ExecuteTransactionResponse, ReturnConsumedCapacity, TransactStatement};
use crate::model::limits::{CLIENT_TOKEN_CHARS_MAX, TRANSACTION_ITEMS_MAX};

pub static SHAPE: Structure = Structure {
    name: "ExecuteTransactionInput",
    members: &[
        Member::new("TransactStatements", Shape::List(&Element { shape: Shape::Structure(&PARAMETERIZED), rules: &[] }))
            .required()
            .rules(&[Rule::LengthMin(1), Rule::LengthMax(TRANSACTION_ITEMS_MAX)]),
        Member::new("ClientRequestToken", Shape::String).rules(&[Rule::LengthMin(1), Rule::LengthMax(CLIENT_TOKEN_CHARS_MAX)]),
        members::RETURN_CONSUMED_CAPACITY,
    ],
};

static PARAMETERIZED: Structure =
    Structure { name: "ParameterizedStatement", members: &[STATEMENT, PARAMETERS, members::RETURN_VALUES_ON_FAILURE] };

/// Reads a body.
///
/// # Errors
/// The service's first objection that needs no table.
pub fn request(json: Json<'_>) -> Result<ExecuteTransactionRequest, WireError> {
    let members = statements::typed(json, &SHAPE)?;
    members::constrained(json, &SHAPE)?;
    let statements = members.list("TransactStatements").unwrap_or_default();
    Ok(ExecuteTransactionRequest {
        statements: statements.map(statement).collect::<Result<_, _>>()?,
        client_request_token: members.owned("ClientRequestToken"),
        return_consumed_capacity: members::return_consumed_capacity(members),
    })
}

fn statement(json: Json<'_>) -> Result<TransactStatement, WireError> {
    let members = Members::of(json).ok_or(WireError::NotAnObject)?;
    Ok(TransactStatement {
        statement: members.owned("Statement").unwrap_or_default(),
        parameters: statements::parameters(members)?,
        return_old_on_condition_failure: members::return_old_on_condition_failure(members),
    })
}

/// Appends the body.
pub fn response(response: &ExecuteTransactionResponse, detail: ReturnConsumedCapacity, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(response.responses.iter(), object.member("Responses"), |item, out| {
        let mut object = ObjectWriter::start(out);
        if let Some(item) = item {
            dynamodb_json::write_item(item, object.member("Item"));
        }
        object.end();
    });
    let units = if response.is_read { Units::Read } else { Units::Write };
    let consumed = response.consumed_capacity.iter().map(|(name, consumed)| (name.as_str(), consumed));
    capacity::write_list(detail, units, consumed, &mut object);
    object.end();
}

/// Appends the body of a request.
pub fn write_request(request: &ExecuteTransactionRequest, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::start(out);
    write::list(request.statements.iter(), object.member("TransactStatements"), |one, out| {
        let mut object = ObjectWriter::start(out);
        statements::write_members(&one.statement, &one.parameters, one.return_old_on_condition_failure, &mut object);
        object.end();
    });
    object.text_if("ClientRequestToken", request.client_request_token.as_ref());
    ask::capacity(request.return_consumed_capacity, &mut object);
    object.end();
}

/// Reads the body of an answer.
///
/// # Errors
/// It is none.
pub fn read_response(json: Json<'_>) -> Result<ExecuteTransactionResponse, Error> {
    let members = answer::members(json)?;
    let (consumed_capacity, is_read) = capacity::of_reads(capacity::read_list(members)?);
    Ok(ExecuteTransactionResponse { responses: transaction::read_items(members)?, consumed_capacity, is_read })
}
