//! PartiQL. What a statement does is only known once it was read: all are started, and reads are answered at once.

use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::Document;
use crate::codec::wire::{batch_execute_statement, execute_statement, execute_transaction};

pub const OPERATIONS: &[Operation] = &[
    Operation::started("ExecuteStatement", one).long(),
    Operation::started("BatchExecuteStatement", batch).long(),
    Operation::started("ExecuteTransaction", transaction).long(),
];

fn one(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = execute_statement::request(json.root())?;
    drop(json);
    let detail = request.return_consumed_capacity;
    let done = answered.with(move |response, out| execute_statement::response(response, detail, out));
    context.database.execute_statement_then(request, done);
    Ok(())
}

fn batch(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = batch_execute_statement::request(json.root())?;
    drop(json);
    let detail = request.return_consumed_capacity;
    let done = answered.with(move |response, out| batch_execute_statement::response(response, detail, out));
    context.database.batch_execute_statement_then(request, done);
    Ok(())
}

fn transaction(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = execute_transaction::request(json.root())?;
    drop(json);
    let detail = request.return_consumed_capacity;
    let done = answered.with(move |response, out| execute_transaction::response(response, detail, out));
    context.database.execute_transaction_then(request, done);
    Ok(())
}
