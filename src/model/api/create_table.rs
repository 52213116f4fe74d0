//! CreateTable: the request as sent. The engine's operation checks it and builds a `TableSchema` from it.

use super::describe_table::TableDescription;
use crate::model::schema::{BillingMode, IndexKind, KeyAttribute, KeyType, ProvisionedThroughput};
use crate::model::settings::ThroughputSettings;
use crate::model::{IndexName, TableName, TableSettings};

/// An element of a `KeySchema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySchemaElement {
    pub attribute_name: String,
    pub key_type: KeyType,
}

/// `Projection` as sent; both members may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectionDefinition {
    pub projection_type: Option<ProjectionType>,
    pub non_key_attributes: Option<Vec<String>>,
}

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

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTableResponse {
    pub table_description: TableDescription,
}
