//! Typed requests and responses, one file per operation, named as in the DynamoDB API.
//!
//! The HTTP front end, the filesystem and any remote client all speak these. Shape checks (types, enums, ranges, names)
//! are done where a request is built from a wire form, see `codec::wire`; a request of these types is well formed.

pub mod absence;
pub mod backup;
pub mod batch_execute_statement;
pub mod batch_get_item;
pub mod batch_write_item;
pub mod common;
pub mod create_table;
pub mod delete_item;
pub mod delete_table;
pub mod describe_stream;
pub mod describe_table;
pub mod execute_statement;
pub mod execute_transaction;
pub mod get_item;
pub mod get_records;
pub mod get_shard_iterator;
pub mod insights;
pub mod legacy;
pub mod list_streams;
pub mod list_tables;
pub mod never_used;
pub mod operation;
pub mod parked;
pub mod put_item;
pub mod query;
pub mod resource;
pub mod saved_query;
pub mod scan;
pub mod streams;
pub mod table_control;
pub mod time_to_live;
pub mod transact_get_items;
pub mod transact_write_items;
pub mod transfer;
pub mod update_item;
pub mod update_table;
pub mod verbatim;

pub use batch_execute_statement::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchStatement, BatchStatementResponse,
};
pub use batch_get_item::{BatchGetItemPage, BatchGetItemRequest, BatchGetItemResponse, TableKeys};
pub use batch_write_item::{BatchWriteItemRequest, BatchWriteItemResponse, TableWrites, WriteRequest};
pub use common::{
    ConditionParameter, ConsumedCapacity, Done, ItemCollectionMetrics, Page, Placeholders, Precondition, ReturnConsumedCapacity,
    ReturnValues, Select, UpdateReturnValues, Version,
};
pub use create_table::{CreateTableRequest, CreateTableResponse, IndexDefinition, KeySchemaElement, ProjectionDefinition};
pub use delete_item::{DeleteItemRequest, DeleteItemResponse};
pub use delete_table::{DeleteTableRequest, DeleteTableResponse};
pub use describe_stream::{DescribeStreamRequest, DescribeStreamResponse, Shard, StreamStatus};
pub use describe_table::{
    DescribeTableRequest, DescribeTableResponse, IndexDescription, IndexLag, IndexProgress, TableDescription, TableStatus,
};
pub use execute_statement::{ExecuteStatementRequest, ExecuteStatementResponse};
pub use execute_transaction::{ExecuteTransactionRequest, ExecuteTransactionResponse, TransactStatement};
pub use get_item::{GetItemRequest, GetItemResponse};
pub use get_records::{GetRecordsRequest, GetRecordsResponse};
pub use get_shard_iterator::{GetShardIteratorRequest, GetShardIteratorResponse, ShardPosition};
pub use list_streams::{ListStreamsRequest, ListStreamsResponse};
pub use list_tables::{ListTablesRequest, ListTablesResponse};
pub use operation::Call;
pub use put_item::{PutItemRequest, PutItemResponse};
pub use query::{QueryRequest, QueryResponse};
pub use scan::{ScanRequest, ScanResponse, Segment};
pub use streams::{Origin, SequenceNumber, StreamEvent, StreamName, StreamRecord};
pub use table_control::TableControl;
pub use time_to_live::{
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, TimeToLiveSpecification, TimeToLiveStatus, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse,
};
pub use transact_get_items::{TransactGet, TransactGetItemsRequest, TransactGetItemsResponse};
pub use transact_write_items::{TransactAction, TransactWrite, TransactWriteItemsRequest, TransactWriteItemsResponse};
pub use update_item::{UpdateItemRequest, UpdateItemResponse, UpdateParameter};
pub use update_table::{UpdateTableRequest, UpdateTableResponse};
pub use verbatim::VerbatimRequest;

pub use super::settings::StreamViewType;
