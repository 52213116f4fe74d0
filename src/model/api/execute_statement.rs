//! ExecuteStatement.

use super::common::{ConsumedCapacity, ReturnConsumedCapacity};
use crate::model::{AttributeValue, Item, TableName};

#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteStatementRequest {
    pub statement: String,
    /// One for each `?`.
    pub parameters: Vec<AttributeValue>,
    pub consistent_read: bool,
    /// Items to evaluate, at least 1.
    pub limit: Option<u32>,
    /// Of the answer to the same statement with the same parameters.
    pub next_token: Option<String>,
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
    pub return_old_on_condition_failure: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteStatementResponse {
    /// What SELECT or RETURNING gives; empty for other writes.
    pub items: Vec<Item>,
    /// There may be more.
    pub next_token: Option<String>,
    pub last_evaluated_key: Option<Item>,
    pub table_name: TableName,
    pub consumed_capacity: ConsumedCapacity,
}

impl ExecuteStatementRequest {
    /// A statement without parameters.
    #[must_use]
    pub fn new(statement: impl Into<String>) -> Self {
        Self {
            statement: statement.into(),
            parameters: Vec::new(),
            consistent_read: false,
            limit: None,
            next_token: None,
            return_consumed_capacity: ReturnConsumedCapacity::None,
            return_old_on_condition_failure: false,
        }
    }
}
