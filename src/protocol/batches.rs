//! Batches of reads and of writes.

use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{batch_get_item, batch_write_item};
use crate::model::Error;
use crate::model::error::Layer;

pub const OPERATIONS: &[Operation] =
    &[Operation::read("BatchGetItem", get).long_by_rows().read_by(Layer::Read), Operation::started("BatchWriteItem", write)];

fn get(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = batch_get_item::request(json)?;
    let mut writer = batch_get_item::BatchWriter::new(&request, batch_get_item::table_names(json));
    let page = context.database.batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    Ok(writer.finish(&page).map_err(Error::Store)?)
}

fn write(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = batch_write_item::request(json.root())?;
    // As sent, names or ARNs: the answer repeats them, and the request has names alone.
    let names = batch_get_item::table_names(json.root());
    drop(json);
    let detail = request.return_consumed_capacity;
    let done = answered.with(move |response, out| batch_write_item::response(response, (&names, detail), out));
    context.database.batch_write_item_then(request, done);
    Ok(())
}
