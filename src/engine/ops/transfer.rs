//! ExportTableToPointInTime and ImportTable with their descriptions and lists (docs/dynamodb.md
//! 20.3, 20.4).
//!
//! A bucket is a directory in the directory of buckets, its keys are paths in it. An export's items
//! are first copied as of its time (see `engine::jobs`), then written by a thread; an import is
//! read by a thread and put in batches. Both begin again after a restart: an export writes the same
//! files, an import puts the same items.

use serde_json::Value;

use super::{
    recovery::{recoverable_table, version_bound},
    tables::add_table,
};
use crate::engine::{
    account::{
        self, AccountRecord, ExportRecord, ImportRecord,
        job::{ChangesJob, CopySource, CopyTarget, Job},
    },
    base::table_definition::build_new_schema,
    jobs,
    runtime::prelude::*,
};
use crate::model::{
    api::transfer::{
        DescribeExportRequest, DescribeImportRequest, Export, ExportFormat, ExportRequest,
        ExportWindow, ION_FORMAT, Import, ImportRequest, InputFormat, ListTransfersRequest,
        ListTransfersResponse, TransferStatus, WindowRequest,
    },
    arn,
    error::RecoveryError,
};

/// The limit and the default of `MaxResults` and `PageSize`.
const PAGE_MAX: u32 = 25;

impl Engine {
    /// Returns an export.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn describe_export(&self, request: &DescribeExportRequest) -> Result<Export, Error> {
        Ok(ExportRecord::require(
            self.view()?.read(),
            &request.export_arn,
            RecoveryError::ExportNotFound,
        )?
        .export)
    }

    /// Returns an import.
    ///
    /// # Errors
    /// Fails with `Recovery`, or with an error of the store.
    pub fn describe_import(&self, request: &DescribeImportRequest) -> Result<Import, Error> {
        Ok(ImportRecord::require(
            self.view()?.read(),
            &request.import_arn,
            RecoveryError::ImportNotFound,
        )?
        .import)
    }

    /// Returns a page of exports.
    pub fn list_exports(
        &self,
        request: &ListTransfersRequest,
    ) -> Result<ListTransfersResponse<Export>, Error> {
        self.list_transfers(request, |record: ExportRecord| {
            (record.export.arn.clone(), record.export)
        })
    }

    /// Returns a page of imports.
    pub fn list_imports(
        &self,
        request: &ListTransfersRequest,
    ) -> Result<ListTransfersResponse<Import>, Error> {
        self.list_transfers(request, |record: ImportRecord| {
            (record.import.arn.clone(), record.import)
        })
    }

    /// Returns a page of records; `transfer` makes the description of one, with its ARN.
    fn list_transfers<R: AccountRecord, T>(
        &self,
        request: &ListTransfersRequest,
        transfer: impl Fn(R) -> (String, T),
    ) -> Result<ListTransfersResponse<T>, Error> {
        let limit = request.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX) as usize;
        let table = request.table_arn.as_ref().map(|arn| format!("{arn}/"));
        let view = self.view()?;
        let (found, has_more) = R::page(view.read(), request.after.as_deref(), limit, |record| {
            Ok(Some(transfer(record))
                .filter(|(arn, _)| table.as_ref().is_none_or(|table| arn.starts_with(table))))
        })?;
        let next = found
            .last()
            .filter(|_| has_more)
            .map(|(arn, _)| arn.clone());
        Ok(ListTransfersResponse {
            transfers: found.into_iter().map(|(_, transfer)| transfer).collect(),
            next,
        })
    }
}

/// Finds the record of a request with the same client token; `echo` returns the text of a record's
/// request.
fn find_by_token<R: AccountRecord>(
    transaction: &Transaction<'_>,
    token: &str,
    echo: impl Fn(&R) -> &str,
) -> Result<Option<R>, StoreError> {
    let has_token = |record: &R| {
        let request: Value = serde_json::from_str(echo(record))
            .map_err(|_| StoreError::Corrupt("the request of an export or import"))?;
        Ok(request.get("ClientToken").and_then(Value::as_str) == Some(token))
    };
    let mut found = None;
    R::page(transaction.read(), None, 0, |record| {
        found = has_token(&record)?.then_some(record);
        Ok(found.is_some().then_some(()))
    })?;
    Ok(found)
}

const MINUTE_MS: u64 = 60 * 1000;
/// The shortest window of an incremental export (API reference, ExportTableToPointInTime).
const WINDOW_MIN_MS: u64 = 15 * MINUTE_MS;
/// The longest window of an incremental export.
const WINDOW_MAX_MS: u64 = 24 * 60 * MINUTE_MS;

impl Engine {
    /// Exports a table as of a moment of its recovery window, or the changes in a part of that
    /// window; written in the background.
    ///
    /// # Errors
    /// Fails with `NotSupported` or `Recovery`, or with an error of the store.
    pub fn export_table(&self, request: ExportRequest) -> Result<Export, Error> {
        if request.format == ExportFormat::Ion {
            return Err(Error::NotSupported(ION_FORMAT));
        }
        exported_table(self.table(&request.table_name)?, &request)?;
        jobs::root(&self.shared)?;
        jobs::relative_path(request.prefix.as_deref().unwrap_or_default())?;
        self.submit_with_job(move |transaction| start_export(transaction, &request))
    }
}

/// Returns the table to export; the error of a missing table names its ARN.
fn exported_table(
    entry: Option<Arc<TableEntry>>,
    request: &ExportRequest,
) -> Result<Arc<TableEntry>, RecoveryError> {
    match entry {
        None => Err(RecoveryError::TableNotFound(arn::table(
            &request.table_name,
        ))),
        entry => recoverable_table(entry, &request.table_name),
    }
}

fn start_export(
    transaction: &mut Transaction<'_>,
    request: &ExportRequest,
) -> Result<(Export, Option<u32>), Error> {
    let table = exported_table(transaction.table(&request.table_name)?, request)?;
    jobs::ExportSelection::parse(&request.filter)?.check(&table.schema.key)?;
    if let Some(token) = &request.client_token
        && let Some(record) = find_by_token(transaction, token, |record: &ExportRecord| {
            &record.export.echo
        })?
    {
        let is_same = record.export.echo == request.echo;
        return if is_same {
            Ok((record.export, None))
        } else {
            Err(RecoveryError::ExportConflict.into())
        };
    }
    let window = request
        .window
        .map(|of| window(&table, of, transaction.now_ms()))
        .transpose()?;
    let bound = bound_within(
        transaction,
        &table,
        window
            .as_ref()
            .map_or(request.time_ms, |window| Some(window.to_ms)),
    )?;
    let window_bounds = window
        .as_ref()
        .map(|window| window_bounds(transaction, &table, window))
        .transpose()?;
    let (now_ms, source) = (
        transaction.now_ms(),
        catalog::allocate_source(transaction.batch)?,
    );
    let export = Export {
        arn: account::new_arn(
            transaction.shared.options.seed,
            &request.table_name,
            "export",
            now_ms,
            source,
        ),
        table_id: table.table_id.clone(),
        status: TransferStatus::InProgress,
        start_ms: now_ms,
        end_ms: None,
        time_ms: window
            .as_ref()
            .map(|window| window.to_ms)
            .or(request.time_ms)
            .unwrap_or(now_ms),
        window,
        items: 0,
        bytes: 0,
        manifest: None,
        failure: None,
        echo: request.echo.clone(),
    };
    ExportRecord {
        export: export.clone(),
        source,
        is_copied: false,
    }
    .put(transaction.batch, &export.arn)?;
    let (name, arn) = (request.table_name.clone(), export.arn.clone());
    let job = match window_bounds {
        Some((after, until)) => Job::Changes(ChangesJob {
            arn,
            table: name,
            source: table.source,
            into: source,
            after,
            until,
        }),
        None => {
            let from = CopySource::Table {
                name,
                source: table.source,
                bound,
            };
            Job::copy(from, CopyTarget::Export { arn, source })
        }
    };
    let job = jobs::add(transaction, job)?;
    Ok((export, Some(job)))
}

/// Returns the version bound of a time, or of now without a time.
fn bound_within(
    transaction: &Transaction<'_>,
    table: &TableEntry,
    time_ms: Option<u64>,
) -> Result<Version, Error> {
    version_bound(transaction, table, time_ms, |earliest, latest| {
        RecoveryError::ExportTime { earliest, latest }
    })
}

/// Returns the requested window.
fn window(
    table: &TableEntry,
    request: WindowRequest,
    now_ms: u64,
) -> Result<ExportWindow, RecoveryError> {
    let to_ms = request.to_ms.unwrap_or(now_ms);
    let length_ms = to_ms
        .checked_sub(request.from_ms)
        .ok_or(RecoveryError::Parameter(
            "ExportFromTime must be before ExportToTime, which is now when it is not given",
        ))?;
    if !(WINDOW_MIN_MS..=WINDOW_MAX_MS).contains(&length_ms) {
        return Err(RecoveryError::Parameter(
            "ExportFromTime and ExportToTime must be 15 minutes to 24 hours apart",
        ));
    }
    let key = &table.schema.key;
    let key_names = std::iter::once(&key.partition)
        .chain(&key.sort)
        .map(|attribute| attribute.name.clone())
        .collect();
    Ok(ExportWindow {
        from_ms: request.from_ms,
        to_ms,
        view: request.view,
        key_names,
    })
}

/// Returns the last version before the window, and its last: it begins with its first millisecond
/// and ends before its last.
fn window_bounds(
    transaction: &Transaction<'_>,
    table: &TableEntry,
    window: &ExportWindow,
) -> Result<(Version, Version), Error> {
    bound_within(transaction, table, Some(window.from_ms))?;
    let before =
        |time_ms: u64| jobs::bound_at(transaction, table.source, time_ms.saturating_sub(1));
    Ok((before(window.from_ms)?, before(window.to_ms)?))
}

impl Engine {
    /// Creates a table and imports into it in the background.
    ///
    /// # Errors
    /// Fails with `NotSupported`, `Schema`, `TableAlreadyExists` or `Recovery`, or with an error of
    /// the store.
    pub fn import_table(&self, request: ImportRequest) -> Result<Import, Error> {
        if request.format == InputFormat::Ion {
            return Err(Error::NotSupported(ION_FORMAT));
        }
        jobs::root(&self.shared)?;
        let schema = Arc::new(build_new_schema(request.table.clone())?);
        let (import, is_new) = self
            .shared
            .submit_and_wait(move |transaction| start_import(transaction, &request, &schema))?;
        if is_new {
            jobs::run_import(&self.shared, import.clone());
        }
        Ok(import)
    }
}

fn start_import(
    transaction: &mut Transaction<'_>,
    request: &ImportRequest,
    schema: &Arc<TableSchema>,
) -> Result<(Import, bool), Error> {
    if let Some(token) = &request.client_token
        && let Some(ImportRecord { import }) =
            find_by_token(transaction, token, |record: &ImportRecord| {
                &record.import.echo
            })?
    {
        return if import.echo == request.echo {
            Ok((import, false))
        } else {
            Err(RecoveryError::ImportConflict.into())
        };
    }
    if transaction.table(&schema.name)?.is_some() {
        return Err(Error::TableAlreadyExists(schema.name.to_string()));
    }
    let table = add_table(transaction, schema, TableStatus::Creating)?;
    let (now_ms, id) = (
        transaction.now_ms(),
        catalog::allocate_source(transaction.batch)?,
    );
    let import = Import {
        arn: account::new_arn(
            transaction.shared.options.seed,
            &schema.name,
            "import",
            now_ms,
            id,
        ),
        table_id: table.table_id,
        status: TransferStatus::InProgress,
        start_ms: now_ms,
        end_ms: None,
        processed_bytes: 0,
        processed_items: 0,
        imported_items: 0,
        errors: 0,
        failure: None,
        echo: request.echo.clone(),
    };
    ImportRecord {
        import: import.clone(),
    }
    .put(transaction.batch, &import.arn)?;
    Ok((import, true))
}
