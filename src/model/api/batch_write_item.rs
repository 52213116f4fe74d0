//! BatchWriteItem.

use super::common::{ConsumedCapacity, ItemCollectionMetrics, ReturnConsumedCapacity};
use crate::model::{Item, TableName};

#[derive(Debug, Clone, PartialEq)]
pub enum WriteRequest {
    /// The item to put.
    Put(Item),
    /// The key attributes by name, as sent.
    Delete(Item),
}

/// The writes to one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableWrites {
    pub table_name: TableName,
    pub requests: Vec<WriteRequest>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchWriteItemRequest {
    /// By table, in the order sent; at most 25 requests in all.
    pub request_items: Vec<TableWrites>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnItemCollectionMetrics` is SIZE.
    pub return_item_collection_metrics: bool,
}

/// Each list has one element for each of `request_items`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWriteItemResponse {
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// What there was no capacity for; only where throttling is simulated.
    pub unprocessed_items: Vec<Vec<WriteRequest>>,
    /// Of each item collection written to, when asked for.
    pub item_collection_metrics: Vec<Vec<ItemCollectionMetrics>>,
}
