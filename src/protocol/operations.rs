//! The operations, a line each: by its row in `model::api::operation`, with what reads its request and writes its answer where these are not
//! as they are declared.

use super::operation::{Answered, Context, Failure, Operation, begin, begin_tree, body, serve};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{self, *};
use crate::model::Error;
use crate::model::api::backup::BackupRequest;
use crate::model::api::operation::Way;
use crate::model::api::transfer::{DescribeExportRequest, DescribeImportRequest};
use crate::model::api::{Call, DescribeTableRequest, QueryRequest, ScanRequest};
use crate::model::error::Layer;

/// Those that are asked for most come first.
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
    serve!(DescribeTable),
    serve!(ListTables),
    serve!(CreateTable),
    serve!(UpdateTable),
    serve!(DeleteTable),
    serve!(DescribeTimeToLive),
    serve!(UpdateTimeToLive),
    // The answer has no body, and the next neither.
    serve!(TagResource, wire::request => |(), _, _| {}),
    serve!(UntagResource, wire::request => |(), _, _| {}),
    serve!(ListTagsOfResource, wire::request => tree |tags| resource::tags_to_json(tags)),
    serve!(PutResourcePolicy, wire::request => tree |revision| resource::revision_to_json(Some(revision))),
    serve!(GetResourcePolicy),
    serve!(DeleteResourcePolicy, wire::request => tree |revision| resource::revision_to_json(revision.as_deref())),
    serve!(DescribeLimits),
    Operation::new("DescribeEndpoints", Way::Reads, endpoints),
    serve!(UpdateContributorInsights, wire::request => tree resource::insights_updated_to_json),
    serve!(DescribeContributorInsights, wire::request => tree resource::insights_to_json),
    serve!(ListContributorInsights, wire::request => tree |list| resource::insights_list_to_json(list)),
    serve!(CreateBackup, wire::request => tree backup::details_to_json),
    serve!(DescribeBackup, backup_arn => tree backup::description_to_json),
    serve!(ListBackups, wire::request => tree backup::list_to_json),
    serve!(DeleteBackup, backup_arn => tree backup::description_to_json),
    serve!(RestoreTableFromBackup, wire::request => tree backup::restored_to_json),
    serve!(RestoreTableToPointInTime, wire::request => tree backup::restored_to_json),
    serve!(UpdateContinuousBackups, wire::request => tree |window| backup::window_to_json(*window)),
    serve!(DescribeContinuousBackups, |json| Ok(wire::request::<DescribeTableRequest>(json)?.table_name) => tree |window| backup::window_to_json(*window)),
    serve!(ExportTableToPointInTime, transfer::export_request => tree transfer::export_to_json),
    serve!(DescribeExport, |json| Ok(wire::request::<DescribeExportRequest>(json)?.export_arn) => tree transfer::export_to_json),
    serve!(ListExports, wire::request => tree transfer::exports_to_json),
    serve!(ImportTable, transfer::import_request => tree transfer::import_to_json),
    serve!(DescribeImport, |json| Ok(wire::request::<DescribeImportRequest>(json)?.import_arn) => tree transfer::import_to_json),
    serve!(ListImports, wire::request => tree transfer::imports_to_json),
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

fn backup_arn(json: Json<'_>) -> Result<String, WireError> {
    Ok(wire::request::<BackupRequest>(json)?.backup_arn)
}

fn endpoints(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    wire::request::<()>(json.root())?;
    answered.body(body(&resource::endpoints_to_json(context.host)));
    Ok(())
}

/// Features of which there is nothing here.
pub const NEVER_USED: &[Operation] = &{
    let mut named = [Operation::new("", Way::Reads, never_used); resource::NEVER_USED.len()];
    let mut place = 0;
    // A constant has no iterators.
    while place < named.len() {
        named[place].name = resource::NEVER_USED[place].0;
        place += 1;
    }
    named
};

fn never_used(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let (request, answer) = resource::never_used_request(context.operation, json.root())?;
    let write = move |(): &(), out: &mut Vec<u8>| out.extend(body(&answer));
    context.database.start(Call::NeverUsed(request, answered.with(write)));
    Ok(())
}
