//! BatchGetItem.

use super::common::{ConsumedCapacity, Placeholders, ReturnConsumedCapacity};
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

#[derive(Debug, Clone, PartialEq)]
pub struct BatchGetItemRequest {
    /// By table, in the order sent; at most 100 keys in all.
    pub request_items: Vec<TableKeys>,
    /// What is wrong with the keys: told when the expressions were checked.
    pub fault: Option<Box<Error>>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
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
