//! Backups and point-in-time recovery.

use super::operation::body;
use super::{Context, Failure, Operation};
use crate::codec::json::document::{Document, Json};
use crate::codec::wire::backup;

pub const OPERATIONS: &[Operation] = &[
    Operation::blocking("CreateBackup", create),
    Operation::read("DescribeBackup", describe),
    Operation::read("ListBackups", list),
    Operation::blocking("DeleteBackup", delete),
    Operation::blocking("RestoreTableFromBackup", restore_from_backup),
    Operation::blocking("RestoreTableToPointInTime", restore_to_point_in_time),
    Operation::blocking("UpdateContinuousBackups", update_continuous),
    Operation::read("DescribeContinuousBackups", describe_continuous),
];

fn create(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let details = context.administration()?.create_backup(backup::create_request(json.root())?)?;
    Ok(body(&backup::details_to_json(&details)))
}

fn describe(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let described = context.administration()?.describe_backup(&backup::arn_request(json)?)?;
    Ok(body(&backup::description_to_json(&described)))
}

fn list(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let listed = context.administration()?.list_backups(&backup::list_request(json)?)?;
    Ok(body(&backup::list_to_json(&listed)))
}

fn delete(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let deleted = context.administration()?.delete_backup(&backup::arn_request(json.root())?)?;
    Ok(body(&backup::description_to_json(&deleted)))
}

fn restore_from_backup(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let restored = context.administration()?.restore_from_backup(backup::restore_request(json.root())?)?;
    Ok(body(&backup::restored_to_json(&restored)))
}

fn restore_to_point_in_time(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let restored = context.administration()?.restore_to_point_in_time(backup::point_in_time_request(json.root())?)?;
    Ok(body(&backup::restored_to_json(&restored)))
}

fn update_continuous(json: Document, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let window = context.administration()?.update_continuous_backups(backup::continuous_request(json.root())?)?;
    Ok(body(&backup::window_to_json(window)))
}

fn describe_continuous(json: Json<'_>, context: &Context<'_>) -> Result<Vec<u8>, Failure> {
    let window = context.administration()?.describe_continuous_backups(&backup::describe_continuous_request(json)?)?;
    Ok(body(&backup::window_to_json(window)))
}
