//! UpdateTable: the request as sent.

use super::create_table::IndexDefinition;
use super::describe_table::TableDescription;
use super::streams::StreamViewType;
use crate::model::schema::{BillingMode, ProvisionedThroughput};
use crate::model::{IndexName, KeyAttribute, TableName};

/// Maxima on demand; each member may be absent. In UpdateTable -1 clears a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnDemandThroughput {
    pub max_read_request_units: Option<i64>,
    pub max_write_request_units: Option<i64>,
}

/// Units a second that a table or index is warmed for; each member may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarmThroughput {
    pub read_units_per_second: Option<i64>,
    pub write_units_per_second: Option<i64>,
}

/// `StreamSpecification` as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamChange {
    pub enabled: bool,
    /// There exactly when it is enabled.
    pub view_type: Option<StreamViewType>,
}

/// `SSESpecification`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    pub enabled: bool,
    pub kms_master_key_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableClass {
    Standard,
    StandardInfrequentAccess,
}

impl TableClass {
    /// As the API spells it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Standard => "STANDARD",
            Self::StandardInfrequentAccess => "STANDARD_INFREQUENT_ACCESS",
        }
    }
}

/// `GlobalSecondaryIndexUpdate.Update`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexChange {
    pub name: IndexName,
    pub throughput: Option<ProvisionedThroughput>,
    pub on_demand: Option<OnDemandThroughput>,
    pub warm: Option<WarmThroughput>,
}

/// `GlobalSecondaryIndexUpdate.Create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexCreation {
    pub definition: IndexDefinition,
    pub on_demand: Option<OnDemandThroughput>,
    pub warm: Option<WarmThroughput>,
}

/// A member of `GlobalSecondaryIndexUpdates` as sent; a well-formed one has exactly one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexUpdate {
    pub create: Option<Box<IndexCreation>>,
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
    pub stream: Option<StreamChange>,
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

#[derive(Debug, Clone, PartialEq)]
pub struct UpdateTableResponse {
    /// The new definition with the old throughput; what changes has status UPDATING.
    pub table_description: TableDescription,
}
