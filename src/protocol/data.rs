//! Items, batches, transactions, PartiQL and DynamoDB Streams.

use super::operation::{begin, serve};
use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, batches, pages, statements};
use crate::model::Error;
use crate::model::api::operation::Way;
use crate::model::api::{Call, QueryRequest, ScanRequest};
use crate::model::error::Layer;

pub const OPERATIONS: &[Operation] = &[
    serve!(GetItem).read_by(Layer::Read),
    serve!(PutItem).read_by(Layer::Write),
    serve!(UpdateItem).read_by(Layer::Write),
    serve!(DeleteItem).read_by(Layer::Write),
    Operation::new("Query", Way::Reads, run_query).long_with_filter().read_by(Layer::Query),
    // No `read_by`: unlike Query, Scan still tells of wrong values as the older layer does (docs/dynamodb.md 3.4).
    Operation::new("Scan", Way::Reads, run_scan).long_with_filter(),
    Operation::new("BatchGetItem", Way::Reads, batch_get).long_by_rows().read_by(Layer::Read),
    serve!(BatchWriteItem, wire::request => batches::write_response),
    serve!(TransactGetItems).read_by(Layer::Transaction).long(),
    serve!(TransactWriteItems).read_by(Layer::Transaction),
    serve!(ExecuteStatement, wire::request => statements::write_answer).long(),
    serve!(BatchExecuteStatement).long(),
    serve!(ExecuteTransaction).long(),
    serve!(GetRecords).long().of_streams(),
    serve!(GetShardIterator).of_streams(),
    serve!(DescribeStream).of_streams(),
    serve!(ListStreams).of_streams(),
];

fn run_query(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request: QueryRequest = wire::request(json.root())?;
    let mut writer = pages::PageWriter::new(request.select);
    let page = context.database.query_rows(&request, &mut |row| writer.row(row))?;
    answered.body(writer.finish(&page, &wire::Context::of(json.root())).map_err(Error::Store)?);
    Ok(())
}

fn run_scan(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request: ScanRequest = wire::request(json.root())?;
    let mut writer = pages::PageWriter::new(request.select);
    let page = context.database.scan_rows(&request, &mut |row| writer.row(row))?;
    answered.body(writer.finish(&page, &wire::Context::of(json.root())).map_err(Error::Store)?);
    Ok(())
}

fn batch_get(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = wire::request(json.root())?;
    let mut writer = batches::BatchWriter::new(&request, wire::Context::of(json.root()));
    let page = context.database.batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    answered.body(writer.finish(&page).map_err(Error::Store)?);
    Ok(())
}
