//! Transactions.

use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::capacity::SentArns;
use crate::codec::wire::{transact_get_items, transact_write_items};
use crate::model::error::Layer;

pub const OPERATIONS: &[Operation] = &[
    Operation::read("TransactGetItems", get).long().read_by(Layer::Transaction),
    Operation::started("TransactWriteItems", write).read_by(Layer::Transaction),
];

fn get(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = transact_get_items::request(json)?;
    let (arns, detail) = (SentArns::of_transaction(json), request.return_consumed_capacity);
    let response = context.database.transact_get_items(request)?;
    let mut out = Vec::new();
    transact_get_items::response(&response, (&arns, detail), &mut out);
    Ok(out)
}

fn write(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = transact_write_items::request(json.root())?;
    let (arns, detail) = (SentArns::of_transaction(json.root()), request.return_consumed_capacity);
    drop(json);
    let done = answered.with(move |response, out| transact_write_items::response(response, (&arns, detail), out));
    context.database.transact_write_items_then(request, done);
    Ok(())
}
