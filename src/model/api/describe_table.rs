//! DescribeTable.

use super::table_control::TableControl;
use crate::model::{TableName, TableSchema};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeTableRequest {
    pub table_name: TableName,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DescribeTableResponse {
    pub table: TableDescription,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableStatus {
    Creating,
    Active,
    Deleting,
    Updating,
}

/// A table's definition with its state and counters.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDescription {
    pub schema: TableSchema,
    pub status: TableStatus,
    /// UUID text.
    pub table_id: String,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    pub item_count: u64,
    /// Item bytes plus 100 bytes an item.
    pub table_size_bytes: u64,
    /// One per index of the schema, in the schema's order.
    pub indexes: Vec<IndexDescription>,
    /// Of the newest stream, also when it is disabled.
    pub latest_stream_label: Option<String>,
    pub control: TableControl,
    /// When it was described, milliseconds since the epoch.
    pub at_ms: u64,
}

/// State and counters of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// CREATING, UPDATING, DELETING or ACTIVE; an LSI has the table's.
    pub status: TableStatus,
    pub item_count: u64,
    /// Entry bytes plus 100 bytes an entry.
    pub index_size_bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
}
