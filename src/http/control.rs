//! The control plane beside tables: from an operation and its body to the answer's body.

use serde_json::Value;
use tokio::task::block_in_place;

use super::error::Failure;
use crate::codec::wire::{backup, never_used, resource, transfer as wire, update_table};
use crate::database::admin::Administration;

/// An operation of [`Administration`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlOperation {
    UpdateTable,
    TagResource,
    UntagResource,
    ListTagsOfResource,
    PutResourcePolicy,
    GetResourcePolicy,
    DeleteResourcePolicy,
    DescribeLimits,
    DescribeEndpoints,
    Recovery(Recovery),
    Transfer(Transfer),
    /// By name.
    NeverUsed(&'static str),
}

/// Backups and point-in-time recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    CreateBackup,
    DescribeBackup,
    ListBackups,
    DeleteBackup,
    RestoreTableFromBackup,
    RestoreTableToPointInTime,
    UpdateContinuousBackups,
    DescribeContinuousBackups,
}

/// Exports and imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    ExportTableToPointInTime,
    DescribeExport,
    ListExports,
    ImportTable,
    DescribeImport,
    ListImports,
}

/// With the API's names.
const OPERATIONS: &[(&str, ControlOperation)] = &[
    ("UpdateTable", ControlOperation::UpdateTable),
    ("TagResource", ControlOperation::TagResource),
    ("UntagResource", ControlOperation::UntagResource),
    ("ListTagsOfResource", ControlOperation::ListTagsOfResource),
    ("PutResourcePolicy", ControlOperation::PutResourcePolicy),
    ("GetResourcePolicy", ControlOperation::GetResourcePolicy),
    ("DeleteResourcePolicy", ControlOperation::DeleteResourcePolicy),
    ("DescribeLimits", ControlOperation::DescribeLimits),
    ("DescribeEndpoints", ControlOperation::DescribeEndpoints),
    ("ExportTableToPointInTime", ControlOperation::Transfer(Transfer::ExportTableToPointInTime)),
    ("DescribeExport", ControlOperation::Transfer(Transfer::DescribeExport)),
    ("ListExports", ControlOperation::Transfer(Transfer::ListExports)),
    ("ImportTable", ControlOperation::Transfer(Transfer::ImportTable)),
    ("DescribeImport", ControlOperation::Transfer(Transfer::DescribeImport)),
    ("ListImports", ControlOperation::Transfer(Transfer::ListImports)),
    ("CreateBackup", ControlOperation::Recovery(Recovery::CreateBackup)),
    ("DescribeBackup", ControlOperation::Recovery(Recovery::DescribeBackup)),
    ("ListBackups", ControlOperation::Recovery(Recovery::ListBackups)),
    ("DeleteBackup", ControlOperation::Recovery(Recovery::DeleteBackup)),
    ("RestoreTableFromBackup", ControlOperation::Recovery(Recovery::RestoreTableFromBackup)),
    ("RestoreTableToPointInTime", ControlOperation::Recovery(Recovery::RestoreTableToPointInTime)),
    ("UpdateContinuousBackups", ControlOperation::Recovery(Recovery::UpdateContinuousBackups)),
    ("DescribeContinuousBackups", ControlOperation::Recovery(Recovery::DescribeContinuousBackups)),
];

impl ControlOperation {
    /// The operation of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let never_used = || never_used::OPERATIONS.iter().find(|known| **known == name).map(|name| Self::NeverUsed(name));
        OPERATIONS.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation).or_else(never_used)
    }

    /// The API's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverUsed(name) => name,
            _ => OPERATIONS.iter().find(|(_, operation)| *operation == self).map_or("-", |(name, _)| name),
        }
    }
}

/// Runs one request. `host` is what the client calls this server.
///
/// # Errors
/// What the request or its operation failed with.
pub fn run(operation: ControlOperation, json: &Value, admin: &dyn Administration, host: &str) -> Result<Vec<u8>, Failure> {
    use ControlOperation as Is;
    let answer = match operation {
        Is::TagResource => {
            let request = resource::tag_request(json)?;
            block_in_place(|| admin.tag_resource(request))?;
            return Ok(Vec::new());
        }
        Is::UntagResource => {
            let request = resource::untag_request(json)?;
            block_in_place(|| admin.untag_resource(request))?;
            return Ok(Vec::new());
        }
        Is::UpdateTable => {
            let request = update_table::request(json)?;
            update_table::to_json(&block_in_place(|| admin.update_table(request))?)
        }
        Is::ListTagsOfResource => resource::tags_to_json(&admin.list_tags(&resource::list_tags_request(json)?)?),
        Is::PutResourcePolicy => {
            let request = resource::put_policy_request(json)?;
            resource::revision_to_json(Some(&block_in_place(|| admin.put_policy(request))?))
        }
        Is::GetResourcePolicy => resource::policy_to_json(&admin.get_policy(&resource::policy_request(json)?)?),
        Is::DeleteResourcePolicy => {
            let request = resource::policy_request(json)?;
            resource::revision_to_json(block_in_place(|| admin.delete_policy(request))?.as_deref())
        }
        Is::Recovery(operation) => recovery(operation, json, admin)?,
        Is::Transfer(operation) => transfer(operation, json, admin)?,
        Is::NeverUsed(name) => {
            let request = never_used::request(name, json)?;
            admin.never_used(&request)?;
            never_used::to_json(&request)
        }
        Is::DescribeLimits => {
            resource::no_members(json)?;
            resource::limits_to_json(admin.describe_limits()?)
        }
        Is::DescribeEndpoints => {
            resource::no_members(json)?;
            resource::endpoints_to_json(host)
        }
    };
    Ok(answer.to_string().into_bytes())
}

/// Backups and recovery.
fn recovery(operation: Recovery, json: &Value, admin: &dyn Administration) -> Result<Value, Failure> {
    Ok(match operation {
        Recovery::CreateBackup => {
            let request = backup::create_request(json)?;
            backup::details_to_json(&block_in_place(|| admin.create_backup(request))?)
        }
        Recovery::DescribeBackup => backup::description_to_json(&admin.describe_backup(&backup::arn_request(json)?)?),
        Recovery::ListBackups => backup::list_to_json(&admin.list_backups(&backup::list_request(json)?)?),
        Recovery::DeleteBackup => {
            let arn = backup::arn_request(json)?;
            backup::description_to_json(&block_in_place(|| admin.delete_backup(&arn))?)
        }
        Recovery::RestoreTableFromBackup => {
            let request = backup::restore_request(json)?;
            backup::restored_to_json(&block_in_place(|| admin.restore_from_backup(request))?)
        }
        Recovery::RestoreTableToPointInTime => {
            let request = backup::point_in_time_request(json)?;
            backup::restored_to_json(&block_in_place(|| admin.restore_to_point_in_time(request))?)
        }
        Recovery::UpdateContinuousBackups => {
            let request = backup::continuous_request(json)?;
            backup::window_to_json(block_in_place(|| admin.update_continuous_backups(request))?)
        }
        Recovery::DescribeContinuousBackups => {
            backup::window_to_json(admin.describe_continuous_backups(&backup::describe_continuous_request(json)?)?)
        }
    })
}

/// Exports and imports.
fn transfer(operation: Transfer, json: &Value, admin: &dyn Administration) -> Result<Value, Failure> {
    Ok(match operation {
        Transfer::ExportTableToPointInTime => {
            let request = wire::export_request(json)?;
            wire::export_to_json(&block_in_place(|| admin.export_table(request))?)
        }
        Transfer::DescribeExport => wire::export_to_json(&admin.describe_export(&wire::export_arn_request(json)?)?),
        Transfer::ListExports => wire::exports_to_json(&admin.list_exports(&wire::list_request(json)?)?),
        Transfer::ImportTable => {
            let request = wire::import_request(json)?;
            wire::import_to_json(&block_in_place(|| admin.import_table(request))?)
        }
        Transfer::DescribeImport => wire::import_to_json(&admin.describe_import(&wire::import_arn_request(json)?)?),
        Transfer::ListImports => wire::imports_to_json(&admin.list_imports(&wire::list_request(json)?)?),
    })
}
