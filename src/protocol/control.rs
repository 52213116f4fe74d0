//! The control plane: tables, their settings, tags, policies, insights, backups, exports and imports.

use super::operation::{begin, begin_tree, body, serve};
use super::{Answered, Context, Failure, Operation};
use crate::codec::json::document::Document;
use crate::codec::wire::*;
use crate::model::api::Call;
use crate::model::api::operation::Way;

pub const OPERATIONS: &[Operation] = &[
    serve!(DescribeTable, describe_table::request => |answer| describe_table::to_json(&answer.table)),
    serve!(ListTables, |json| Ok((list_tables::request(json)?, list_tables::response))),
    serve!(CreateTable, create_table::request => create_table::response_to_json),
    serve!(UpdateTable, update_table::request => update_table::to_json),
    serve!(DeleteTable, delete_table::request => delete_table::to_json),
    serve!(DescribeTimeToLive, time_to_live::describe_request => time_to_live::describe_to_json),
    serve!(UpdateTimeToLive, time_to_live::update_request => time_to_live::update_to_json),
    // The answer has no body, and the next neither.
    serve!(TagResource, |json| Ok((resource::tag_request(json)?, |(): &(), _: &mut _| {}))),
    serve!(UntagResource, |json| Ok((resource::untag_request(json)?, |(): &(), _: &mut _| {}))),
    serve!(ListTagsOfResource, resource::list_tags_request => |tags| resource::tags_to_json(tags)),
    serve!(PutResourcePolicy, resource::put_policy_request => |revision| resource::revision_to_json(Some(revision))),
    serve!(GetResourcePolicy, |json| resource::policy_request(json, "GetResourcePolicy") => resource::policy_to_json),
    serve!(DeleteResourcePolicy, |json| resource::policy_request(json, "DeleteResourcePolicy")
        => |revision| resource::revision_to_json(revision.as_deref())),
    serve!(DescribeLimits, resource::no_members => |limits| resource::limits_to_json(*limits)),
    Operation::new("DescribeEndpoints", Way::Reads, endpoints),
    serve!(UpdateContributorInsights, insights::update_request => insights::updated_to_json),
    serve!(DescribeContributorInsights, insights::describe_request => insights::described_to_json),
    serve!(ListContributorInsights, insights::list_request => |list| insights::list_to_json(list)),
    serve!(CreateBackup, backup::create_request => backup::details_to_json),
    serve!(DescribeBackup, backup::arn_request => backup::description_to_json),
    serve!(ListBackups, backup::list_request => backup::list_to_json),
    serve!(DeleteBackup, backup::arn_request => backup::description_to_json),
    serve!(RestoreTableFromBackup, backup::restore_request => backup::restored_to_json),
    serve!(RestoreTableToPointInTime, backup::point_in_time_request => backup::restored_to_json),
    serve!(UpdateContinuousBackups, backup::continuous_request => |window| backup::window_to_json(*window)),
    serve!(DescribeContinuousBackups, backup::describe_continuous_request => |window| backup::window_to_json(*window)),
    serve!(ExportTableToPointInTime, transfer::export_request => transfer::export_to_json),
    serve!(DescribeExport, transfer::export_arn_request => transfer::export_to_json),
    serve!(ListExports, transfer::list_request => transfer::exports_to_json),
    serve!(ImportTable, transfer::import_request => transfer::import_to_json),
    serve!(DescribeImport, transfer::import_arn_request => transfer::import_to_json),
    serve!(ListImports, transfer::list_request => transfer::imports_to_json),
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
