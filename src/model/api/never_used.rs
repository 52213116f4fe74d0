//! Operations of features that this database does not have: they answer as the service does for an account that never used them
//! (docs/dynamodb.md 21).

use crate::model::TableName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeverUsedRequest {
    /// Anything that would begin to use a feature: its name.
    Begin(&'static str),
    /// DescribeGlobalTable, UpdateGlobalTable, and the same of their settings.
    GlobalTable(String),
    ListGlobalTables,
    DescribeTableReplicaAutoScaling(TableName),
    DescribeKinesisStreamingDestination(TableName),
    /// Disable or update; `action` is the word for it.
    ChangeKinesisStreamingDestination {
        table: TableName,
        stream_arn: String,
        action: &'static str,
    },
    /// DescribeBulkOperation and CancelBulkOperation.
    BulkOperation(String),
    ListBulkOperations,
}
