//! ExportTableToPointInTime: a table as it was at a moment, or what changed in a window, into files of a bucket (docs/dynamodb.md 20.3).

use std::sync::Arc;

use super::with_token;
use crate::engine::account::job::{ChangesJob, CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use crate::engine::account::{self, AccountRecord, ExportRecord};
use crate::engine::catalog::{self, TableEntry};
use crate::engine::jobs;
use crate::engine::ops::recovery::{Bound, bound, table_of};
use crate::engine::runtime::{Engine, Transaction};
use crate::model::Error;
use crate::model::api::Version;
use crate::model::api::transfer::{Export, ExportFormat, ExportRequest, ExportWindow, ION, TransferStatus, WindowRequest};
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
    /// `NotSupported`, `Recovery`; those of the store.
    pub fn export_table(&self, request: ExportRequest) -> Result<Export, Error> {
        if request.format == ExportFormat::Ion {
            return Err(Error::NotSupported(ION));
        }
        known(self.table(&request.table_name)?, &request)?;
        jobs::root(&self.shared)?;
        jobs::relative(request.prefix.as_deref().unwrap_or_default())?;
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
    jobs::Selected::parse(&request.filter)?.check(&table.schema.key)?;
    if let Some(token) = &request.client_token
        && let Some(record) = with_token(transaction, token, |record: &ExportRecord| &record.export.echo)?
    {
        let is_same = record.export.echo == request.echo;
        return if is_same { Ok((record.export, None)) } else { Err(RecoveryError::ExportConflict.into()) };
    }
    let window = request.window.map(|of| window(&table, of, transaction.now_ms())).transpose()?;
    let bound = bound_within(transaction, &table, window.as_ref().map_or(request.time_ms, |window| Some(window.to_ms)))?;
    let window_bounds = window.as_ref().map(|window| window_bounds(transaction, &table, window)).transpose()?;
    let (now_ms, source) = (transaction.now_ms(), catalog::take_source(transaction.batch)?);
    let export = Export {
        arn: account::new_arn(transaction.shared.options.seed, &request.table_name, "export", (now_ms, source)),
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
    ExportRecord { export: export.clone(), source, is_copied: false }.put(transaction.batch, &export.arn)?;
    jobs::hold(transaction, &request.table_name)?;
    let (name, arn) = (request.table_name.clone(), export.arn.clone());
    let job = match window_bounds {
        Some((after, until)) => Job::Changes(ChangesJob { arn, table: name, source: table.source, into: source, after, until }),
        None => {
            let from = CopySource::Table { name, source: table.source, bound };
            Job::Copy(CopyJob { from, to: CopyTarget::Export { arn, source }, place: CopyPlace::Items(None) })
        }
    };
    let job = jobs::add(transaction, job)?;
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
