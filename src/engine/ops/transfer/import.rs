//! ImportTable (docs/dynamodb.md 20.4): a new table, filled from a bucket by a thread.

use std::sync::Arc;

use super::with_token;
use crate::engine::account::{self, AccountRecord, ImportRecord};
use crate::engine::base::table_definition::build_new_schema;
use crate::engine::ops::create_table::add_table;
use crate::engine::runtime::{Engine, Transaction};
use crate::engine::{catalog, jobs};
use crate::model::api::TableStatus;
use crate::model::api::transfer::{ION, Import, ImportRequest, InputFormat, TransferStatus};
use crate::model::error::RecoveryError;
use crate::model::{Error, TableSchema};

impl Engine {
    /// Creates a table and imports into it in the background.
    ///
    /// # Errors
    /// `NotSupported`, `Schema`, `TableAlreadyExists`, `Recovery`; those of the store.
    pub fn import_table(&self, request: ImportRequest) -> Result<Import, Error> {
        if request.format == InputFormat::Ion {
            return Err(Error::NotSupported(ION));
        }
        jobs::root(&self.shared)?;
        let schema = Arc::new(build_new_schema(request.table.clone())?);
        let (import, is_new) = self.shared.submit_and_wait(move |transaction| start(transaction, &request, &schema))?;
        if is_new {
            jobs::run_import(&self.shared, import.clone());
        }
        Ok(import)
    }
}

fn start(transaction: &mut Transaction<'_>, request: &ImportRequest, schema: &Arc<TableSchema>) -> Result<(Import, bool), Error> {
    if let Some(token) = &request.client_token
        && let Some(ImportRecord { import }) = with_token(transaction, token, |record: &ImportRecord| &record.import.echo)?
    {
        return if import.echo == request.echo { Ok((import, false)) } else { Err(RecoveryError::ImportConflict.into()) };
    }
    if transaction.table(&schema.name)?.is_some() {
        return Err(Error::TableAlreadyExists(schema.name.as_str().to_owned()));
    }
    let table = add_table(transaction, schema, TableStatus::Creating)?;
    let (now_ms, id) = (transaction.now_ms(), catalog::take_source(transaction.batch)?);
    let import = Import {
        arn: account::new_arn(transaction.shared.options.seed, &schema.name, "import", (now_ms, id)),
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
    ImportRecord { import: import.clone() }.put(transaction.batch, &import.arn)?;
    Ok((import, true))
}
