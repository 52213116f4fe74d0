//! ExportTableToPointInTime (docs/dynamodb.md 20.3).

use std::sync::Arc;

use super::buckets;
use super::export_files::{self, Written};
use super::export_filter::Selected;
use super::{new_arn, with_token};
use crate::engine::account::RecordKind;
use crate::engine::catalog::TableEntry;
use crate::engine::jobs::{self, Changes, Copy, ExportRecord, From, Job, Place, To};
use crate::engine::keys::{SourceId, StoreKey};
use crate::engine::ops::recovery::{Bound, bound, table_of};
use crate::engine::transaction::Transaction;
use crate::engine::{Engine, Shared, purge};
use crate::model::Error;
use crate::model::api::Version;
use crate::model::api::common::Failure;
use crate::model::api::transfer::{Export, ExportRequest, ExportWindow, TransferStatus, WindowRequest};
use crate::model::arn;
use crate::model::error::RecoveryError;

const MINUTE_MS: u64 = 60 * 1000;
/// The shortest window of an incremental export (API reference, ExportTableToPointInTime).
const WINDOW_MIN_MS: u64 = 15 * MINUTE_MS;
/// The longest one.
const WINDOW_MAX_MS: u64 = 24 * 60 * MINUTE_MS;

impl Engine {
    /// Exports a table as of a moment of its recovery window, or what changed in a part of that window; written in the background.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn export_table(&self, request: ExportRequest) -> Result<Export, Error> {
        known(self.table(&request.table_name)?, &request)?;
        buckets::root(&self.shared)?;
        buckets::relative(request.prefix.as_deref().unwrap_or_default())?;
        let (export, job) = self.shared.submit_and_wait(move |transaction| start(transaction, &request))?;
        if let Some(job) = job {
            jobs::start(Arc::clone(&self.shared), job);
        }
        Ok(export)
    }
}

/// The table to be exported; what is missing is told by its ARN.
fn known(entry: Option<Arc<TableEntry>>, request: &ExportRequest) -> Result<Arc<TableEntry>, RecoveryError> {
    match entry {
        None => Err(RecoveryError::TableNotFound(arn::table(&request.table_name))),
        entry => table_of(entry, &request.table_name),
    }
}

fn start(transaction: &mut Transaction<'_>, request: &ExportRequest) -> Result<(Export, Option<u32>), Error> {
    let table = known(transaction.table(&request.table_name)?, request)?;
    Selected::parse(&request.filter)?.check(&table.schema.key)?;
    if let Some(token) = &request.client_token
        && let Some(value) = with_token(transaction, RecordKind::Export, token)?
    {
        let record = ExportRecord::decode(&value)?;
        let is_same = record.export.echo == request.echo;
        return if is_same { Ok((record.export, None)) } else { Err(RecoveryError::ExportConflict.into()) };
    }
    let window = request.window.map(|of| window(&table, of, transaction.now_ms())).transpose()?;
    let bound = bound_within(transaction, &table, window.as_ref().map_or(request.time_ms, |window| Some(window.to_ms)))?;
    let window_bounds = window.as_ref().map(|window| window_bounds(transaction, &table, window)).transpose()?;
    let (now_ms, id) = (transaction.now_ms(), jobs::new_id(transaction)?);
    let export = Export {
        arn: new_arn(transaction.shared, &request.table_name, "export", (now_ms, id)),
        table_id: table.table_id.clone(),
        status: TransferStatus::InProgress,
        start_ms: now_ms,
        end_ms: None,
        time_ms: window.as_ref().map(|window| window.to_ms).or(request.time_ms).unwrap_or(now_ms),
        window,
        items: 0,
        bytes: 0,
        manifest: None,
        failure: None,
        echo: request.echo.clone(),
    };
    let source = SourceId(id);
    ExportRecord { export: export.clone(), source, is_copied: false, items: 0, bytes: 0 }.put(transaction.batch)?;
    jobs::hold(transaction, &request.table_name)?;
    let (name, arn) = (request.table_name.clone(), export.arn.clone());
    let job = match window_bounds {
        Some((after, until)) => Job::Changes(Changes { arn, table: name, source: table.source, into: source, after, until }),
        None => {
            let from = From::Table { name, source: table.source, bound };
            Job::Copy(Copy { from, to: To::Export { arn, source }, place: Place::Items(None) })
        }
    };
    let job = jobs::add(transaction, &job)?;
    Ok((export, Some(job)))
}

/// The version bound of a time; of now when there is no time.
fn bound_within(transaction: &Transaction<'_>, table: &TableEntry, time_ms: Option<u64>) -> Result<Version, Error> {
    match bound(transaction, table, time_ms)? {
        Bound::At(bound) => Ok(bound),
        Bound::Outside { earliest, latest } => Err(RecoveryError::ExportTime { earliest, latest }.into()),
    }
}

/// The window asked for.
fn window(table: &TableEntry, asked: WindowRequest, now_ms: u64) -> Result<ExportWindow, RecoveryError> {
    let to_ms = asked.to_ms.unwrap_or(now_ms);
    let length_ms = to_ms
        .checked_sub(asked.from_ms)
        .ok_or(RecoveryError::Parameter("ExportFromTime must be before ExportToTime, which is now when it is not given"))?;
    if !(WINDOW_MIN_MS..=WINDOW_MAX_MS).contains(&length_ms) {
        return Err(RecoveryError::Parameter("ExportFromTime and ExportToTime must be 15 minutes to 24 hours apart"));
    }
    let key = &table.schema.key;
    let key_names = std::iter::once(&key.partition).chain(&key.sort).map(|attribute| attribute.name.clone()).collect();
    Ok(ExportWindow { from_ms: asked.from_ms, to_ms, view: asked.view, key_names })
}

/// The last version before the window, and its last: it begins with its first millisecond and ends before its last.
fn window_bounds(transaction: &Transaction<'_>, table: &TableEntry, window: &ExportWindow) -> Result<(Version, Version), Error> {
    bound_within(transaction, table, Some(window.from_ms))?;
    let before = |time_ms: u64| jobs::bound_at(transaction, table.source, time_ms.saturating_sub(1));
    Ok((before(window.from_ms)?, before(window.to_ms)?))
}

/// Writes an export's files on a thread of its own, then removes its copy.
pub fn write_export(shared: &Arc<Shared>, arn: String) {
    let shared = Arc::clone(shared);
    let run = move || {
        if let Err(error) = write(&shared, &arn) {
            // The record still says that it is in progress: the next open begins again.
            log::warn!("export {arn} stopped: {error}");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("export".to_owned()).spawn(run) {
        log::warn!("no thread for an export: {error}");
    }
}

fn write(shared: &Arc<Shared>, arn: &str) -> Result<(), Error> {
    let record = ExportRecord::get(&*shared.store.snapshot()?, arn)?;
    let Some(record) = record else { return Ok(()) };
    let written = match export_files::write(shared, &record) {
        Err(export_files::WriteError::Engine(error)) => return Err(error),
        Err(export_files::WriteError::Io(error)) => Err(error.to_string()),
        Ok(written) => Ok(written),
    };
    let (arn, source) = (arn.to_owned(), record.source);
    shared.submit_and_wait(move |transaction| {
        transaction.removes();
        let now_ms = transaction.now_ms();
        ExportRecord::change(transaction.batch, &arn, |record| {
            record.export.end_ms = Some(now_ms);
            match &written {
                Ok(Written { manifest, items, bytes }) => {
                    (record.items, record.bytes) = (*items, *bytes);
                    record.export.status = TransferStatus::Completed;
                    record.export.manifest = Some(manifest.clone());
                }
                Err(message) => {
                    record.export.status = TransferStatus::Failed;
                    record.export.failure = Some(Failure { code: "S3Error".to_owned(), message: message.clone() });
                }
            }
        })?;
        Ok(transaction.batch.put(&StoreKey::Purge(source).encode(), purge::MARK)?)
    })?;
    purge::start(Arc::clone(shared), source);
    Ok(())
}
