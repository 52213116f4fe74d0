//! TransactGetItems.

use super::common::{ConsumedCapacity, Placeholders, ReturnConsumedCapacity};
use crate::model::{Error, Item, TableName};

/// One item to read.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactGet {
    pub table_name: TableName,
    /// The key attributes by name, as sent.
    pub key: Item,
    pub projection_expression: Option<String>,
    pub placeholders: Placeholders,
}

impl TransactGet {
    /// The whole item.
    #[must_use]
    pub fn new(table_name: TableName, key: Item) -> Self {
        Self { table_name, key, projection_expression: None, placeholders: Placeholders::default() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactGetItemsRequest {
    /// 1 to 100.
    pub transact_items: Vec<TransactGet>,
    /// What is wrong with the values of the read behind those of `transact_items`: told when they were checked.
    pub fault: Option<Box<Error>>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactGetItemsResponse {
    /// For each of `transact_items`; `None` when there is no such item or the projection selects nothing of it.
    pub responses: Vec<Option<Item>>,
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
}
