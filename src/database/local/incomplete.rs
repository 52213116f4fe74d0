//! Exports, backups and restores of a table that is not whole: the log says so, and a table that is
//! restored from it is marked as not whole too.

use std::path::Path;

use super::LocalDatabase;
use crate::database::copies::journal::{self, PULL};
use crate::database::copies::origin::{CopyOrigin, IncompleteCopy, incomplete_pull};
use crate::database::prelude::*;
use crate::model::api::Call;
use crate::model::api::backup::{BackupRequest, BackupType, CreateBackupResponse, RestoreResponse};

/// The first word of the name of a backup's mark.
const BACKUP: &str = "backup";

/// A table or backup that a call made: the words that name its mark, and its id.
struct Made<'a> {
    words: [&'a str; 2],
    id: &'a str,
}

impl LocalDatabase {
    /// Returns the state of a table that is not whole.
    pub(super) fn incomplete(&self, table: &TableName) -> Result<Option<IncompleteCopy>, Error> {
        let Some(data) = &self.data_dir else {
            return Ok(None);
        };
        let described = self.engine.describe(table)?;
        Ok(described.and_then(|table| incomplete_pull(data, &table)))
    }

    /// Wraps a call that makes an export, a backup or a table of a table: the log tells of one that
    /// is not whole, and the table or backup is marked.
    pub(super) fn marked(&self, call: Call) -> Call {
        let Some(data) = &self.data_dir else {
            return call;
        };
        let operation = call.name();
        let warned = |incomplete: IncompleteCopy| {
            log::warn!("{operation}: {}", incomplete.sentence);
            incomplete.origin
        };
        // A call on a table that cannot be described fails, and says why.
        let mark_of = |table| self.incomplete(table).ok().flatten().and_then(warned);
        match call {
            Call::ExportTableToPointInTime(request, done) => {
                mark_of(&request.table_name);
                Call::ExportTableToPointInTime(request, done)
            }
            Call::CreateBackup(request, done) => {
                let mark = carry(data, mark_of(&request.table_name), backed_up);
                Call::CreateBackup(request, done.after(mark))
            }
            Call::RestoreTableToPointInTime(request, done) => {
                let mark = carry(data, mark_of(&request.source), restored);
                Call::RestoreTableToPointInTime(request, done.after(mark))
            }
            Call::RestoreTableFromBackup(request, done) => {
                let mark = self.incomplete_backup(data, &request.backup_arn);
                let mark = carry(data, mark.and_then(warned), restored);
                Call::RestoreTableFromBackup(request, done.after(mark))
            }
            call => call,
        }
    }

    fn incomplete_backup(&self, data: &Path, arn: &str) -> Option<IncompleteCopy> {
        let backup_arn = arn.to_owned();
        let backup = self.engine.describe_backup(&BackupRequest { backup_arn });
        let backup = backup.ok()?;
        if backup.details.backup_type == BackupType::System {
            // It was made when its table was deleted, of which the mark is left.
            return incomplete_pull(data, &backup.table);
        }
        let origin = CopyOrigin::read(&journal::path(data, &[BACKUP, arn])).ok()??;
        Some(IncompleteCopy {
            sentence: format!("the backup {arn} is of a table that was not whole"),
            origin: Some(origin),
        })
    }
}

/// Returns a function for the end of a call, which marks the table or backup that it made.
fn carry<T>(
    data: &Path,
    mark: Option<CopyOrigin>,
    made: fn(&T) -> Made<'_>,
) -> impl FnOnce(Result<T, Error>) -> Result<T, Error> + use<T> {
    let data = data.to_owned();
    move |outcome| {
        if let (Ok(response), Some(mark)) = (&outcome, mark) {
            let Made { words, id } = made(response);
            if let Err(error) = mark.incomplete_as(id).save(&journal::path(&data, &words)) {
                log::error!("{id} is not whole, which could not be noted: {error}");
            }
        }
        outcome
    }
}

fn backed_up(response: &CreateBackupResponse) -> Made<'_> {
    let id = &response.details.arn;
    Made {
        words: [BACKUP, id],
        id,
    }
}

fn restored(response: &RestoreResponse) -> Made<'_> {
    let table = &response.table_description;
    Made {
        words: [PULL, table.schema.name.as_str()],
        id: &table.table_id,
    }
}
