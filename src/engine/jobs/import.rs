//! An import: a thread reads the files of a bucket (`import_files`) and puts their items into a new
//! table in batches.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use serde_json::json;

use super::{
    buckets::{self, spawn_transfer},
    finish::to_failure,
    import_files::ImportLine,
};
use crate::codec::{json::document::Document, wire};
use crate::engine::{
    account::{AccountRecord, ImportRecord},
    base::table_definition::build_schema,
    index, purge,
    runtime::prelude::*,
    table_states,
    write::{self, condition::StoredItem},
};
use crate::model::api::{
    common::JobFailure,
    transfer::{Import, ImportRequest, TransferStatus},
};

/// The maximum of items put in one transaction.
const ITEMS_PER_BATCH: usize = 250;
/// Bytes of items after which a transaction ends.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// `FailureCode` of a missing bucket.
const NO_BUCKET: &str = "S3NoSuchBucket";
/// The directory of the logs, which lies beside the buckets.
const LOGS: &str = "import-logs";

/// Reads the files and puts their items, from the start.
pub fn run(shared: &Arc<EngineShared>, import: Import) {
    let shared = Arc::clone(shared);
    spawn_transfer("import", import.arn.clone(), move |_| {
        read_all(&shared, import)
    });
}

/// A running import.
struct RunningImport<'s> {
    shared: &'s Arc<EngineShared>,
    table: TableName,
    import: Import,
    /// The file of the errors.
    error_log: PathBuf,
    bucket: String,
    pending: Vec<ImportItem>,
    pending_bytes: usize,
}

/// An item to put, and its origin.
struct ImportItem {
    item: Item,
    key: String,
    index: u64,
}

fn read_all(shared: &Arc<EngineShared>, import: Import) -> Result<(), Error> {
    const DAMAGED: StoreError = StoreError::Corrupt("an import's request");
    let json = Document::parse(import.echo.clone().into_bytes()).map_err(|_| DAMAGED)?;
    let request = wire::request::<ImportRequest>(json.root()).map_err(|_| DAMAGED)?;
    let schema = build_schema(request.table.clone())?;
    let root = buckets::root(shared)?.to_owned();
    let (_, id) = import.arn.rsplit_once('/').ok_or(DAMAGED)?;
    // Beside the buckets: the service writes this to CloudWatch Logs, which is in no bucket.
    let log = root.join(LOGS).join(id);
    // An earlier run of the same import may have begun it; a missing file is no error.
    match fs::remove_file(log.join("error")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            log::warn!("cannot remove {}: {error}", log.join("error").display());
        }
        _ => {}
    }
    let mut running = RunningImport {
        shared,
        table: schema.name.clone(),
        import: Import {
            processed_bytes: 0,
            processed_items: 0,
            imported_items: 0,
            errors: 0,
            ..import
        },
        error_log: log.join("error"),
        bucket: request.source.bucket.clone(),
        pending: Vec::new(),
        pending_bytes: 0,
    };
    let bucket = root.join(&request.source.bucket);
    let failure = match buckets::list_files(
        &bucket,
        request.source.prefix.as_deref().unwrap_or_default(),
    ) {
        Err(_) => Some(JobFailure {
            code: NO_BUCKET.to_owned(),
            message: "The specified bucket does not exist".to_owned(),
        }),
        Ok(files) => match running.read_files(&request, &schema, files) {
            Err(error @ Error::Store(StoreError::NoSpace)) => Some(to_failure(&error)),
            outcome => outcome?,
        },
    };
    running.finish(failure)
}

impl RunningImport<'_> {
    fn read_files(
        &mut self,
        request: &ImportRequest,
        schema: &TableSchema,
        files: Vec<(String, PathBuf)>,
    ) -> Result<Option<JobFailure>, Error> {
        for (key, path) in files {
            let mut index = 0;
            let mut stopped = None;
            let read = super::import_files::read(&path, request, schema, &mut |line| {
                let done = self.add_line(&key, index, line);
                index += 1;
                match done {
                    Ok(()) => true,
                    Err(error) => {
                        stopped = Some(error);
                        false
                    }
                }
            });
            if let Some(error) = stopped {
                return Err(error);
            }
            if let Err(error) = read {
                return Ok(Some(JobFailure {
                    code: "S3Error".to_owned(),
                    message: format!("{key}: {error}"),
                }));
            }
        }
        self.put_pending()?;
        Ok(None)
    }

    fn add_line(&mut self, key: &str, index: u64, line: ImportLine) -> Result<(), Error> {
        self.import.processed_items += 1;
        self.import.processed_bytes += line.bytes as u64;
        match line.item {
            Err(message) => self.log_error(key, index, &message),
            Ok(item) => {
                self.pending_bytes += line.bytes;
                self.pending.push(ImportItem {
                    item,
                    key: key.to_owned(),
                    index,
                });
                if self.pending.len() >= ITEMS_PER_BATCH || self.pending_bytes >= BATCH_BYTES_MAX {
                    self.put_pending()?;
                }
                Ok(())
            }
        }
    }

    /// Logs an item that was not imported, with the reason.
    fn log_error(&mut self, key: &str, index: u64, message: &str) -> Result<(), Error> {
        self.import.errors += 1;
        let line = json!({
            "itemS3Pointer": { "bucket": self.bucket, "key": key, "itemIndex": index },
            "importArn": self.import.arn,
            "errorMessages": [message],
        });
        let directory = self
            .error_log
            .parent()
            .map_or(Ok(()), buckets::create_directory);
        let append =
            || buckets::open_append(&self.error_log)?.write_all(format!("{line}\n").as_bytes());
        if let Err(error) = directory.and_then(|()| append()) {
            log::warn!("cannot write {}: {error}", self.error_log.display());
        }
        Ok(())
    }

    fn put_pending(&mut self) -> Result<(), Error> {
        let waiting = Arc::new(std::mem::take(&mut self.pending));
        self.pending_bytes = 0;
        let (table, items) = (self.table.clone(), Arc::clone(&waiting));
        let outcomes = self
            .shared
            .submit_and_wait(move |transaction| put_all(transaction, &table, &items))?;
        for (of, outcome) in waiting.iter().zip(outcomes) {
            match outcome {
                None => self.import.imported_items += 1,
                Some(message) => self.log_error(&of.key, of.index, &message)?,
            }
        }
        let record = ImportRecord {
            import: self.import.clone(),
        };
        self.shared.submit_and_wait(move |transaction| {
            Ok(record.put(transaction.batch, &record.import.arn)?)
        })
    }

    fn finish(mut self, failure: Option<JobFailure>) -> Result<(), Error> {
        let of_items = (self.import.errors > 0).then(|| JobFailure {
            code: "ItemValidationError".to_owned(),
            message: "Some of the items failed validation checks and were not imported. Please check the error log.".to_owned(),
        });
        self.import.failure = failure.or(of_items);
        self.import.status = match self.import.failure {
            None => TransferStatus::Completed,
            Some(_) => TransferStatus::Failed,
        };
        self.import.end_ms = Some(self.shared.now_ms());
        let is_kept = self
            .import
            .failure
            .as_ref()
            .is_none_or(|failure| failure.code != NO_BUCKET);
        let (record, name) = (
            ImportRecord {
                import: self.import,
            },
            self.table,
        );
        let sources = self.shared.submit_and_wait(move |transaction| {
            // On a full disk too.
            transaction.mark_removal();
            let sources = match transaction.table(&name)? {
                None => Vec::new(),
                Some(table) if is_kept => activate(transaction, &table)?,
                Some(table) => table_states::remove(transaction, &table)?,
            };
            record.put(transaction.batch, &record.import.arn)?;
            Ok(sources)
        })?;
        purge::start_all(self.shared, sources);
        Ok(())
    }
}

/// Makes the table ACTIVE; returns no source to remove.
fn activate(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
) -> Result<Vec<SourceId>, StoreError> {
    transaction
        .change_table(table, |new| new.status = TableStatus::Active)
        .map(|_| Vec::new())
}

/// Puts items; returns for each the text of its error, if it has one.
fn put_all(
    transaction: &mut Transaction<'_>,
    name: &TableName,
    items: &[ImportItem],
) -> Result<Vec<Option<String>>, Error> {
    let table = transaction.table(name)?.ok_or(Error::ResourceNotFound)?;
    transaction.charges.is_off = true;
    let mut outcomes = Vec::with_capacity(items.len());
    for ImportItem { item, .. } in items {
        let mut put = || -> Result<(), Error> {
            item.check_limits()?;
            let stored =
                StoredItem::read(transaction.read(), &table, index::key_of_put(&table, item)?)?;
            write::replace_checked(transaction, &stored, Some(item)).map(|_| ())
        };
        match put() {
            Err(Error::Store(error)) => return Err(error.into()),
            outcome => outcomes.push(outcome.err().map(|error| error.to_string())),
        }
    }
    Ok(outcomes)
}
