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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateTableRequest {
    pub table_name: TableName,
    pub attribute_definitions: Vec<KeyAttribute>,
    pub key_schema: Vec<KeySchemaElement>,
    /// Default PROVISIONED.
    pub billing_mode: Option<BillingMode>,
    pub throughput: Option<ProvisionedThroughput>,
    /// `None` is an absent member; an empty list is an error of its own.
    pub local_indexes: Option<Vec<IndexDefinition>>,
    pub global_indexes: Option<Vec<IndexDefinition>>,
    pub deletion_protection: bool,
    pub settings: TableSettings,
}

declare! { $ create_table
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
