//! TransactGetItems and TransactWriteItems (docs/dynamodb.md 15).

use super::common::{
    ConditionParameter, ConsumedCapacity, ItemCollectionMetrics, Placeholders, Precondition, ReturnConsumedCapacity,
};
use super::declare::declare;
use crate::model::{Error, Item, TableName};

declare! { $ transactions
    /// One item to read.
    TransactGet = "Get" fn new(table_name: TableName, key: Item) {
        required table_name: TableName,
        /// The key attributes by name, as sent.
        required key: Item,
        optional projection_expression: String,
        group placeholders: Placeholders as Names,
    }

    TransactGetItemsResponse {
        /// By table, in the order of first use.
        always consumed_capacity: Vec<(TableName, ConsumedCapacity)> as ReadUnits,
        /// For each of `transact_items`; `None` when there is no such item or the projection selects nothing of it.
        always responses: Vec<Option<Item>> as List<Found>,
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

/// What is done with one item. A key is the key attributes by name, as sent.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactAction {
    ConditionCheck { key: Item },
    Put { item: Item },
    Delete { key: Item },
    Update { key: Item, update_expression: String },
}

/// One action of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactWrite {
    pub table_name: TableName,
    pub action: TransactAction,
    pub precondition: Option<Precondition>,
    /// Held against the item before the transaction; a ConditionCheck has one.
    pub condition: ConditionParameter,
    pub placeholders: Placeholders,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
}

impl TransactWrite {
    /// An action without a condition.
    #[must_use]
    pub fn new(table_name: TableName, action: TransactAction) -> Self {
        Self {
            table_name,
            action,
            precondition: None,
            condition: ConditionParameter::None,
            placeholders: Placeholders::default(),
            return_old_on_condition_failure: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactWriteItemsRequest {
    /// 1 to 100.
    pub transact_items: Vec<TransactWrite>,
    /// What is wrong with the values of the action behind those of `transact_items`: told when they were checked.
    pub fault: Option<Box<Error>>,
    /// The same token with the same items is carried out once within ten minutes.
    pub client_request_token: Option<String>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnItemCollectionMetrics` is SIZE.
    pub return_item_collection_metrics: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactWriteItemsResponse {
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
    /// Of each item collection written to, by table, when asked for.
    pub item_collection_metrics: Vec<(TableName, Vec<ItemCollectionMetrics>)>,
    /// The token had been used: nothing was done, and the units are those of reads.
    pub is_replay: bool,
}
