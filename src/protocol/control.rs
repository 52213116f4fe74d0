//! The control plane: tables, their settings, tags, policies, insights, backups, exports and imports.

use super::operation::{begin, begin_tree, body, serve};
use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, *};
use crate::model::api::Call;
use crate::model::api::operation::Way;

pub const OPERATIONS: &[Operation] = &[
    serve!(DescribeTable),
    serve!(ListTables),
    serve!(CreateTable),
    serve!(UpdateTable),
    serve!(DeleteTable),
    serve!(DescribeTimeToLive),
    serve!(UpdateTimeToLive),
    // The answer has no body, and the next neither.
    serve!(TagResource, resource::tag_request => |(), _, _| {}),
    serve!(UntagResource, resource::untag_request => |(), _, _| {}),
    serve!(ListTagsOfResource, resource::list_tags_request => tree |tags| resource::tags_to_json(tags)),
    serve!(PutResourcePolicy, resource::put_policy_request => tree |revision| resource::revision_to_json(Some(revision))),
    serve!(GetResourcePolicy, |json| resource::policy_request(json, "GetResourcePolicy") => tree resource::policy_to_json),
    serve!(DeleteResourcePolicy, |json| resource::policy_request(json, "DeleteResourcePolicy")
        => tree |revision| resource::revision_to_json(revision.as_deref())),
    serve!(DescribeLimits, resource::no_members => tree |limits| resource::limits_to_json(*limits)),
    Operation::new("DescribeEndpoints", Way::Reads, endpoints),
    serve!(UpdateContributorInsights, insights::update_request => tree insights::updated_to_json),
    serve!(DescribeContributorInsights, insights::describe_request => tree insights::described_to_json),
    serve!(ListContributorInsights, insights::list_request => tree |list| insights::list_to_json(list)),
    serve!(CreateBackup, backup::create_request => tree backup::details_to_json),
    serve!(DescribeBackup, backup::arn_request => tree backup::description_to_json),
    serve!(ListBackups, backup::list_request => tree backup::list_to_json),
    serve!(DeleteBackup, backup::arn_request => tree backup::description_to_json),
    serve!(RestoreTableFromBackup, backup::restore_request => tree backup::restored_to_json),
    serve!(RestoreTableToPointInTime, backup::point_in_time_request => tree backup::restored_to_json),
    serve!(UpdateContinuousBackups, backup::continuous_request => tree |window| backup::window_to_json(*window)),
    serve!(DescribeContinuousBackups, backup::describe_continuous_request => tree |window| backup::window_to_json(*window)),
    serve!(ExportTableToPointInTime, transfer::export_request => tree transfer::export_to_json),
    serve!(DescribeExport, transfer::export_arn_request => tree transfer::export_to_json),
    serve!(ListExports, transfer::list_request => tree transfer::exports_to_json),
    serve!(ImportTable, transfer::import_request => tree transfer::import_to_json),
    serve!(DescribeImport, transfer::import_arn_request => tree transfer::import_to_json),
    serve!(ListImports, transfer::list_request => tree transfer::imports_to_json),
];

fn endpoints(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    resource::no_members(json.root())?;
    answered.body(body(&resource::endpoints_to_json(context.host)));
    Ok(())
}

/// Features of which there is nothing here.
pub const NEVER_USED: &[Operation] = &{
    let mut named = [Operation::new("", Way::Reads, never_used); never_used::OPERATIONS.len()];
    let mut place = 0;
    // A constant has no iterators.
    while place < named.len() {
        named[place].name = never_used::OPERATIONS[place];
        place += 1;
    }
    named
};

fn never_used(json: Document, context: &Context<'_>, answered: Answered) -> Result<(), Failure> {
    let request = never_used::request(context.operation, json.root())?;
    let answer = body(&never_used::to_json(&request));
    let write = move |(): &(), out: &mut Vec<u8>| out.extend_from_slice(&answer);
    context.database.start(Call::NeverUsed(request, answered.with(write)));
    Ok(())
}
