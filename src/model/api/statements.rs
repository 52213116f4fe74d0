//! PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction (docs/dynamodb.md 19.1).

use super::common::{ConsumedCapacity, ReturnConsumedCapacity};
use super::declare::{declare, rows};
use crate::model::error::ValueError;
use crate::model::{AttributeValue, Error, Item, TableName};

rows! { $ statement_operations
    Writes Charged ExecuteStatement execute_statement(ExecuteStatementRequest) -> ExecuteStatementResponse [long()];
    Writes Own BatchExecuteStatement batch_execute_statement(BatchExecuteStatementRequest) -> BatchExecuteStatementResponse [long()];
    Writes Charged ExecuteTransaction execute_transaction(ExecuteTransactionRequest) -> ExecuteTransactionResponse [long()];
}

declare! { $ statements
    ExecuteStatementRequest = "ExecuteStatementInput" by check fn of(statement: String) {
        required statement: String [LengthMin(1), LengthMax(STATEMENT_CHARS_MAX)],
        /// One for each `?`.
        default parameters: Vec<AttributeValue> [LengthMin(1)],
        default consistent_read: bool,
        /// Of the answer to the same statement with the same parameters.
        optional next_token: String [LengthMin(1), LengthMax(STATEMENT_TOKEN_CHARS_MAX)],
        default return_consumed_capacity: ReturnConsumedCapacity,
        /// Items to evaluate, at least 1.
        optional limit: u32 [ValueMin(1)],
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
    }

    ExecuteStatementResponse {
        /// What SELECT or RETURNING gives; empty for other writes.
        always items: Vec<Item>,
        /// There may be more.
        optional next_token: String,
        optional last_evaluated_key: Item,
        /// The one that the text is about.
        later table_name: TableName as Charged,
        later consumed_capacity: ConsumedCapacity as Charged,
        + "ConsumedCapacity" = |it| Some((it.table_name.clone(), it.consumed_capacity.clone())),
    }

    BatchExecuteStatementRequest = "BatchExecuteStatementInput" by check {
        /// 1 to 25.
        required statements: Vec<BatchStatement> [LengthMin(1), LengthMax(BATCH_STATEMENTS_MAX)],
        default return_consumed_capacity: ReturnConsumedCapacity,
    }

    /// One statement.
    BatchStatement = "BatchStatementRequest" {
        required statement: String [LengthMin(1), LengthMax(STATEMENT_CHARS_MAX)],
        /// One for each `?`; a bad one is the statement's own failure, and is not to be sent.
        group parameters: Result<Vec<AttributeValue>, ValueError> as Parameters,
        default consistent_read: bool,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
    }

    BatchExecuteStatementResponse {
        /// For each of the statements.
        always responses: Vec<BatchStatementResponse>,
        /// By table, in the order of first use.
        always consumed_capacity: Vec<(TableName, ConsumedCapacity)> as PlainUnits,
    }

    ExecuteTransactionRequest = "ExecuteTransactionInput" by check {
        /// 1 to 100.
        required statements: Vec<TransactStatement> = "TransactStatements" [LengthMin(1), LengthMax(TRANSACTION_ITEMS_MAX)],
        /// The same token with the same statements is carried out once within ten minutes.
        optional client_request_token: String [LengthMin(1), LengthMax(CLIENT_TOKEN_CHARS_MAX)],
        default return_consumed_capacity: ReturnConsumedCapacity,
    }

    /// One statement.
    TransactStatement = "ParameterizedStatement" {
        required statement: String [LengthMin(1), LengthMax(STATEMENT_CHARS_MAX)],
        /// One for each `?`.
        default parameters: Vec<AttributeValue> [LengthMin(1)],
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
    }
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

/// What became of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatementResponse {
    /// Where the statement could be read.
    pub table_name: Option<TableName>,
    /// The item read, or what RETURNING gives.
    pub outcome: Result<Option<Item>, Error>,
}

impl ExecuteStatementRequest {
    /// A statement without parameters.
    #[must_use]
    pub fn new(statement: impl Into<String>) -> Self {
        Self::of(statement.into())
    }
}
