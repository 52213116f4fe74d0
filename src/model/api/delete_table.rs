//! DeleteTable.

use super::describe_table::TableDescription;
use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteTableRequest {
    pub table_name: TableName,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeleteTableResponse {
    /// With status DELETING.
    pub table_description: TableDescription,
}
