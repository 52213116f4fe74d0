//! Items, batches, transactions, PartiQL and DynamoDB Streams.

use super::operation::{begin, begin_tree, serve};
use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::Document;
use crate::codec::wire::capacity::SentArns;
use crate::codec::wire::*;
use crate::model::Error;
use crate::model::api::Call;
use crate::model::api::operation::Way;
use crate::model::error::Layer;

/// A row of an operation on items of one table.
macro_rules! item {
    ($name:ident, $wire:ident) => {
        serve!($name, |json| {
            let request = $wire::request(json)?;
            let reporting = Reporting::of(json, request.return_consumed_capacity);
            Ok((request, move |answer: &_, out: &mut _| $wire::response(answer, &reporting, out)))
        })
    };
}

/// A row of PartiQL.
macro_rules! statement {
    ($name:ident, $wire:ident) => {
        serve!($name, |json| {
            let request = $wire::request(json)?;
            let detail = request.return_consumed_capacity;
            Ok((request, move |answer: &_, out: &mut _| $wire::response(answer, detail, out)))
        })
        .long()
    };
}

/// A row of a transaction.
macro_rules! transaction {
    ($name:ident, $wire:ident) => {
        serve!($name, |json| {
            let request = $wire::request(json)?;
            let (arns, detail) = (SentArns::of_transaction(json), request.return_consumed_capacity);
            Ok((request, move |answer: &_, out: &mut _| $wire::response(answer, (&arns, detail), out)))
        })
        .read_by(Layer::Transaction)
    };
}

pub const OPERATIONS: &[Operation] = &[
    item!(GetItem, get_item).read_by(Layer::Read),
    item!(PutItem, put_item).read_by(Layer::Write),
    item!(UpdateItem, update_item).read_by(Layer::Write),
    item!(DeleteItem, delete_item).read_by(Layer::Write),
    Operation::new("Query", Way::Reads, run_query).long_with_filter().read_by(Layer::Query),
    // No `read_by`: unlike Query, Scan still tells of wrong values as the older layer does (docs/dynamodb.md 3.4).
    Operation::new("Scan", Way::Reads, run_scan).long_with_filter(),
    Operation::new("BatchGetItem", Way::Reads, batch_get).long_by_rows().read_by(Layer::Read),
    serve!(BatchWriteItem, |json| {
        let request = batch_write_item::request(json)?;
        // As sent, names or ARNs: the answer repeats them, and the request has names alone.
        let (names, detail) = (batch_get_item::table_names(json), request.return_consumed_capacity);
        Ok((request, move |answer: &_, out: &mut _| batch_write_item::response(answer, (&names, detail), out)))
    }),
    transaction!(TransactGetItems, transact_get_items).long(),
    transaction!(TransactWriteItems, transact_write_items),
    statement!(ExecuteStatement, execute_statement),
    statement!(BatchExecuteStatement, batch_execute_statement),
    statement!(ExecuteTransaction, execute_transaction),
    serve!(GetRecords, |json| Ok((get_records::request(json)?, get_records::response))).long().of_streams(),
    serve!(GetShardIterator, get_shard_iterator::request => get_shard_iterator::to_json).of_streams(),
    serve!(DescribeStream, describe_stream::request => describe_stream::to_json).of_streams(),
    serve!(ListStreams, list_streams::request => list_streams::to_json).of_streams(),
];

fn run_query(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = query::request(json.root())?;
    let mut writer = page::PageWriter::new(request.select);
    let page = context.database.query_rows(&request, &mut |row| writer.row(row))?;
    let reporting = Reporting::of(json.root(), request.return_consumed_capacity);
    answered.body(writer.finish(&page, &reporting).map_err(Error::Store)?);
    Ok(())
}

fn run_scan(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = scan::request(json.root())?;
    let mut writer = page::PageWriter::new(request.select);
    let page = context.database.scan_rows(&request, &mut |row| writer.row(row))?;
    let reporting = Reporting::of(json.root(), request.return_consumed_capacity);
    answered.body(writer.finish(&page, &reporting).map_err(Error::Store)?);
    Ok(())
}

fn batch_get(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = batch_get_item::request(json.root())?;
    let mut writer = batch_get_item::BatchWriter::new(&request, batch_get_item::table_names(json.root()));
    let page = context.database.batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    answered.body(writer.finish(&page).map_err(Error::Store)?);
    Ok(())
}
