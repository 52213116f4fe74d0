//! What belongs to the account rather than to a table: backups, exports, imports, contributor insights, background jobs. Each is a
//! record under its kind and name, plain data here; `jobs` and `ops` carry things out.

pub mod job;

use serde_json::{Map, Value};

use super::{
    base::{
        keys::RecordKind,
        stored::{Stored, decode, encode},
    },
    prelude::*,
};
use crate::codec::digest;
use crate::model::{
    api::{
        backup::BackupStatus,
        common::Failure,
        resource::{Insights, InsightsMode, InsightsTarget},
        transfer::{Export, Import, TransferStatus},
    },
    arn,
    error::RecoveryError,
    limits::SYSTEM_BACKUP_KEPT_MS,
};

pub use job::JobRecord;

/// `<table ARN>/<what>/<digits>-<8 hex digits>`: milliseconds, 17 digits of a backup and 14 of others, and a number that is never used
/// again, mixed with the engine's seed.
#[must_use]
pub fn new_arn(
    seed: u64,
    table: &TableName,
    what: &str,
    (now_ms, SourceId(id)): (u64, SourceId),
) -> String {
    let mut mixed = seed.to_be_bytes().to_vec();
    mixed.extend_from_slice(&id.to_be_bytes());
    let hex = digest::hex(&digest::digest(&mixed)[..4]);
    let digits = if what == "backup" { 17 } else { 14 };
    format!("{}/{what}/{now_ms:0digits$}-{hex}", arn::table(table))
}

// The records of the account as they lie in the store: under their kind and name, each with the version of its form.

/// A record of the account. Errors of its methods are those of the store, and `Corrupt` or `Format` for what cannot be read.
pub trait AccountRecord: Stored {
    const KIND: RecordKind;

    /// The record of that name, if it is there.
    ///
    /// # Errors
    /// As above.
    fn get(read: &dyn Read, name: &str) -> Result<Option<Self>, StoreError> {
        read.get(&StoreKey::Account(Self::KIND, name).encode())?
            .map(decode)
            .transpose()
    }

    /// The record of a name that a request has.
    ///
    /// # Errors
    /// As above; `missing` of the name.
    fn known(
        read: &dyn Read,
        name: &str,
        missing: impl FnOnce(String) -> RecoveryError,
    ) -> Result<Self, Error> {
        Ok(Self::get(read, name)?.ok_or_else(|| missing(name.to_owned()))?)
    }

    /// Writes it.
    ///
    /// # Errors
    /// As above.
    fn put(&self, batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch.put(
            &StoreKey::Account(Self::KIND, name).encode(),
            &encode(self)?,
        )
    }

    /// Changes the record of that name, if it is there.
    ///
    /// # Errors
    /// As above.
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

    /// Removes it.
    ///
    /// # Errors
    /// As above.
    fn delete(batch: &mut dyn Write, name: &str) -> Result<(), StoreError> {
        batch
            .delete(&StoreKey::Account(Self::KIND, name).encode())
            .map(drop)
    }

    /// Visits each record, or why it cannot be read, in order of their names.
    ///
    /// # Errors
    /// Those of the store and of `visit`.
    fn each(
        read: &dyn Read,
        mut visit: impl FnMut(Result<Self, StoreError>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        walks::each(read, &Self::after(None), |_, bytes| visit(decode(bytes)))
    }

    /// The keys after a name.
    fn after(name: Option<&str>) -> KeyRange {
        let key = |name: &str| StoreKey::Account(Self::KIND, name).encode();
        KeyRange::prefix(&key("")).after(name.map(key))
    }

    /// What `take` makes of the records behind a name, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// As above; those of `take`.
    fn page<T>(
        read: &dyn Read,
        after: Option<&str>,
        limit: usize,
        mut take: impl FnMut(Self) -> Result<Option<T>, StoreError>,
    ) -> Result<(Vec<T>, bool), StoreError> {
        walks::page(read, &Self::after(after), limit, |_, bytes| {
            take(decode(bytes)?)
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

impl ExportRecord {
    /// It is over, or has failed.
    pub fn end(&mut self, now_ms: u64, failure: Option<Failure>) {
        self.export.status = if failure.is_none() {
            TransferStatus::Completed
        } else {
            TransferStatus::Failed
        };
        (self.export.end_ms, self.export.failure) = (Some(now_ms), failure);
    }
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
    BackupRecord::each(read, |record| {
        record.map(|record| found.push(record.source))
    })?;
    ExportRecord::each(read, |record| {
        record.map(|record| found.push(record.source))
    })?;
    Ok(found)
}

// Of which tables and indexes contributor insights are enabled.

/// What is kept of a table or index, by its name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct InsightsRecord {
    /// The table or index that was meant: another may have its name by now.
    source: SourceId,
    #[serde(default)]
    enabled: bool,
    #[serde(default)]
    throttled_only: bool,
    changed: Option<u64>,
}

impl Stored for InsightsRecord {
    const VERSION: u8 = 1;
    const WHAT: &'static str = "a record of contributor insights";
}

impl AccountRecord for InsightsRecord {
    const KIND: RecordKind = RecordKind::Insights;
}

/// Names of tables have no slash.
fn insights_name(target: &InsightsTarget) -> String {
    match &target.index {
        Some(index) => format!("{}/{index}", target.table),
        None => target.table.to_string(),
    }
}

/// Are single items of a table's base or index counted?
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn counts_items(
    of: &dyn Read,
    table: &TableEntry,
    source: SourceId,
) -> Result<bool, StoreError> {
    let index = table.index_of(source).map(|index| index.name.clone());
    let target = InsightsTarget {
        table: table.schema.name.clone(),
        index,
    };
    Ok(has_sort_key(table, source) && read_insights(of, target, (table, source))?.is_enabled)
}

fn has_sort_key(table: &TableEntry, source: SourceId) -> bool {
    table
        .index_of(source)
        .map_or(table.schema.key.sort.is_some(), |index| {
            !index.sort.is_empty()
        })
}

/// What was kept; of an earlier table or index of that name nothing.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn read_insights(
    of: &dyn Read,
    target: InsightsTarget,
    (table, source): (&TableEntry, SourceId),
) -> Result<Insights, StoreError> {
    let record =
        InsightsRecord::get(of, &insights_name(&target))?.filter(|record| record.source == source);
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

/// Keeps whether they are enabled, and which keys are meant.
///
/// # Errors
/// Those of the store.
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
