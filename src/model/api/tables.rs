//! Tables as they are told of: ListTables, DescribeTable, DeleteTable (docs/dynamodb.md 11.2, 11.4, 11.5).

use super::declare::declare;
use super::table_control::TableControl;
use crate::model::{TableName, TableSchema};
use serde::{Deserialize, Serialize};

declare! { $ tables
    #[derive(Eq, Default)]
    ListTablesRequest = "ListTablesInput" {
        /// Names after this one; it need not exist.
        optional exclusive_start_table_name: String as Name,
        /// 1 to 100; default 100.
        optional limit: u32 [ValueMin(1), ValueMax(LIST_TABLES_MAX as i64)],
    }

    #[derive(Eq)]
    ListTablesResponse {
        /// Present exactly when more remain.
        optional last_evaluated_table_name: String,
        /// In byte order.
        required table_names: Vec<String> as List<Named>,
    }

    #[derive(Eq)]
    DescribeTableRequest = "DescribeTableInput" {
        control table_name: TableName,
    }

    DescribeTableResponse {
        required table: TableDescription,
    }

    #[derive(Eq)]
    DeleteTableRequest = "DeleteTableInput" fn new(table_name: TableName) {
        control table_name: TableName,
        /// Refuse with `InUseError::HasItems` unless the table is empty in the deleting transaction itself; the filesystem's rmdir.
        local only_if_empty: bool,
    }

    DeleteTableResponse {
        /// With status DELETING.
        required table_description: TableDescription as Going,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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
    /// Of its global indexes; `None` while they show every write.
    pub index_lag: Option<IndexLag>,
    /// When it was described, milliseconds since the epoch.
    pub at_ms: u64,
}

/// How far the backfill of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Items of the table looked at.
    pub done: u64,
    /// Items that the table had when the backfill began.
    pub total: u64,
    /// Entries that the backfill wrote; those of other writes are not counted.
    pub written: u64,
    /// Write units of these entries: `OnlineIndexConsumedWriteCapacity`.
    pub write_units: u64,
}

impl IndexProgress {
    /// `OnlineIndexPercentageProgress`, 0 to 100. The table may have grown meanwhile; where it was empty, nothing is done yet.
    #[must_use]
    pub fn percent(&self) -> u64 {
        (self.done.min(self.total) * 100).checked_div(self.total).unwrap_or(0)
    }
}

/// Writes that the global indexes of a table do not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLag {
    pub is_paused: bool,
    /// Writes.
    pub pending: u64,
    /// Age of the oldest, milliseconds.
    pub lag_ms: u64,
}

/// State and counters of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// CREATING, UPDATING, DELETING or ACTIVE; an LSI has the table's.
    pub status: TableStatus,
    /// `None` for an index that no UpdateTable is making.
    pub backfilling: Option<bool>,
    /// `None` unless it is being made.
    pub progress: Option<IndexProgress>,
    /// Items that are kept out by a value that cannot be the key of this index.
    pub violations: u64,
    pub item_count: u64,
    /// Entry bytes plus 100 bytes an entry.
    pub index_size_bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
}
