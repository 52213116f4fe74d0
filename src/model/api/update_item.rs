//! UpdateItem.

use super::common::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Placeholders, Precondition, ReturnConsumedCapacity,
    UpdateReturnValues, Version,
};
use super::legacy::AttributeUpdate;
use crate::model::{Item, TableName};

/// What is to be changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum UpdateParameter {
    /// Nothing: an item that is not there is made of its key alone.
    #[default]
    None,
    /// `UpdateExpression`.
    Expression(String),
    /// In the order sent.
    AttributeUpdates(Vec<AttributeUpdate>),
}

impl UpdateParameter {
    /// The expression, if it is one.
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Expression(text) => Some(text),
            Self::None | Self::AttributeUpdates(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct UpdateItemRequest {
    pub table_name: TableName,
    /// The key attributes by name, as sent.
    pub key: Item,
    pub update: UpdateParameter,
    pub precondition: Option<Precondition>,
    pub condition: ConditionParameter,
    pub placeholders: Placeholders,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
    pub return_values: UpdateReturnValues,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnItemCollectionMetrics` is SIZE.
    pub return_item_collection_metrics: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UpdateItemResponse {
    /// What `ReturnValues` asked for, where there is any.
    pub attributes: Option<Item>,
    pub consumed_capacity: ConsumedCapacity,
    pub item_collection_metrics: Option<ItemCollectionMetrics>,
    /// The version now stored, the old one when nothing changed; `None` when there is no item.
    pub version: Option<Version>,
}

impl UpdateItemRequest {
    /// A plain update: no condition, nothing returned.
    #[must_use]
    pub fn new(table_name: TableName, key: Item, update: UpdateParameter, placeholders: Placeholders) -> Self {
        Self {
            table_name,
            key,
            update,
            precondition: None,
            condition: ConditionParameter::None,
            placeholders,
            return_old_on_condition_failure: false,
            return_values: UpdateReturnValues::None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_item_collection_metrics: false,
        }
    }
}
