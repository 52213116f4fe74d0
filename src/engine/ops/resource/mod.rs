//! A table as a resource: tags, policy, limits (docs/dynamodb.md 18). Each change is one of the catalog.

mod policy;
mod policy_revision;
mod stream_policy;
mod tags;

use std::sync::Arc;

use crate::engine::catalog::TableEntry;
use crate::engine::runtime::Engine;
use crate::model::Error;
use crate::model::api::TableStatus;
use crate::model::api::resource::{Limits, TableResource};
use crate::model::error::NotFoundError;
use crate::model::limits::{ACCOUNT_CAPACITY_UNITS_MAX, TABLE_CAPACITY_UNITS_MAX};

impl Engine {
    /// DescribeLimits: the default quotas.
    ///
    /// # Errors
    /// None.
    pub fn describe_limits(&self, (): &()) -> Result<Limits, Error> {
        Ok(Limits { account_units: ACCOUNT_CAPACITY_UNITS_MAX, table_units: TABLE_CAPACITY_UNITS_MAX })
    }
}

/// The resource's table; one that is being created is not there yet.
fn found(entry: Option<Arc<TableEntry>>, resource: &TableResource) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if entry.status != TableStatus::Creating => Ok(entry),
        _ => Err(NotFoundError::ResourceArn(resource.arn.clone()).into()),
    }
}
