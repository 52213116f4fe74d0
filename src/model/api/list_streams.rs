//! ListStreams.

use super::streams::StreamName;
use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListStreamsRequest {
    /// Only this table's; the table need not exist any more.
    pub table_name: Option<TableName>,
    /// 1 to 100; default 100.
    pub limit: Option<u32>,
    /// Streams after this one; it need not exist.
    pub exclusive_start: Option<StreamName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStreamsResponse {
    /// By table name, then by label.
    pub streams: Vec<StreamName>,
    /// Present exactly when more remain.
    pub last_evaluated: Option<StreamName>,
}
