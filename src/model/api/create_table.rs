//! CreateTable: the request as sent. The engine's operation checks it and builds a `TableSchema` from it.

use super::declare::declare;
use super::tables::TableDescription;
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, KeyType, ProvisionedThroughput};
use crate::model::settings::ThroughputSettings;
use crate::model::{IndexName, TableName, TableSettings};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectionType {
    All,
    Include,
    KeysOnly,
}

/// A member of `GlobalSecondaryIndexes` or `LocalSecondaryIndexes` as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    pub name: IndexName,
    pub kind: IndexKind,
    pub key_schema: Vec<KeySchemaElement>,
    pub projection: ProjectionDefinition,
    pub throughput: Option<ProvisionedThroughput>,
    pub settings: ThroughputSettings,
}

declare! { $ create_table
    #[derive(Eq)]
    CreateTableRequest = "CreateTableInput" by check_create {
        required attribute_definitions: Vec<KeyAttribute>,
        control table_name: TableName,
        /// Default PROVISIONED.
        optional billing_mode: BillingMode,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        required key_schema: Vec<KeySchemaElement> [LengthMin(1), LengthMax(2)],
        /// `None` is an absent member; an empty list is an error of its own.
        optional global_indexes: Vec<IndexDefinition> as List<GlobalIndex> = "GlobalSecondaryIndexes",
        optional local_indexes: Vec<IndexDefinition> as List<LocalIndex> = "LocalSecondaryIndexes",
        ..&[STREAM_SPECIFICATION, SSE_SPECIFICATION, TAGS, TABLE_CLASS],
        default deletion_protection: bool = "DeletionProtectionEnabled",
        ..&[WARM_THROUGHPUT, ON_DEMAND_THROUGHPUT, Member::new("ResourcePolicy", Shape::String)],
        later settings: TableSettings as Settings,
        ..REFUSED,
    }

    /// An element of a `KeySchema`.
    #[derive(Eq)]
    KeySchemaElement = "KeySchemaElement" {
        required attribute_name: String as AttributeName,
        required key_type: KeyType,
    }

    /// `Projection` as sent; both members may be missing.
    #[derive(Eq, Default)]
    ProjectionDefinition = "Projection" {
        optional projection_type: ProjectionType,
        optional non_key_attributes: Vec<String> as List<AttributeName> [LengthMin(1), LengthMax(NON_KEY_ATTRIBUTES_MAX)],
    }

    CreateTableResponse {
        required table_description: TableDescription,
    }
}
