//! BatchExecuteStatement.

use super::common::{ConsumedCapacity, ReturnConsumedCapacity};
use crate::model::error::ValueError;
use crate::model::{AttributeValue, Error, Item, TableName};

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatement {
    pub statement: String,
    /// One for each `?`; a bad one is the statement's own failure.
    pub parameters: Result<Vec<AttributeValue>, ValueError>,
    pub consistent_read: bool,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchExecuteStatementRequest {
    /// 1 to 25.
    pub statements: Vec<BatchStatement>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// What became of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatementResponse {
    /// Where the statement could be read.
    pub table_name: Option<TableName>,
    /// The item read, or what RETURNING gives.
    pub outcome: Result<Option<Item>, Error>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchExecuteStatementResponse {
    /// For each of the statements.
    pub responses: Vec<BatchStatementResponse>,
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
}
