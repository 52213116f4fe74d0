//! ExportTableToPointInTime and ImportTable with their descriptions and lists (docs/dynamodb.md 20.3, 20.4).
//!
//! A bucket is a directory in the directory of buckets, its keys are paths in it. An export's items are first copied as of its
//! time (see `engine::jobs`), then written by a thread; an import is read by a thread and put in pieces. Both begin again after a
//! restart: an export writes the same files, an import puts the same items.

mod export;
mod import;

use std::ops::ControlFlow;

use serde_json::Value;

use crate::engine::account::{AccountRecord, ExportRecord, ImportRecord};
use crate::engine::runtime::{Engine, Transaction};
use crate::model::Error;
use crate::model::api::transfer::{Export, Import, ListTransfersRequest, ListTransfersResponse};
use crate::model::error::{RecoveryError, StoreError};

/// `MaxResults` and `PageSize`, and what they are without.
const PAGE_MAX: u32 = 25;

impl Engine {
    /// An export as it is.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_export(&self, arn: &str) -> Result<Export, Error> {
        let record = ExportRecord::get(self.view()?.read(), arn)?;
        Ok(record.ok_or_else(|| RecoveryError::ExportNotFound(arn.to_owned()))?.export)
    }

    /// An import as it is.
    ///
    /// # Errors
    /// `Recovery`; those of the store.
    pub fn describe_import(&self, arn: &str) -> Result<Import, Error> {
        let record = ImportRecord::get(self.view()?.read(), arn)?;
        Ok(record.ok_or_else(|| RecoveryError::ImportNotFound(arn.to_owned()))?.import)
    }

    /// A page of exports.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_exports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Export>, Error> {
        self.list_transfers(request, |record: ExportRecord| (record.export.arn.clone(), record.export))
    }

    /// A page of imports.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_imports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Import>, Error> {
        self.list_transfers(request, |record: ImportRecord| (record.import.arn.clone(), record.import))
    }

    /// A page of records; `transfer` makes the description of one, with its ARN.
    fn list_transfers<R: AccountRecord, T>(
        &self,
        request: &ListTransfersRequest,
        transfer: impl Fn(R) -> (String, T),
    ) -> Result<ListTransfersResponse<T>, Error> {
        let limit = request.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX) as usize;
        let table = request.table_arn.as_ref().map(|arn| format!("{arn}/"));
        let view = self.view()?;
        let mut found: Vec<(String, T)> = Vec::new();
        let mut has_more = false;
        R::walk(view.read(), request.after.as_deref(), &mut |record| {
            let (arn, transfer) = transfer(record?);
            if table.as_ref().is_none_or(|table| arn.starts_with(table)) {
                has_more = found.len() == limit;
                if has_more {
                    return Ok(ControlFlow::Break(()));
                }
                found.push((arn, transfer));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let next = found.last().filter(|_| has_more).map(|(arn, _)| arn.clone());
        Ok(ListTransfersResponse { transfers: found.into_iter().map(|(_, transfer)| transfer).collect(), next })
    }
}

/// The record whose request, of which `echo` is the text, had the same client token; or none.
fn with_token<R: AccountRecord>(
    transaction: &Transaction<'_>,
    token: &str,
    echo: impl Fn(&R) -> &str,
) -> Result<Option<R>, StoreError> {
    let mut found = None;
    R::walk(transaction.batch.as_read(), None, &mut |record| {
        let record = record?;
        let request: Value = serde_json::from_str(echo(&record)).unwrap_or_default();
        if request.get("ClientToken").and_then(Value::as_str) == Some(token) {
            found = Some(record);
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}
