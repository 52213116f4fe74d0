//! The control plane: tables, their settings, tags, policies, insights, backups, exports and imports.

use super::operation::{begin, begin_tree, body, serve};
use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::{self, *};
use crate::model::api::backup::BackupRequest;
use crate::model::api::operation::Way;
use crate::model::api::transfer::{DescribeExportRequest, DescribeImportRequest};
use crate::model::api::{Call, DescribeTableRequest};

pub const OPERATIONS: &[Operation] = &[
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
    serve!(UpdateContributorInsights, wire::request => tree insights::updated_to_json),
    serve!(DescribeContributorInsights, wire::request => tree insights::described_to_json),
    serve!(ListContributorInsights, wire::request => tree |list| insights::list_to_json(list)),
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
    let mut named = [Operation::new("", Way::Reads, never_used); never_used::OPERATIONS.len()];
    let mut place = 0;
    // A constant has no iterators.
    while place < named.len() {
        named[place].name = never_used::OPERATIONS[place].0;
        place += 1;
    }
    named
};

fn never_used(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let (request, answer) = never_used::request(context.operation, json.root())?;
    let write = move |(): &(), out: &mut Vec<u8>| out.extend(body(&answer));
    context.database.start(Call::NeverUsed(request, answered.with(write)));
    Ok(())
}
