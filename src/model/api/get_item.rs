//! GetItem.

use super::common::{ConsumedCapacity, Placeholders, ReturnConsumedCapacity};
use crate::model::{Item, TableName};

#[derive(Debug, Clone, PartialEq)]
pub struct GetItemRequest {
    pub table_name: TableName,
    /// The key attributes by name, as sent; checked against the table's schema by the operation.
    pub key: Item,
    pub consistent_read: bool,
    pub projection_expression: Option<String>,
    /// Whole top-level attributes by name; not beside a ProjectionExpression.
    pub attributes_to_get: Option<Vec<String>>,
    pub placeholders: Placeholders,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GetItemResponse {
    /// `None` when there is no such item; an empty item when the projection selects nothing.
    pub item: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
}

impl GetItemRequest {
    /// A plain get of the whole item.
    #[must_use]
    pub fn new(table_name: TableName, key: Item) -> Self {
        Self {
            table_name,
            key,
            consistent_read: false,
            projection_expression: None,
            attributes_to_get: None,
            placeholders: Placeholders::default(),
            return_consumed_capacity: ReturnConsumedCapacity::None,
        }
    }
}
