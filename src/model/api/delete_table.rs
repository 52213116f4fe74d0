//! DeleteTable.

use super::describe_table::TableDescription;
use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteTableRequest {
    pub table_name: TableName,
    /// Refuse with `InUseError::HasItems` unless the table is empty in the deleting transaction itself; the filesystem's rmdir.
    pub only_if_empty: bool,
}

impl DeleteTableRequest {
    /// Deletes the table with whatever it holds.
    #[must_use]
    pub fn new(table_name: TableName) -> Self {
        Self { table_name, only_if_empty: false }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeleteTableResponse {
    /// With status DELETING.
    pub table_description: TableDescription,
}
