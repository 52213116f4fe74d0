//! GetItem, PutItem, UpdateItem, DeleteItem (docs/dynamodb.md 12).

use super::common::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Placeholders, Precondition, ReturnConsumedCapacity, ReturnValues,
    UpdateReturnValues, Version,
};
use super::declare::declare;
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

declare! { $ items
    GetItemRequest = "GetItemInput" by check_get fn new(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        ..&[ATTRIBUTES_TO_GET],
        data table_name: TableName,
        /// The key attributes by name, as sent; checked against the table's schema by the operation.
        required key: Item,
        default consistent_read: bool,
        optional projection_expression: String,
        /// Whole top-level attributes by name; not beside a ProjectionExpression.
        later attributes_to_get: Option<Vec<String>> as AttributesToGet,
        group placeholders: Placeholders as Names,
    }

    GetItemResponse {
        /// `None` when there is no such item; an empty item when the projection selects nothing.
        optional item: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
    }

    PutItemRequest = "PutItemInput" by check_write fn new(table_name: TableName, item: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        required item: Item,
        // After the item: a bad value in it is told before a ReturnValues that only UpdateItem takes.
        group return_values: ReturnValues as OldValues,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        group condition: ConditionParameter as Condition,
        group placeholders: Placeholders as NamesAndValues,
        // Another service has no place for it: who has one makes a condition of it.
        local precondition: Option<Precondition>,
    }

    PutItemResponse {
        /// The old item, for ALL_OLD, when there was one.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// The version now stored; the old one when the put changed nothing.
        local version: Version,
    }

    DeleteItemRequest = "DeleteItemInput" by check_write fn new(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        ..<OldValues as Group<ReturnValues>>::MEMBERS,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        /// The key attributes by name, as sent.
        required key: Item,
        later return_values: ReturnValues as OldValues,
        group condition: ConditionParameter as Condition,
        group placeholders: Placeholders as NamesAndValues,
        local precondition: Option<Precondition>,
    }

    DeleteItemResponse {
        /// The old item, for ALL_OLD, when there was one.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// Whether there was an item.
        later existed: bool as Existed,
    }

    UpdateItemRequest = "UpdateItemInput" by check_update fn plain(table_name: TableName, key: Item) {
        default return_consumed_capacity: ReturnConsumedCapacity,
        data table_name: TableName,
        default return_values: UpdateReturnValues as AnyWord,
        /// `ReturnItemCollectionMetrics` is SIZE.
        default return_item_collection_metrics: bool as Size,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
        /// The key attributes by name, as sent.
        required key: Item,
        later update: UpdateParameter as Update,
        group condition: ConditionParameter as Condition,
        ..&[Member::new("UpdateExpression", Shape::String)],
        group placeholders: Placeholders as NamesAndValues,
        ..&[ATTRIBUTE_UPDATES],
        local precondition: Option<Precondition>,
    }

    UpdateItemResponse {
        /// What `ReturnValues` asked for, where there is any.
        optional attributes: Item,
        always consumed_capacity: ConsumedCapacity as Consumed,
        optional item_collection_metrics: ItemCollectionMetrics,
        /// The version now stored, the old one when nothing changed; `None` when there is no item.
        local version: Option<Version>,
    }
}

impl UpdateItemRequest {
    /// A plain update: no condition, nothing returned.
    #[must_use]
    pub fn new(table_name: TableName, key: Item, update: UpdateParameter, placeholders: Placeholders) -> Self {
        Self { update, placeholders, ..Self::plain(table_name, key) }
    }
}
