//! Single items, Query and Scan.

use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{Reporting, WireError, delete_item, get_item, page, put_item, query, scan, update_item};
use crate::database::Done;
use crate::model::Error;
use crate::model::api::ReturnConsumedCapacity;
use crate::model::error::Layer;

pub const OPERATIONS: &[Operation] = &[
    Operation::read("GetItem", get).read_by(Layer::Read),
    Operation::started("PutItem", put).read_by(Layer::Write),
    Operation::started("UpdateItem", update).read_by(Layer::Write),
    Operation::started("DeleteItem", delete).read_by(Layer::Write),
    Operation::read("Query", run_query).long_with_filter().read_by(Layer::Query),
    // No `read_by`: unlike Query, Scan still tells of wrong values as the older layer does (docs/dynamodb.md 3.4).
    Operation::read("Scan", run_scan).long_with_filter(),
];

fn get(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = get_item::request(json)?;
    let reporting = Reporting::of(json, request.return_consumed_capacity);
    let response = context.database.get_item(request)?;
    let mut out = Vec::new();
    get_item::response(&response, &reporting, &mut out);
    Ok(out)
}

fn put(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let (request, done) = begin(json, answered, put_item::request, |request| request.return_consumed_capacity, put_item::response)?;
    context.database.put_item_then(request, done);
    Ok(())
}

fn update(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let (request, done) =
        begin(json, answered, update_item::request, |request| request.return_consumed_capacity, update_item::response)?;
    context.database.update_item_then(request, done);
    Ok(())
}

fn delete(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let (request, done) =
        begin(json, answered, delete_item::request, |request| request.return_consumed_capacity, delete_item::response)?;
    context.database.delete_item_then(request, done);
    Ok(())
}

/// The request of a write of one item, and who hears of its outcome. The body's tree ends here: it is many times its text, and a
/// commit takes long.
fn begin<Q, R: Send + 'static>(
    json: Document,
    answered: Answered,
    read: fn(Json<'_>) -> Result<Q, WireError>,
    detail: fn(&Q) -> ReturnConsumedCapacity,
    write: fn(&R, &Reporting, &mut Vec<u8>),
) -> Result<(Q, Done<R>), Failure> {
    let request = read(json.root())?;
    let reporting = Reporting::of(json.root(), detail(&request));
    Ok((request, answered.with(move |response, out| write(response, &reporting, out))))
}

fn run_query(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = query::request(json)?;
    let mut writer = page::PageWriter::new(request.select);
    let page = context.database.query_rows(&request, &mut |row| writer.row(row))?;
    Ok(writer.finish(&page, &Reporting::of(json, request.return_consumed_capacity)).map_err(Error::Store)?)
}

fn run_scan(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let request = scan::request(json)?;
    let mut writer = page::PageWriter::new(request.select);
    let page = context.database.scan_rows(&request, &mut |row| writer.row(row))?;
    Ok(writer.finish(&page, &Reporting::of(json, request.return_consumed_capacity)).map_err(Error::Store)?)
}
