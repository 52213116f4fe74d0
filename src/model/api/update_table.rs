//! UpdateTable: the request as sent.

use super::absence::Absence;
use super::create_table::IndexDefinition;
use super::declare::declare;
use super::tables::TableDescription;
use crate::model::schema::{BillingMode, ProvisionedThroughput};
use crate::model::settings::{Encryption, OnDemandThroughput, StreamViewType, TableClass, WarmThroughput};
use crate::model::{IndexName, IndexSchema, KeyAttribute, TableName};

/// `StreamSpecification` as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSpecification {
    pub enabled: bool,
    /// There exactly when it is enabled.
    pub view_type: Option<StreamViewType>,
}

/// `GlobalSecondaryIndexUpdate.Update`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    pub name: IndexName,
    pub throughput: Option<ProvisionedThroughput>,
    pub on_demand: Option<OnDemandThroughput>,
    pub warm: Option<WarmThroughput>,
}

/// A member of `GlobalSecondaryIndexUpdates` as sent; a well-formed one has exactly one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexUpdate {
    pub create: Option<Box<IndexDefinition>>,
    pub update: Option<IndexChange>,
    pub delete: Option<IndexName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateTableRequest {
    pub table_name: TableName,
    /// Types of the keys of a created index; `None` is an absent member.
    pub attribute_definitions: Option<Vec<KeyAttribute>>,
    pub billing_mode: Option<BillingMode>,
    pub throughput: Option<ProvisionedThroughput>,
    /// `None` is an absent member; an empty list is an error of its own.
    pub index_updates: Option<Vec<IndexUpdate>>,
    pub stream: Option<StreamSpecification>,
    pub encryption: Option<Encryption>,
    pub table_class: Option<TableClass>,
    pub deletion_protection: Option<bool>,
    pub on_demand: Option<OnDemandThroughput>,
    pub warm: Option<WarmThroughput>,
    /// `ReplicaUpdates` is there; refused after the checks of combinations.
    pub has_replicas: bool,
}

impl UpdateTableRequest {
    /// A request that changes nothing yet.
    #[must_use]
    pub fn new(table_name: TableName) -> Self {
        Self {
            table_name,
            attribute_definitions: None,
            billing_mode: None,
            throughput: None,
            index_updates: None,
            stream: None,
            encryption: None,
            table_class: None,
            deletion_protection: None,
            on_demand: None,
            warm: None,
            has_replicas: false,
        }
    }
}

/// What making an index would come to, told from the items that are there.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexForecast {
    pub index: IndexSchema,
    /// Of the table.
    pub items: u64,
    /// The items that all figures below are of: all, or the first in hash order of a very large table.
    pub looked_at: u64,
    /// Write units of putting them, without any index.
    pub put_units: f64,
    /// Items that have all key attributes, of the right types.
    pub entries: u64,
    /// DynamoDB bytes of these entries, without overhead.
    pub entry_bytes: u64,
    /// Write units of these entries.
    pub write_units: f64,
    /// Items that a value keeps out.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<Absence>,
}

declare! { $ update_table
    UpdateTableResponse {
        /// The new definition with the old throughput; what changes has status UPDATING.
        required table_description: TableDescription,
    }
}
