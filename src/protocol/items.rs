//! Single items, Query and Scan.

use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{Reporting, delete_item, get_item, page, put_item, query, scan, update_item};
use crate::model::Error;
use crate::model::error::Layer;

pub const OPERATIONS: &[Operation] = &[
    Operation::read("GetItem", get).read_by(Layer::Read),
    Operation::started("PutItem", put).read_by(Layer::Write),
    Operation::started("UpdateItem", update).read_by(Layer::Write),
    Operation::started("DeleteItem", delete).read_by(Layer::Write),
    Operation::read("Query", run_query).long_with_filter().read_by(Layer::Query),
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
    let request = put_item::request(json.root())?;
    let reporting = Reporting::of(json.root(), request.return_consumed_capacity);
    drop(json);
    let done = answered.with(move |response| {
        let mut out = Vec::new();
        put_item::response(&response, &reporting, &mut out);
        out
    });
    context.database.put_item_then(request, done);
    Ok(())
}

fn update(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = update_item::request(json.root())?;
    let reporting = Reporting::of(json.root(), request.return_consumed_capacity);
    drop(json);
    let done = answered.with(move |response| {
        let mut out = Vec::new();
        update_item::response(&response, &reporting, &mut out);
        out
    });
    context.database.update_item_then(request, done);
    Ok(())
}

fn delete(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = delete_item::request(json.root())?;
    let reporting = Reporting::of(json.root(), request.return_consumed_capacity);
    drop(json);
    let done = answered.with(move |response| {
        let mut out = Vec::new();
        delete_item::response(&response, &reporting, &mut out);
        out
    });
    context.database.delete_item_then(request, done);
    Ok(())
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
