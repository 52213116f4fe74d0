//! The operations of the API, each declared once: what follows from it for every one is made of the table.

use super::backup::*;
use super::insights::*;
use super::never_used::*;
use super::resource::*;
use super::transfer::*;
use super::*;
use crate::model::{Error, TableName};

/// What an operation does, and when who asked hears of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It leaves everything as it is; its outcome is told before its start returns.
    Reads,
    /// It waits for commits and files; its outcome is told before its start returns.
    Controls,
    /// It goes to another service as it is; its outcome is told before its start returns.
    Passes,
    /// Its outcome is told after the commit. A statement that only reads is one of these: what it does is in its text.
    Writes,
}

/// The table: `$with!` is given all rows.
///
/// Its way stands first. Query, Scan and BatchGetItem are not here: they give rows as they read them.
macro_rules! operations {
    ($with:ident) => {
        $with! {
            Reads GetItem get_item(GetItemRequest) -> GetItemResponse;
            Writes PutItem put_item(PutItemRequest) -> PutItemResponse;
            Writes UpdateItem update_item(UpdateItemRequest) -> UpdateItemResponse;
            Writes DeleteItem delete_item(DeleteItemRequest) -> DeleteItemResponse;
            Writes BatchWriteItem batch_write_item(BatchWriteItemRequest) -> BatchWriteItemResponse;
            Reads TransactGetItems transact_get_items(TransactGetItemsRequest) -> TransactGetItemsResponse;
            Writes TransactWriteItems transact_write_items(TransactWriteItemsRequest) -> TransactWriteItemsResponse;
            Writes ExecuteStatement execute_statement(ExecuteStatementRequest) -> ExecuteStatementResponse;
            Writes BatchExecuteStatement batch_execute_statement(BatchExecuteStatementRequest) -> BatchExecuteStatementResponse;
            Writes ExecuteTransaction execute_transaction(ExecuteTransactionRequest) -> ExecuteTransactionResponse;

            Reads GetRecords get_records(GetRecordsRequest) -> GetRecordsResponse;
            Reads GetShardIterator get_shard_iterator(GetShardIteratorRequest) -> GetShardIteratorResponse;
            Reads DescribeStream describe_stream(DescribeStreamRequest) -> DescribeStreamResponse;
            Reads ListStreams list_streams(ListStreamsRequest) -> ListStreamsResponse;

            Reads DescribeTable describe_table(DescribeTableRequest) -> DescribeTableResponse;
            Reads ListTables list_tables(ListTablesRequest) -> ListTablesResponse;
            Controls CreateTable create_table(CreateTableRequest) -> CreateTableResponse;
            Controls UpdateTable update_table(UpdateTableRequest) -> UpdateTableResponse;
            Controls DeleteTable delete_table(DeleteTableRequest) -> DeleteTableResponse;
            Reads DescribeTimeToLive describe_time_to_live(DescribeTimeToLiveRequest) -> DescribeTimeToLiveResponse;
            Controls UpdateTimeToLive update_time_to_live(UpdateTimeToLiveRequest) -> UpdateTimeToLiveResponse;

            Controls TagResource tag_resource(TagResourceRequest) -> ();
            Controls UntagResource untag_resource(UntagResourceRequest) -> ();
            // Key and value.
            Reads ListTagsOfResource list_tags(ListTagsRequest) -> Vec<(String, String)>;
            // The revision id.
            Controls PutResourcePolicy put_policy(PutPolicyRequest) -> String;
            Reads GetResourcePolicy get_policy(PolicyRequest) -> ResourcePolicy;
            // The revision id that it had, if there was a policy.
            Controls DeleteResourcePolicy delete_policy(DeletePolicyRequest) -> Option<String>;
            Reads DescribeLimits describe_limits(()) -> Limits;

            // As it is then.
            Controls UpdateContributorInsights update_insights(UpdateInsightsRequest) -> Insights;
            Reads DescribeContributorInsights describe_insights(InsightsTarget) -> Insights;
            // Those that are enabled, of one table or of all.
            Reads ListContributorInsights list_insights(ListInsightsRequest) -> Vec<Insights>;

            // A backup, an export and an import are asked for by their ARN.
            Controls CreateBackup create_backup(CreateBackupRequest) -> Backup;
            Reads DescribeBackup describe_backup(String) -> Backup;
            Reads ListBackups list_backups(ListBackupsRequest) -> ListBackupsResponse;
            Controls DeleteBackup delete_backup(String) -> Backup;
            Controls RestoreTableFromBackup restore_from_backup(RestoreFromBackupRequest) -> TableDescription;
            Controls RestoreTableToPointInTime restore_to_point_in_time(RestoreToPointInTimeRequest) -> TableDescription;
            // The window of recovery, if it is on.
            Controls UpdateContinuousBackups update_continuous_backups(UpdateContinuousBackupsRequest) -> Option<RecoveryWindow>;
            Reads DescribeContinuousBackups describe_continuous_backups(TableName) -> Option<RecoveryWindow>;

            Controls ExportTableToPointInTime export_table(ExportRequest) -> Export;
            Reads DescribeExport describe_export(String) -> Export;
            Reads ListExports list_exports(ListTransfersRequest) -> ListTransfersResponse<Export>;
            Controls ImportTable import_table(ImportRequest) -> Import;
            Reads DescribeImport describe_import(String) -> Import;
            Reads ListImports list_imports(ListTransfersRequest) -> ListTransfersResponse<Import>;

            // Of features that there are none of: what a request names must exist, the answer is empty.
            Reads NeverUsed never_used(NeverUsedRequest) -> ();

            // Any of them in its caller's own words; the body of the answer.
            Passes Verbatim pass(VerbatimRequest) -> Vec<u8>;
        }
    };
}
pub(crate) use operations;

macro_rules! call {
    ($($way:ident $name:ident $method:ident($request:ty) -> $response:ty;)*) => {
        /// An operation that is asked for: its request, and who hears of its outcome.
        #[allow(missing_debug_implementations)]
        pub enum Call {
            $($name($request, Done<$response>),)*
        }

        #[allow(non_upper_case_globals)]
        impl Way {
            $(pub const $name: Self = Self::$way;)*
        }

        impl Call {
            /// The API's name of the operation.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(..) => stringify!($name),)* }
            }

            /// What it does.
            #[must_use]
            pub fn way(&self) -> Way {
                match self { $(Self::$name(..) => Way::$way,)* }
            }

            /// Tells who asked that it is not done.
            pub fn refuse(self, error: Error) {
                match self { $(Self::$name(_, done) => done.tell(Err(error)),)* }
            }

            /// The same call; `hear` is told of its failure, if it fails, before who asked hears of the outcome.
            #[must_use]
            pub fn heard(self, hear: impl FnOnce(Option<&Error>) + Send + 'static) -> Self {
                match self {
                    $(Self::$name(request, done) => {
                        let heard = done.after(move |outcome: Result<$response, Error>| {
                            hear(outcome.as_ref().err());
                            outcome
                        });
                        Self::$name(request, heard)
                    })*
                }
            }
        }
    };
}
operations!(call);
