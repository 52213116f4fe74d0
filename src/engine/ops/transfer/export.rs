//! ExportTableToPointInTime (SEMANTICS 20.3).

use std::sync::Arc;

use super::buckets;
use super::export_files;
use super::{new_arn, with_token};
use crate::engine::account::RecordKind;
use crate::engine::jobs::{self, Copy, ExportRecord, From, Job, Place, To};
use crate::engine::keys::{SourceId, StoreKey};
use crate::engine::ops::recovery::{Bound, bound, table_of};
use crate::engine::transaction::Transaction;
use crate::engine::{Engine, Shared, purge};
use crate::model::Error;
use crate::model::api::transfer::{Export, ExportRequest, Failure, TransferStatus};
use crate::model::error::RecoveryError;

impl Engine {
    /// Exports a table as of a moment of its recovery window; written in the background.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn export_table(&self, request: ExportRequest) -> Result<Export, Error> {
        buckets::root(&self.shared)?;
        buckets::relative(request.prefix.as_deref().unwrap_or_default())?;
        let (export, job) = self.shared.submit_and_wait(move |transaction| start(transaction, &request))?;
        if let Some(job) = job {
            jobs::start(Arc::clone(&self.shared), job);
        }
        Ok(export)
    }
}

fn start(transaction: &mut Transaction<'_>, request: &ExportRequest) -> Result<(Export, Option<u32>), Error> {
    let table = table_of(transaction.table(&request.table_name)?, &request.table_name)?;
    if let Some(token) = &request.client_token
        && let Some(value) = with_token(transaction, RecordKind::Export, token)?
    {
        let record = ExportRecord::decode(&value)?;
        let is_same = record.export.echo == request.echo;
        return if is_same { Ok((record.export, None)) } else { Err(RecoveryError::ExportConflict.into()) };
    }
    let bound = match bound(transaction, &table, request.time_ms)? {
        Bound::At(bound) => bound,
        Bound::Outside { earliest, latest } => return Err(RecoveryError::ExportTime { earliest, latest }.into()),
    };
    let (now_ms, id) = (transaction.now_ms(), jobs::new_id(transaction)?);
    let export = Export {
        arn: new_arn(transaction.shared, &request.table_name, "export", (now_ms, id)),
        table_id: table.table_id.clone(),
        status: TransferStatus::InProgress,
        start_ms: now_ms,
        end_ms: None,
        time_ms: request.time_ms.unwrap_or(now_ms),
        items: 0,
        bytes: 0,
        manifest: None,
        failure: None,
        echo: request.echo.clone(),
    };
    let source = SourceId(id);
    ExportRecord { export: export.clone(), source, is_copied: false, items: 0, bytes: 0 }.put(transaction.batch)?;
    jobs::hold(transaction, &request.table_name)?;
    let from = From::Table { name: request.table_name.clone(), source: table.source, bound };
    let to = To::Export { arn: export.arn.clone(), source };
    let job = jobs::add(transaction, &Job::Copy(Copy { from, to, place: Place::Items(None) }))?;
    Ok((export, Some(job)))
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
        Ok(manifest) => Ok(manifest),
    };
    let (arn, source) = (arn.to_owned(), record.source);
    shared.submit_and_wait(move |transaction| {
        let now_ms = transaction.now_ms();
        ExportRecord::change(transaction.batch, &arn, |record| {
            record.export.end_ms = Some(now_ms);
            match &written {
                Ok(manifest) => {
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
