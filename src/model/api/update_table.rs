//! UpdateTable: the request as sent.

use super::absence::Absence;
use super::create_table::IndexDefinition;
use super::declare::declare;
use super::tables::TableDescription;
use crate::model::schema::{BillingMode, ProvisionedThroughput};
use crate::model::settings::{Encryption, OnDemandThroughput, StreamViewType, TableClass, WarmThroughput};
use crate::model::{IndexName, IndexSchema, KeyAttribute, TableName};

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

impl UpdateTableRequest {
    /// The indexes to be created.
    pub fn index_creations(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.index_updates.iter().flatten().filter_map(|update| update.create.as_deref())
    }

    /// The changes of indexes that stay.
    pub fn index_changes(&self) -> impl Iterator<Item = &IndexChange> + Clone {
        self.index_updates.iter().flatten().filter_map(|update| update.update.as_ref())
    }
}

declare! { $ update_table
    #[derive(Eq)]
    UpdateTableRequest = "UpdateTableInput" by check_update fn new(table_name: TableName) {
        /// Types of the keys of a created index; `None` is an absent member.
        optional attribute_definitions: Vec<KeyAttribute>,
        control table_name: TableName,
        optional billing_mode: BillingMode,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        /// `None` is an absent member; an empty list is an error of its own.
        optional index_updates: Vec<IndexUpdate> = "GlobalSecondaryIndexUpdates",
        optional stream: StreamSpecification as WholeStream = "StreamSpecification",
        optional encryption: Encryption = "SSESpecification",
        /// `ReplicaUpdates` is there; refused after the checks of combinations.
        group has_replicas: bool as Replicas,
        optional table_class: TableClass as KnownClass,
        optional deletion_protection: bool = "DeletionProtectionEnabled",
        ..REGIONS,
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
        ..REFUSED,
    }

    /// A member of `GlobalSecondaryIndexUpdates` as sent; a well-formed one has exactly one of them.
    #[derive(Eq, Default)]
    IndexUpdate = "GlobalSecondaryIndexUpdate" {
        optional update: IndexChange,
        optional create: Box<IndexDefinition> as Boxed<CreateIndex>,
        optional delete: IndexName as DeleteIndex,
    }

    /// `GlobalSecondaryIndexUpdate.Update`.
    #[derive(Eq)]
    IndexChange = "UpdateGlobalSecondaryIndexAction" {
        required name: IndexName = "IndexName",
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
    }

    /// As sent.
    #[derive(Eq)]
    StreamSpecification = "StreamSpecification" {
        required enabled: bool = "StreamEnabled",
        /// There exactly when it is enabled.
        optional view_type: StreamViewType = "StreamViewType",
    }

    UpdateTableResponse {
        /// The new definition with the old throughput; what changes has status UPDATING.
        required table_description: TableDescription,
    }
}
