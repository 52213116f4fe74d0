//! What belongs to the account rather than to a table: backups, exports, imports, contributor insights, background jobs. Each is a
//! record under its kind and name, plain data here; `jobs` and `ops` carry things out.

pub mod insights;
pub mod job;
mod objects;
mod records;

use super::base::keys::SourceId;
use crate::codec::digest;
use crate::model::TableName;
use crate::model::arn;

pub use job::JobRecord;
pub use objects::AccountRecord;
pub use records::{BackupRecord, ExportRecord, ImportRecord, kept_sources};

/// `<table ARN>/<what>/<digits>-<8 hex digits>`: milliseconds, 17 digits of a backup and 14 of others, and a number that is never used
/// again, mixed with the engine's seed.
#[must_use]
pub fn new_arn(seed: u64, table: &TableName, what: &str, (now_ms, SourceId(id)): (u64, SourceId)) -> String {
    let mut mixed = seed.to_be_bytes().to_vec();
    mixed.extend_from_slice(&id.to_be_bytes());
    let hex = digest::hex(&digest::digest(&mixed)[..4]);
    let digits = if what == "backup" { 17 } else { 14 };
    format!("{}/{what}/{now_ms:0digits$}-{hex}", arn::table(table))
}
