//! The records that belong to the account and not to a table: backups, exports, imports,
//! contributor insights, background jobs. Each record is plain data, stored as versioned JSON under
//! its kind and name ([`AccountRecord`]); `engine::jobs` and `engine::ops` act on them.

pub mod job;

use serde_json::{Map, Value};

use super::{
    base::{
        keys::RecordKind,
        stored_form::{StoredForm, decode, encode},
    },
    prelude::*,
};
use crate::codec::digest;
use crate::model::{
    api::{
        backup::BackupStatus,
        common::JobFailure,
        resource::{Insights, InsightsMode, InsightsTarget},
        transfer::{Export, Import, TransferStatus},
    },
    arn,
    error::RecoveryError,
    limits::SYSTEM_BACKUP_RETENTION_MS,
};

pub use job::JobRecord;

/// Returns a new ARN, `<table ARN>/<what>/<digits>-<8 hex digits>`: milliseconds, with 17 digits
/// for a backup and 14 for others, and an id that is never used again, mixed with the engine's
/// seed.
#[must_use]
pub fn new_arn(
    seed: u64,
    table: &TableName,
    resource: &str,
    now_ms: u64,
    SourceId(id): SourceId,
) -> String {
    let mut mixed = seed.to_be_bytes().to_vec();
    mixed.extend_from_slice(&id.to_be_bytes());
    let hex = digest::hex(&digest::digest(&mixed)[..4]);
    let digits = if resource == "backup" { 17 } else { 14 };
    format!("{}/{resource}/{now_ms:0digits$}-{hex}", arn::table(table))
}

// The stored records of the account: under their kind and name, each with the version of its form.

/// A record of the account. Its methods fail with errors of the store, and with `Corrupt` or
/// `Format` for a record that cannot be read.
pub trait AccountRecord: StoredForm {
    const KIND: RecordKind;

    /// Reads the record of that name, if there is one.
    fn get(read: &dyn Read, name: &str) -> Result<Option<Self>, StoreError> {
        read.get(&StoreKey::Account(Self::KIND, name).encode())?
            .map(decode)
            .transpose()
    }

    /// Reads the record of a name in a request.
    ///
    /// # Errors
    /// Fails with `missing` of the name if there is none; otherwise as [`Self::get`] does.
    fn require(
        read: &dyn Read,
        name: &str,
        missing: impl FnOnce(String) -> RecoveryError,
    ) -> Result<Self, Error> {
        Ok(Self::get(read, name)?.ok_or_else(|| missing(name.to_owned()))?)
    }

    /// Writes the record.
    fn put(&self, batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch.put(
            &StoreKey::Account(Self::KIND, name).encode(),
            &encode(self)?,
        )
    }

    /// Changes the record of that name, if there is one.
    fn change(
        batch: &mut dyn Write,
        name: &str,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), StoreError> {
        let Some(mut record) = Self::get(batch.as_read(), name)? else {
            return Ok(());
        };
        change(&mut record);
        record.put(batch, name)
    }

    /// Removes the record.
    fn delete(batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch
            .delete(&StoreKey::Account(Self::KIND, name).encode())
            .map(drop)
    }

    /// Visits each record, or the error of one that cannot be read, in order of their names.
    ///
    /// # Errors
    /// Fails with errors of the store and of `visit`.
    fn each(
        read: &dyn Read,
        mut visit: impl FnMut(Result<Self, StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        walks::each(read, &Self::range_after(None), |_, bytes| {
            visit(decode(bytes))
        })
    }

    /// Returns the range of the keys after a name.
    fn range_after(name: Option<&str>) -> KeyRange {
        let key = |name: &str| StoreKey::Account(Self::KIND, name).encode();
        KeyRange::prefix(&key("")).after(name.map(key))
    }

    /// Collects the results of `convert` for the records after a name, at most `limit`; returns also
    /// whether there are more.
    ///
    /// # Errors
    /// Fails with errors of `convert`; otherwise as [`Self::get`] does.
    fn page<T>(
        read: &dyn Read,
        after: Option<&str>,
        limit: usize,
        mut convert: impl FnMut(Self) -> Result<Option<T>, StoreError>,
    ) -> Result<(Vec<T>, bool), StoreError> {
        walks::page(read, &Self::range_after(after), limit, |_, bytes| {
            convert(decode(bytes)?)
        })
    }
}

// Backups, exports and imports as records.

/// A backup, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    pub arn: String,
    pub name: String,
    pub status: BackupStatus,
    pub created_ms: u64,
    /// The source of its items.
    pub source: SourceId,
    pub items: u64,
    pub bytes: u64,
    /// The number of jobs that read it.
    pub readers: u64,
    /// True for the backup of a deleted table, which owns the table's items.
    #[serde(default, rename = "system")]
    pub is_system: bool,
    /// The failure of a backup that failed.
    pub failure: Option<JobFailure>,
    /// The table's entry when the backup was made.
    pub table: Arc<TableEntry>,
}

/// An export, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRecord {
    /// The description of the export. Until its files are written, its counts are those of the
    /// items copied so far.
    #[serde(flatten)]
    pub export: Export,
    /// The source of its items until the files are written.
    pub source: SourceId,
    pub is_copied: bool,
}

/// An import, by ARN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImportRecord {
    pub import: Import,
}

impl ExportRecord {
    /// Marks the export as completed, or as failed.
    pub fn finish(&mut self, now_ms: u64, failure: Option<JobFailure>) {
        self.export.status = if failure.is_none() {
            TransferStatus::Completed
        } else {
            TransferStatus::Failed
        };
        (self.export.end_ms, self.export.failure) = (Some(now_ms), failure);
    }
}

impl StoredForm for BackupRecord {
    /// The version rises with that of the table entry inside the record.
    const VERSION: u8 = TableEntry::VERSION;
    const NAME: &'static str = "a backup";

    fn upgrade(_version: u64, mut record: Value) -> Option<Value> {
        let members = record.as_object_mut()?;
        join_failure(members);
        let table = members.get_mut("table")?;
        *table = TableEntry::upgrade(table.get("v")?.as_u64()?, table.take())?;
        Some(record)
    }

    fn is_consistent(&self) -> bool {
        self.table.is_consistent()
    }
}

impl StoredForm for ExportRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "an export";

    fn upgrade(_version: u64, mut record: Value) -> Option<Value> {
        join_failure(record.as_object_mut()?);
        Some(record)
    }

    fn is_consistent(&self) -> bool {
        is_request(&self.export.echo)
    }
}

impl StoredForm for ImportRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "an import";

    fn upgrade(version: u64, record: Value) -> Option<Value> {
        ExportRecord::upgrade(version, record)
    }

    fn is_consistent(&self) -> bool {
        is_request(&self.import.echo)
    }
}

/// True if this is the text of a request, whose members descriptions repeat.
fn is_request(echo: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(echo).is_ok()
}

/// Joins the parts of a failure, which forms without a version had as two members, null without a
/// failure.
fn join_failure(members: &mut Map<String, Value>) {
    if let (Some(code @ Value::String(_)), Some(message)) = (
        members.remove("failure_code"),
        members.remove("failure_message"),
    ) {
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
    /// Returns the time until which the backup of a deleted table is kept, in milliseconds since
    /// the epoch.
    #[must_use]
    pub fn expires_ms(&self) -> u64 {
        self.created_ms.saturating_add(SYSTEM_BACKUP_RETENTION_MS)
    }
}

// The tables and indexes with contributor insights enabled.

/// The stored settings of a table or index, by its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InsightsRecord {
    /// The source of the table or index when the record was written: another table or index may
    /// have its name by now.
    source: SourceId,
    #[serde(default)]
    enabled: bool,
    #[serde(default)]
    throttled_only: bool,
    changed: Option<u64>,
}

impl StoredForm for InsightsRecord {
    const VERSION: u8 = 1;
    const NAME: &'static str = "a record of contributor insights";
}

impl AccountRecord for InsightsRecord {
    const KIND: RecordKind = RecordKind::Insights;
}

/// Returns the name of the record. Table names contain no slash.
fn insights_name(target: &InsightsTarget) -> String {
    match &target.index {
        Some(index) => format!("{}/{index}", target.table),
        None => target.table.to_string(),
    }
}

/// True if single items of a table's base or index are counted.
pub fn has_item_insights(
    read: &dyn Read,
    table: &TableEntry,
    source: SourceId,
) -> Result<bool, StoreError> {
    let index = table.index_of(source).map(|index| index.name.clone());
    let target = InsightsTarget {
        table: table.schema.name.clone(),
        index,
    };
    Ok(has_sort_key(table, source) && read_insights(read, target, table, source)?.is_enabled)
}

fn has_sort_key(table: &TableEntry, source: SourceId) -> bool {
    table
        .index_of(source)
        .map_or(table.schema.key.sort.is_some(), |index| {
            !index.sort.is_empty()
        })
}

/// Reads the stored settings; those of an earlier table or index of that name do not count.
pub fn read_insights(
    read: &dyn Read,
    target: InsightsTarget,
    table: &TableEntry,
    source: SourceId,
) -> Result<Insights, StoreError> {
    let record = InsightsRecord::get(read, &insights_name(&target))?
        .filter(|record| record.source == source);
    Ok(Insights {
        target,
        has_sort_key: has_sort_key(table, source),
        is_enabled: record.as_ref().is_some_and(|record| record.enabled),
        mode: record.as_ref().map(|record| match record.throttled_only {
            true => InsightsMode::ThrottledKeys,
            false => InsightsMode::AccessedAndThrottledKeys,
        }),
        changed_ms: record.and_then(|record| record.changed),
    })
}

/// Stores whether insights are enabled, and for which keys.
pub fn put_insights(
    batch: &mut dyn Write,
    insights: &Insights,
    source: SourceId,
) -> Result<(), StoreError> {
    let throttled_only = insights.mode == Some(InsightsMode::ThrottledKeys);
    let record = InsightsRecord {
        source,
        enabled: insights.is_enabled,
        throttled_only,
        changed: insights.changed_ms,
    };
    record.put(batch, &insights_name(&insights.target))
}

#[cfg(test)]
mod records_tests {
    use super::*;
    use crate::engine::base::stored_form::{decode, encode};

    /// Checks a form without version, written by an earlier program, and the form written of it
    /// today.
    fn check<T: StoredForm + PartialEq + std::fmt::Debug>(first: &str, account: &str) {
        let value: T = decode(first.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(encode(&value).unwrap()).unwrap(), account);
        assert_eq!(decode(account.as_bytes()), Ok(value));
    }

    #[test]
    fn forms_are_fixed_and_earlier_ones_are_read() {
        assert_eq!(
            decode::<ImportRecord>(
                br#"{"v":1,"arn":"a","table_id":"t","status":"IN_PROGRESS","start_ms":1,"end_ms":null,"processed_bytes":2,"processed_items":3,"imported_items":4,"errors":5,"failure":null,"echo":"{"}"#
            ),
            Err(StoreError::Corrupt("an import"))
        );
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
