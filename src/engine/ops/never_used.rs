//! Operations of features that nobody ever used here (docs/dynamodb.md 21): the tables they name must exist, all else is empty or missing.

use crate::engine::catalog;
use crate::engine::runtime::Engine;
use crate::model::api::never_used::NeverUsedRequest;
use crate::model::error::{NotFoundError, RecoveryError, UpdateTableError};
use crate::model::{Error, TableName};

impl Engine {
    /// Holds what a request names against the catalog; the answer itself is empty.
    ///
    /// # Errors
    /// `NotSupported` of what would begin to use a feature; `Recovery`, `NotFound`, `TableNotFound`, `UpdateTable` of what is not
    /// there; those of the store.
    pub fn never_used(&self, request: &NeverUsedRequest) -> Result<(), Error> {
        match request {
            NeverUsedRequest::Begin(what) => Err(Error::NotSupported(what)),
            NeverUsedRequest::GlobalTable(name) => Err(RecoveryError::GlobalTableNotFound(name.clone()).into()),
            NeverUsedRequest::ListGlobalTables | NeverUsedRequest::ListBulkOperations => Ok(()),
            NeverUsedRequest::DescribeTableReplicaAutoScaling(table) => {
                Err(NotFoundError::GlobalTable(table.as_str().to_owned()).into())
            }
            NeverUsedRequest::DescribeKinesisStreamingDestination(table) => self.exists(table),
            NeverUsedRequest::ChangeKinesisStreamingDestination { table, stream_arn, action } => {
                self.exists(table)?;
                let (stream_arn, table) = (stream_arn.clone(), table.as_str().to_owned());
                Err(UpdateTableError::NoStreamingDestination { action, stream_arn, table }.into())
            }
            NeverUsedRequest::BulkOperation(arn) => Err(NotFoundError::BulkOperation(arn.clone()).into()),
        }
    }

    fn exists(&self, table: &TableName) -> Result<(), Error> {
        catalog::known(self.table(table)?, table).map(drop)
    }
}
