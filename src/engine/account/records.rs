//! Backups, exports and imports as records.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::objects::AccountRecord;
use crate::engine::base::keys::{RecordKind, SourceId};
use crate::engine::base::stored::Stored;
use crate::engine::catalog::TableEntry;
use crate::model::api::backup::BackupStatus;
use crate::model::api::common::Failure;
use crate::model::api::transfer::{Export, Import};
use crate::model::error::StoreError;
use crate::model::limits::SYSTEM_BACKUP_KEPT_MS;
use crate::store::Read;

/// A backup, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    pub arn: String,
    pub name: String,
    pub status: BackupStatus,
    pub created_ms: u64,
    /// Where its items are.
    pub source: SourceId,
    pub items: u64,
    pub bytes: u64,
    /// Jobs that read it.
    pub readers: u64,
    /// Of a deleted table, whose own items it has.
    #[serde(default, rename = "system")]
    pub is_system: bool,
    /// Of one that failed.
    pub failure: Option<Failure>,
    /// The table's entry when it was made.
    pub table: Arc<TableEntry>,
}

/// An export, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRecord {
    /// With what was copied so far, until it is written.
    #[serde(flatten)]
    pub export: Export,
    /// Where its items are until they are written.
    pub source: SourceId,
    pub is_copied: bool,
}

/// An import, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImportRecord {
    pub import: Import,
}

impl Stored for BackupRecord {
    /// It rises with that of the entry within.
    const VERSION: u8 = TableEntry::VERSION;
    const WHAT: &'static str = "a backup";

    fn upgrade(_version: u64, mut record: Value) -> Option<Value> {
        let members = record.as_object_mut()?;
        gather_failure(members);
        let table = members.get_mut("table")?;
        *table = TableEntry::upgrade(table.get("v")?.as_u64()?, table.take())?;
        Some(record)
    }

    fn is_consistent(&self) -> bool {
        self.table.is_consistent()
    }
}

impl Stored for ExportRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "an export";

    fn upgrade(_version: u64, mut record: Value) -> Option<Value> {
        gather_failure(record.as_object_mut()?);
        Some(record)
    }
}

impl Stored for ImportRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "an import";

    fn upgrade(version: u64, record: Value) -> Option<Value> {
        ExportRecord::upgrade(version, record)
    }
}

/// Forms without a version had a failure's parts as two members, null without one.
fn gather_failure(members: &mut Map<String, Value>) {
    if let (Some(code @ Value::String(_)), Some(message)) = (members.remove("failure_code"), members.remove("failure_message")) {
        members.insert("failure".to_owned(), Value::Array(vec![code, message]));
    }
}

impl AccountRecord for BackupRecord {
    const KIND: RecordKind = RecordKind::Backup;
}

impl AccountRecord for ExportRecord {
    const KIND: RecordKind = RecordKind::Export;
}

impl AccountRecord for ImportRecord {
    const KIND: RecordKind = RecordKind::Import;
}

impl BackupRecord {
    /// Until when one of a deleted table is kept, milliseconds since the epoch.
    #[must_use]
    pub fn kept_until_ms(&self) -> u64 {
        self.created_ms.saturating_add(SYSTEM_BACKUP_KEPT_MS)
    }
}

/// The sources that backups and exports keep beside the tables.
///
/// # Errors
/// `Corrupt`, `Format` for what cannot be read: nobody knows what belongs to it. Those of the store.
pub fn kept_sources(read: &dyn Read) -> Result<Vec<SourceId>, StoreError> {
    let mut found = Vec::new();
    BackupRecord::walk(read, None, &mut |record| {
        found.push(record?.source);
        Ok(ControlFlow::Continue(()))
    })?;
    ExportRecord::walk(read, None, &mut |record| {
        found.push(record?.source);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::base::stored::{decode, encode};

    /// A form without version, written by an earlier program, and what is written of it today.
    fn check<T: Stored + PartialEq + std::fmt::Debug>(first: &str, today: &str) {
        let value: T = decode(first.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(encode(&value).unwrap()).unwrap(), today);
        assert_eq!(decode(today.as_bytes()), Ok(value));
    }

    #[test]
    fn forms_are_fixed_and_earlier_ones_are_read() {
        check::<ExportRecord>(
            r#"{"arn":"a","table_id":"t","status":"FAILED","start_ms":1,"end_ms":2,"time_ms":3,"window":{"from_ms":1,"to_ms":3,"view":"NEW_IMAGE","keys":["pk"]},"manifest":null,"failure_code":"c","failure_message":"m","echo":"{}","source":4,"is_copied":false,"items":5,"bytes":6}"#,
            r#"{"v":1,"arn":"a","table_id":"t","status":"FAILED","start_ms":1,"end_ms":2,"time_ms":3,"window":{"from_ms":1,"to_ms":3,"view":"NEW_IMAGE","keys":["pk"]},"items":5,"bytes":6,"manifest":null,"failure":{"code":"c","message":"m"},"echo":"{}","source":4,"is_copied":false}"#,
        );
        check::<ImportRecord>(
            r#"{"arn":"a","table_id":"t","status":"IN_PROGRESS","start_ms":1,"end_ms":null,"processed_bytes":2,"processed_items":3,"imported_items":4,"errors":5,"failure_code":null,"failure_message":null,"echo":"{}"}"#,
            r#"{"v":1,"arn":"a","table_id":"t","status":"IN_PROGRESS","start_ms":1,"end_ms":null,"processed_bytes":2,"processed_items":3,"imported_items":4,"errors":5,"failure":null,"echo":"{}"}"#,
        );
    }
}
