//! PutItem.

use super::common::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Placeholders, Precondition, ReturnConsumedCapacity, ReturnValues,
    Version,
};
use crate::model::{Item, TableName};

#[derive(Debug, Clone, PartialEq)]
pub struct PutItemRequest {
    pub table_name: TableName,
    pub item: Item,
    pub precondition: Option<Precondition>,
    pub condition: ConditionParameter,
    pub placeholders: Placeholders,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
    pub return_values: ReturnValues,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnItemCollectionMetrics` is SIZE.
    pub return_item_collection_metrics: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PutItemResponse {
    /// The old item, for ALL_OLD, when there was one.
    pub attributes: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
    /// The version now stored; the old one when the put changed nothing.
    pub version: Version,
}

impl PutItemRequest {
    /// A plain put: no condition, nothing returned.
    #[must_use]
    pub fn new(table_name: TableName, item: Item) -> Self {
        Self {
            table_name,
            item,
            precondition: None,
            condition: ConditionParameter::None,
            placeholders: Placeholders::default(),
            return_old_on_condition_failure: false,
            return_values: ReturnValues::None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        }
    }
}
