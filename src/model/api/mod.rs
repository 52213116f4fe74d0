//! Typed requests and responses, a file for each family of operations, named as in the DynamoDB API. `declare` says how they are declared.
//!
//! The HTTP front end, the filesystem and any remote client all speak these. Shape checks (types, enums, ranges, names)
//! are done where a request is built from a wire form, see `codec::wire`; a request of these types is well formed.

pub mod absence;
pub mod backup;
pub mod batches;
pub mod commit;
pub mod common;
pub mod create_table;
pub(crate) mod declare;
pub mod insights;
pub mod items;
pub mod legacy;
pub mod never_used;
pub mod operation;
pub mod pages;
pub mod parked;
pub mod resource;
pub mod saved_query;
pub mod statements;
pub mod streams;
pub mod table_control;
pub mod tables;
pub mod time_to_live;
pub mod transactions;
pub mod transfer;
pub mod update_table;
pub mod verbatim;

pub use batches::{
    BatchGetItemPage, BatchGetItemRequest, BatchGetItemResponse, BatchWriteItemRequest, BatchWriteItemResponse, TableKeys,
    TableWrites, WriteRequest,
};
pub use commit::{CallContext, CommitInline, CommitObserver, Committed, Done, Then, WaitPolicy, WriteListener, Written};
pub use common::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Page, Placeholders, Precondition, ReturnConsumedCapacity,
    ReturnValues, Select, UpdateReturnValues, Version,
};
pub use create_table::{CreateTableRequest, CreateTableResponse, IndexDefinition, KeySchemaElement, ProjectionDefinition};
pub use items::{
    DeleteItemRequest, DeleteItemResponse, GetItemRequest, GetItemResponse, PutItemRequest, PutItemResponse, UpdateItemRequest,
    UpdateItemResponse, UpdateParameter,
};
pub use operation::Call;
pub use pages::{QueryRequest, QueryResponse, ScanRequest, ScanResponse, Segment};
pub use statements::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchStatement, BatchStatementResponse, ExecuteStatementRequest,
    ExecuteStatementResponse, ExecuteTransactionRequest, ExecuteTransactionResponse, TransactStatement,
};
pub use streams::{
    DescribeStreamRequest, DescribeStreamResponse, GetRecordsRequest, GetRecordsResponse, GetShardIteratorRequest,
    GetShardIteratorResponse, ListStreamsRequest, ListStreamsResponse, Origin, SequenceNumber, Shard, ShardPosition, ShardRange,
    StreamEvent, StreamName, StreamRecord, StreamStatus,
};
pub use table_control::TableControl;
pub use tables::{
    DeleteTableRequest, DeleteTableResponse, DescribeTableRequest, DescribeTableResponse, IndexDescription, IndexLag,
    IndexProgress, ListTablesRequest, ListTablesResponse, TableDescription, TableStatus,
};
pub use time_to_live::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification, TimeToLiveStatus, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse,
};
pub use transactions::{
    TransactAction, TransactGet, TransactGetItemsRequest, TransactGetItemsResponse, TransactWrite, TransactWriteItemsRequest,
    TransactWriteItemsResponse,
};
pub use update_table::{UpdateTableRequest, UpdateTableResponse};
pub use verbatim::VerbatimRequest;

pub use super::settings::StreamViewType;
