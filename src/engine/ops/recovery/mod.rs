//! Backups and point-in-time recovery (docs/dynamodb.md 20.1, 20.2).
//!
//! A backup is the table as of the commit of CreateBackup, a restored table that of the chosen moment, to the millisecond; both are
//! copied in the background, see `engine::jobs`. There is no margin: the latest restorable time is now.

mod backups;
mod continuous;
mod restore;
mod restore_schema;
pub(in crate::engine) mod system_backups;

use std::sync::Arc;

pub(in crate::engine) use continuous::{Bound, bound};

use crate::codec::digest;
use crate::engine::Shared;
use crate::engine::catalog::TableEntry;
use crate::model::TableName;
use crate::model::api::TableStatus;
use crate::model::arn;
use crate::model::error::RecoveryError;

/// The table for these operations, which have errors of their own.
pub(in crate::engine) fn table_of(entry: Option<Arc<TableEntry>>, name: &TableName) -> Result<Arc<TableEntry>, RecoveryError> {
    let text = || name.as_str().to_owned();
    let entry = entry.ok_or_else(|| RecoveryError::TableNotFound(text()))?;
    match entry.status {
        TableStatus::Active | TableStatus::Updating => Ok(entry),
        TableStatus::Creating | TableStatus::Deleting => Err(RecoveryError::TableInUse(text())),
    }
}

/// `<table ARN>/<what>/<digits>-<8 hex digits>`: milliseconds, 17 digits of a backup and 14 of others, and a number that is never used again, mixed with the seed.
pub(in crate::engine) fn new_arn(shared: &Shared, table: &TableName, what: &str, (now_ms, id): (u64, u32)) -> String {
    let mut seed = shared.options.seed.to_be_bytes().to_vec();
    seed.extend_from_slice(&id.to_be_bytes());
    let hex: String = digest::digest(&seed).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let digits = if what == "backup" { 17 } else { 14 };
    format!("{}/{what}/{now_ms:0digits$}-{hex}", arn::table(table))
}
