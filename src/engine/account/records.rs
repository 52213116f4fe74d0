//! Stored forms of jobs, backups, exports and imports: JSON objects with the members named as here.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::job::{ChangesJob, CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use super::objects;
use crate::codec::digest::{hex, unhex};
use crate::engine::base::keys::{RecordKind, SourceId};
use crate::engine::catalog::{TableEntry, entry_json};
use crate::model::TableName;
use crate::model::api::backup::BackupStatus;
use crate::model::api::common::Failure;
use crate::model::api::transfer::{Export, ExportView, ExportWindow, Import, TransferStatus};
use crate::model::error::StoreError;
use crate::model::limits::SYSTEM_BACKUP_KEPT_MS;
use crate::store::{Read, Write};

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub is_system: bool,
    /// Of one that failed.
    pub failure: Option<Failure>,
    /// The table's entry when it was made.
    pub table: Arc<TableEntry>,
}

/// An export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRecord {
    pub export: Export,
    /// Where its items are until they are written.
    pub source: SourceId,
    pub is_copied: bool,
    pub items: u64,
    pub bytes: u64,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    pub import: Import,
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a record of the account")
}

/// Reads members of a stored object.
struct Reader<'v>(&'v Value);

impl Reader<'_> {
    fn text(&self, name: &str) -> Result<String, StoreError> {
        self.optional_text(name).ok_or_else(damaged)
    }

    fn optional_text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Result<u64, StoreError> {
        self.optional_number(name).ok_or_else(damaged)
    }

    fn optional_number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn flag(&self, name: &str) -> Result<bool, StoreError> {
        self.0.get(name).and_then(Value::as_bool).ok_or_else(damaged)
    }

    fn source(&self, name: &str) -> Result<SourceId, StoreError> {
        u32::try_from(self.number(name)?).map(SourceId).map_err(|_| damaged())
    }

    fn table_name(&self, name: &str) -> Result<TableName, StoreError> {
        TableName::new(self.text(name)?).map_err(|_| damaged())
    }

    fn status(&self) -> Result<TransferStatus, StoreError> {
        let all = [TransferStatus::InProgress, TransferStatus::Completed, TransferStatus::Failed];
        let text = self.text("status")?;
        all.into_iter().find(|status| status.text() == text).ok_or_else(damaged)
    }

    fn failure(&self) -> Option<Failure> {
        Some(Failure { code: self.optional_text("failure_code")?, message: self.optional_text("failure_message")? })
    }
}

impl BackupRecord {
    /// Until when one of a deleted table is kept, milliseconds since the epoch.
    #[must_use]
    pub fn kept_until_ms(&self) -> u64 {
        self.created_ms.saturating_add(SYSTEM_BACKUP_KEPT_MS)
    }

    /// # Errors
    /// `Corrupt`.
    pub fn decode(value: &Value) -> Result<Self, StoreError> {
        let reader = Reader(value);
        let all = [BackupStatus::Creating, BackupStatus::Available, BackupStatus::Deleted, BackupStatus::Failed];
        let status = reader.text("status")?;
        Ok(Self {
            arn: reader.text("arn")?,
            name: reader.text("name")?,
            status: all.into_iter().find(|known| known.text() == status).ok_or_else(damaged)?,
            created_ms: reader.number("created_ms")?,
            source: reader.source("source")?,
            items: reader.number("items")?,
            bytes: reader.number("bytes")?,
            readers: reader.number("readers")?,
            is_system: reader.flag("system").unwrap_or(false),
            failure: reader.failure(),
            table: Arc::new(entry_json::of_value(value.get("table").ok_or_else(damaged)?)?),
        })
    }

    /// The backup of that ARN.
    ///
    /// # Errors
    /// Those of the store.
    pub fn get(read: &dyn Read, arn: &str) -> Result<Option<Self>, StoreError> {
        objects::get(read, RecordKind::Backup, arn)?.as_ref().map(Self::decode).transpose()
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let (code, message) = self.failure.as_ref().map(|failure| (&failure.code, &failure.message)).unzip();
        let value = json!({
            "failure_code": code, "failure_message": message, "arn": self.arn, "name": self.name, "status": self.status.text(), "created_ms": self.created_ms,
            "source": self.source.0, "items": self.items, "bytes": self.bytes, "readers": self.readers,
            "system": self.is_system, "table": entry_json::to_value(&self.table),
        });
        objects::put(batch, RecordKind::Backup, &self.arn, &value)
    }

    /// Changes it, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn change(batch: &mut dyn Write, arn: &str, change: impl FnOnce(&mut Self)) -> Result<(), StoreError> {
        let Some(mut record) = Self::get(batch.as_read(), arn)? else { return Ok(()) };
        change(&mut record);
        record.put(batch)
    }
}

impl ExportRecord {
    /// # Errors
    /// `Corrupt`.
    pub fn decode(value: &Value) -> Result<Self, StoreError> {
        let reader = Reader(value);
        let (items, bytes) = (reader.number("items")?, reader.number("bytes")?);
        let export = Export {
            arn: reader.text("arn")?,
            table_id: reader.text("table_id")?,
            status: reader.status()?,
            start_ms: reader.number("start_ms")?,
            end_ms: reader.optional_number("end_ms"),
            time_ms: reader.number("time_ms")?,
            window: value.get("window").filter(|window| !window.is_null()).map(window_of).transpose()?,
            items,
            bytes,
            manifest: reader.optional_text("manifest"),
            failure: reader.failure(),
            echo: reader.text("echo")?,
        };
        Ok(Self { export, source: reader.source("source")?, is_copied: reader.flag("is_copied")?, items, bytes })
    }

    /// The export of that ARN.
    ///
    /// # Errors
    /// Those of the store.
    pub fn get(read: &dyn Read, arn: &str) -> Result<Option<Self>, StoreError> {
        objects::get(read, RecordKind::Export, arn)?.as_ref().map(Self::decode).transpose()
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let of = &self.export;
        let (code, message) = of.failure.as_ref().map(|failure| (&failure.code, &failure.message)).unzip();
        let value = json!({
            "arn": of.arn, "table_id": of.table_id, "status": of.status.text(), "start_ms": of.start_ms, "end_ms": of.end_ms,
            "time_ms": of.time_ms, "window": of.window.as_ref().map(window_value), "manifest": of.manifest, "failure_code": code, "failure_message": message, "echo": of.echo,
            "source": self.source.0, "is_copied": self.is_copied, "items": self.items, "bytes": self.bytes,
        });
        objects::put(batch, RecordKind::Export, &of.arn, &value)
    }

    /// Changes it, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn change(batch: &mut dyn Write, arn: &str, change: impl FnOnce(&mut Self)) -> Result<(), StoreError> {
        let Some(mut record) = Self::get(batch.as_read(), arn)? else { return Ok(()) };
        change(&mut record);
        record.put(batch)
    }
}

impl ImportRecord {
    /// # Errors
    /// `Corrupt`.
    pub fn decode(value: &Value) -> Result<Self, StoreError> {
        let reader = Reader(value);
        let import = Import {
            arn: reader.text("arn")?,
            table_id: reader.text("table_id")?,
            status: reader.status()?,
            start_ms: reader.number("start_ms")?,
            end_ms: reader.optional_number("end_ms"),
            processed_bytes: reader.number("processed_bytes")?,
            processed_items: reader.number("processed_items")?,
            imported_items: reader.number("imported_items")?,
            errors: reader.number("errors")?,
            failure: reader.failure(),
            echo: reader.text("echo")?,
        };
        Ok(Self { import })
    }

    /// The import of that ARN.
    ///
    /// # Errors
    /// Those of the store.
    pub fn get(read: &dyn Read, arn: &str) -> Result<Option<Self>, StoreError> {
        objects::get(read, RecordKind::Import, arn)?.as_ref().map(Self::decode).transpose()
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put(&self, batch: &mut dyn Write) -> Result<(), StoreError> {
        let of = &self.import;
        let (code, message) = of.failure.as_ref().map(|failure| (&failure.code, &failure.message)).unzip();
        let value = json!({
            "arn": of.arn, "table_id": of.table_id, "status": of.status.text(), "start_ms": of.start_ms, "end_ms": of.end_ms,
            "processed_bytes": of.processed_bytes, "processed_items": of.processed_items, "imported_items": of.imported_items,
            "errors": of.errors, "failure_code": code, "failure_message": message, "echo": of.echo,
        });
        objects::put(batch, RecordKind::Import, &of.arn, &value)
    }
}

fn window_value(window: &ExportWindow) -> Value {
    json!({ "from_ms": window.from_ms, "to_ms": window.to_ms, "view": window.view.text(), "keys": window.key_names })
}

fn window_of(value: &Value) -> Result<ExportWindow, StoreError> {
    let reader = Reader(value);
    let view = reader.text("view")?;
    let names = value.get("keys").and_then(Value::as_array).ok_or_else(damaged)?;
    Ok(ExportWindow {
        from_ms: reader.number("from_ms")?,
        to_ms: reader.number("to_ms")?,
        view: ExportView::ALL.into_iter().find(|known| known.text() == view).ok_or_else(damaged)?,
        key_names: names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// The sources that backups and exports keep beside the tables.
///
/// # Errors
/// Those of the store.
pub fn kept_sources(read: &dyn Read) -> Result<Vec<SourceId>, StoreError> {
    let mut found = Vec::new();
    for kind in [RecordKind::Backup, RecordKind::Export] {
        objects::walk(read, kind, None, &mut |value| {
            found.extend(Reader(&value).source("source").ok());
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// The jobs there are.
pub fn job_ids(read: &dyn Read) -> Result<Vec<u32>, StoreError> {
    let mut found = Vec::new();
    objects::walk(read, RecordKind::Job, None, &mut |value| {
        let id = value.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        found.extend(id);
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The stored form of a job.
pub fn job_value(id: u32, job: &Job) -> Value {
    let copy = match job {
        Job::Trim { source, below } => return json!({ "id": id, "trim": source.0, "below": below }),
        Job::Changes(of) => {
            return json!({
                "id": id, "changes": of.arn, "table": of.table.as_str(), "source": of.source.0, "into": of.into.0,
                "after": of.after, "until": of.until,
            });
        }
        Job::Copy(copy) => copy,
    };
    let from = match &copy.from {
        CopySource::Table { name, source, bound } => json!({ "table": name.as_str(), "source": source.0, "bound": bound }),
        CopySource::Backup { arn, source } => json!({ "backup": arn, "source": source.0 }),
    };
    let to = match &copy.to {
        CopyTarget::Backup { arn, source } => json!({ "backup": arn, "source": source.0 }),
        CopyTarget::Export { arn, source } => json!({ "export": arn, "source": source.0 }),
        CopyTarget::Table(name) => json!({ "table": name.as_str() }),
    };
    let place = match &copy.place {
        CopyPlace::Items(after) => json!({ "items": after.as_deref().map(hex) }),
        CopyPlace::History(version) => json!({ "history": version }),
    };
    json!({ "id": id, "from": from, "to": to, "place": place })
}

/// The job of a stored form.
pub fn job_of(value: &Value) -> Result<Job, StoreError> {
    let part = |name: &str| value.get(name).map(Reader).ok_or_else(damaged);
    if value.get("trim").is_some() {
        let reader = Reader(value);
        return Ok(Job::Trim { source: reader.source("trim")?, below: reader.number("below")? });
    }
    if value.get("changes").is_some() {
        let reader = Reader(value);
        return Ok(Job::Changes(ChangesJob {
            arn: reader.text("changes")?,
            table: reader.table_name("table")?,
            source: reader.source("source")?,
            into: reader.source("into")?,
            after: reader.number("after")?,
            until: reader.number("until")?,
        }));
    }
    let from = part("from")?;
    let from = match from.optional_text("backup") {
        Some(arn) => CopySource::Backup { arn, source: from.source("source")? },
        None => CopySource::Table { name: from.table_name("table")?, source: from.source("source")?, bound: from.number("bound")? },
    };
    let to = part("to")?;
    let to = match (to.optional_text("backup"), to.optional_text("export")) {
        (Some(arn), _) => CopyTarget::Backup { arn, source: to.source("source")? },
        (None, Some(arn)) => CopyTarget::Export { arn, source: to.source("source")? },
        (None, None) => CopyTarget::Table(to.table_name("table")?),
    };
    let place = part("place")?;
    let place = match place.optional_number("history") {
        Some(version) => CopyPlace::History(version),
        None => CopyPlace::Items(place.optional_text("items").map(|text| unhex(&text).ok_or_else(damaged)).transpose()?),
    };
    Ok(Job::Copy(CopyJob { from, to, place }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_round_trip() {
        let name = || TableName::new("abc").unwrap();
        let table = CopySource::Table { name: name(), source: SourceId(1), bound: 9 };
        let backup = CopySource::Backup { arn: "arn".to_owned(), source: SourceId(2) };
        let into = |from: &CopySource, to, place| Job::Copy(CopyJob { from: from.clone(), to, place });
        for job in [
            into(&table, CopyTarget::Backup { arn: "arn".to_owned(), source: SourceId(3) }, CopyPlace::Items(None)),
            into(&table, CopyTarget::Export { arn: "arn".to_owned(), source: SourceId(3) }, CopyPlace::Items(Some(vec![0, 255]))),
            into(&backup, CopyTarget::Table(name()), CopyPlace::History(7)),
            Job::Trim { source: SourceId(4), below: 5 },
            Job::Changes(ChangesJob {
                arn: "arn".to_owned(),
                table: name(),
                source: SourceId(5),
                into: SourceId(6),
                after: 7,
                until: 8,
            }),
        ] {
            assert_eq!(job_of(&job_value(1, &job)), Ok(job));
        }
    }
}
