//! BatchGetItem and BatchWriteItem (docs/dynamodb.md 14).

use super::common::{ConsumedCapacity, ItemCollectionMetrics, Placeholders, ReturnConsumedCapacity};
use super::declare::declare;
use crate::model::{Error, Item, TableName};

/// The items wanted of one table: `KeysAndAttributes`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableKeys {
    pub table_name: TableName,
    /// The key attributes by name, as sent; no two are the same as written.
    pub keys: Vec<Item>,
    pub consistent_read: bool,
    pub projection_expression: Option<String>,
    /// Whole top-level attributes by name; not beside a ProjectionExpression.
    pub attributes_to_get: Option<Vec<String>>,
    pub placeholders: Placeholders,
}

impl TableKeys {
    /// Whole items.
    #[must_use]
    pub fn new(table_name: TableName, keys: Vec<Item>) -> Self {
        Self {
            table_name,
            keys,
            consistent_read: false,
            projection_expression: None,
            attributes_to_get: None,
            placeholders: Placeholders::default(),
        }
    }
}

declare! { $ batches
    BatchGetItemRequest = "BatchGetItemInput" by check_get {
        /// By table, in the order sent; at most 100 keys in all.
        group request_items: Vec<TableKeys> as Gets,
        /// What is wrong with the keys: told when the expressions were checked.
        later fault: Option<Box<Error>> as Duplicates,
        default return_consumed_capacity: ReturnConsumedCapacity,
    }

    BatchWriteItemRequest = "BatchWriteItemInput" by check_write {
        default return_consumed_capacity: ReturnConsumedCapacity,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// By table, in the order sent; at most 25 requests in all.
        group request_items: Vec<TableWrites> as Writes,
    }
}

/// What there is to say of a batch beside its items. Each list has one element for each of `request_items`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchGetItemPage {
    /// Keys that were not read.
    pub unprocessed_keys: Vec<Vec<Item>>,
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchGetItemResponse {
    /// The items found, a list for each of `request_items`.
    pub responses: Vec<Vec<Item>>,
    pub page: BatchGetItemPage,
}

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

/// Each list has one element for each of `request_items`.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchWriteItemResponse {
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// What there was no capacity for; only where throttling is simulated.
    pub unprocessed_items: Vec<Vec<WriteRequest>>,
    /// Of each item collection written to, when asked for.
    pub item_collection_metrics: Vec<Vec<ItemCollectionMetrics>>,
}
