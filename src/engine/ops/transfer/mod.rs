//! ExportTableToPointInTime and ImportTable with their descriptions and lists (docs/dynamodb.md 20.3, 20.4).
//!
//! A bucket is a directory in the directory of buckets, its keys are paths in it. An export's items are first copied as of its
//! time (see `engine::jobs`), then written by a thread; an import is read by a thread and put in pieces. Both begin again after a
//! restart: an export writes the same files, an import puts the same items.

mod export;
mod import;

use std::ops::ControlFlow;

use serde_json::Value;

use crate::engine::account::{self, ExportRecord, ImportRecord};
use crate::engine::base::keys::RecordKind;
use crate::engine::runtime::{Engine, Transaction};
use crate::model::Error;
use crate::model::api::transfer::{Export, Import, ListTransfersRequest, ListTransfersResponse};
use crate::model::error::{RecoveryError, StoreError};

/// `MaxResults` and `PageSize`, and what they are without.
const PAGE_MAX: u32 = 25;

/// Makes a transfer of its stored form, with its ARN.
type Decode<T> = dyn Fn(&Value) -> Result<(String, T), StoreError>;

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
        let decode = |value: &Value| ExportRecord::decode(value).map(|record| (record.export.arn.clone(), record.export));
        self.list_transfers(RecordKind::Export, request, &decode)
    }

    /// A page of imports.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list_imports(&self, request: &ListTransfersRequest) -> Result<ListTransfersResponse<Import>, Error> {
        let decode = |value: &Value| ImportRecord::decode(value).map(|record| (record.import.arn.clone(), record.import));
        self.list_transfers(RecordKind::Import, request, &decode)
    }

    fn list_transfers<T>(
        &self,
        kind: RecordKind,
        request: &ListTransfersRequest,
        decode: &Decode<T>,
    ) -> Result<ListTransfersResponse<T>, Error> {
        let limit = request.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX) as usize;
        let table = request.table_arn.as_ref().map(|arn| format!("{arn}/"));
        let view = self.view()?;
        let mut found: Vec<(String, T)> = Vec::new();
        let (mut has_more, mut failure) = (false, None);
        account::walk(view.read(), kind, request.after.as_deref(), &mut |value| match decode(&value) {
            Ok((arn, _)) if table.as_ref().is_some_and(|table| !arn.starts_with(table)) => ControlFlow::Continue(()),
            Ok(_) if found.len() == limit => {
                has_more = true;
                ControlFlow::Break(())
            }
            Ok(transfer) => {
                found.push(transfer);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failure.map_or(Ok(()), Err)?;
        let next = found.last().filter(|_| has_more).map(|(arn, _)| arn.clone());
        Ok(ListTransfersResponse { transfers: found.into_iter().map(|(_, transfer)| transfer).collect(), next })
    }
}

/// The record with the same client token, or none.
fn with_token(transaction: &Transaction<'_>, kind: RecordKind, token: &str) -> Result<Option<Value>, StoreError> {
    let mut found = None;
    account::walk(transaction.batch.as_read(), kind, None, &mut |value| {
        let echo = value.get("echo").and_then(Value::as_str).and_then(|echo| serde_json::from_str::<Value>(echo).ok());
        let is_same = echo.is_some_and(|echo| echo.get("ClientToken").and_then(Value::as_str) == Some(token));
        if is_same {
            found = Some(value);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
