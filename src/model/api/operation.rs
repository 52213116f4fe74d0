//! The operations of the API, each declared once: what follows from it for every one is made of the table. And what is said of an
//! operation beside its request: who hears of its outcome and of what it writes, and how long each may be let wait.

use std::sync::Arc;

use super::backup::*;
use super::resource::*;
use super::transfer::*;
use super::{Version, *};
use crate::model::{Error, Key, TableName};

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

/// For whom an operation is started. It is passed down to the commit, from layer to layer with [`Done`].
#[derive(Clone, Default)]
pub struct CallContext {
    /// Hears of the items that the operation writes.
    pub listener: Option<Arc<dyn WriteListener>>,
    /// How long who waits may be let wait for the observers of the commit.
    pub wait: WaitPolicy,
    /// How the thread that starts the operation commits it itself, if it may: see [`CommitInline`].
    pub commit_inline: Option<CommitInline>,
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext").field("wait", &self.wait).finish_non_exhaustive()
    }
}

impl CallContext {
    /// The same, of a thread that has nothing else to do until the operation has ended.
    #[must_use]
    pub fn waited(self) -> Self {
        Self { commit_inline: Some(|commit| commit()), ..self }
    }
}

/// Runs a commit, which may wait for the disk, on the thread that submits it: taken while nobody else writes. That thread must not hold a
/// lock that the end of the operation takes.
pub type CommitInline = fn(&mut dyn FnMut());

/// How long who waits for an operation may be let wait for its observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WaitPolicy {
    /// As long as it takes: it holds nothing that an observer may wait for.
    #[default]
    Long,
    /// A moment: it may hold something.
    Short,
    /// Not at all: it does hold something.
    None,
    /// Not at all, and there is nothing to wait for: the kernel knows of the change, which it asked for, and of its effects.
    Settled,
}

/// Who waits for an operation. It is told the outcome once, on whatever thread the operation ends.
pub struct Done<T> {
    pub context: CallContext,
    hear: Box<dyn FnOnce(Result<T, Error>) + Send>,
}

impl<T> std::fmt::Debug for Done<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Done").field(&self.context).finish()
    }
}

impl<T> Done<T> {
    /// `hear` must not block.
    pub fn new(context: CallContext, hear: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self { context, hear: Box::new(hear) }
    }

    /// Nobody in particular waits, and nobody hears of what is written.
    pub fn of(hear: impl FnOnce(Result<T, Error>) + Send + 'static) -> Self {
        Self::new(CallContext::default(), hear)
    }

    pub fn tell(self, outcome: Result<T, Error>) {
        (self.hear)(outcome);
    }
}

impl<T: 'static> Done<T> {
    /// The same who waits, for an operation whose outcome is made into this one's before it is told.
    #[must_use]
    pub fn after<U>(self, make: impl FnOnce(Result<U, Error>) -> Result<T, Error> + Send + 'static) -> Done<U> {
        Done::new(self.context, move |outcome| (self.hear)(make(outcome)))
    }
}

/// Hears of the items that an operation wrote, whatever the operation: a batch, a transaction, a statement of PartiQL. It is told after
/// the commit, before who waits.
pub trait WriteListener: Send + Sync {
    /// The item is now of that version, which it may have been before; `None`: it is gone. Must not block.
    fn wrote(&self, table: &TableName, key: &Key, version: Option<Version>);
}

/// An item that was written.
#[derive(Debug)]
pub struct Written {
    pub table: TableName,
    pub key: Key,
    /// What it is now of, which it may have been before; `None`: it is gone.
    pub version: Option<Version>,
}

/// What a commit changed, for one operation.
#[derive(Debug)]
pub struct Committed {
    pub items: Vec<Written>,
    /// Gone, or going: nothing of them can be read any more.
    pub tables: Vec<TableName>,
    pub wait: WaitPolicy,
}

/// The rest of an operation.
pub type Then = Box<dyn FnOnce() + Send>;

/// Hears of all commits, also of what time to live deletes. Must not block.
pub trait CommitObserver: Send + Sync {
    /// This is committed. `then` is to be called once, by whom and when the observer likes: it tells who waits.
    fn committed(&self, committed: &Arc<Committed>, then: Then);
}

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

/// The request of an operation as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbatimRequest {
    /// `GetItem`
    pub operation: &'static str,
    /// A JSON object.
    pub body: Vec<u8>,
}
