//! ExecuteTransaction.

use super::common::{ConsumedCapacity, ReturnConsumedCapacity};
use crate::model::{AttributeValue, Item, TableName};

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactStatement {
    pub statement: String,
    /// One for each `?`.
    pub parameters: Vec<AttributeValue>,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteTransactionRequest {
    /// 1 to 100.
    pub statements: Vec<TransactStatement>,
    /// The same token with the same statements is carried out once within ten minutes.
    pub client_request_token: Option<String>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteTransactionResponse {
    /// For each of the statements; `None` for a write and where there is no such item.
    pub responses: Vec<Option<Item>>,
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
    /// The units are those of reads: the statements read, or their token had been used.
    pub is_read: bool,
}
