//! The end of an export: its files written by a thread, from the items that a job copied.

mod export_files;
mod export_filter;
mod export_lines;

use std::sync::Arc;

pub use export_filter::Selected;

use super::transfer_thread::beside;

use crate::engine::account::{AccountRecord, ExportRecord};
use crate::engine::purge;
use crate::engine::runtime::Shared;
use crate::model::Error;
use crate::model::api::common::Failure;
use crate::model::api::transfer::TransferStatus;

use export_files::Written;

/// Writes an export's files on a thread of its own, then removes its copy.
pub fn write(shared: &Arc<Shared>, arn: String) {
    let shared = Arc::clone(shared);
    beside("export", arn, move |arn| write_all(&shared, arn));
}

fn write_all(shared: &Arc<Shared>, arn: &str) -> Result<(), Error> {
    let record = ExportRecord::get(&*shared.store.snapshot()?, arn)?;
    let Some(record) = record else { return Ok(()) };
    let written = match export_files::write(shared, &record) {
        Err(export_files::WriteError::Engine(error)) => return Err(error),
        Err(export_files::WriteError::Io(error)) => Err(error.to_string()),
        Ok(written) => Ok(written),
    };
    let (arn, source) = (arn.to_owned(), record.source);
    shared.submit_and_wait(move |transaction| {
        // The copy goes, so that this has room on a full disk.
        transaction.removes();
        let now_ms = transaction.now_ms();
        ExportRecord::change(transaction.batch, &arn, |record| {
            record.export.end_ms = Some(now_ms);
            match &written {
                Ok(Written { manifest, items, bytes }) => {
                    (record.export.items, record.export.bytes) = (*items, *bytes);
                    record.export.status = TransferStatus::Completed;
                    record.export.manifest = Some(manifest.clone());
                }
                Err(message) => {
                    record.export.status = TransferStatus::Failed;
                    record.export.failure = Some(Failure { code: "S3Error".to_owned(), message: message.clone() });
                }
            }
        })?;
        Ok(purge::mark(transaction, source)?)
    })?;
    purge::start(Arc::clone(shared), source);
    Ok(())
}
