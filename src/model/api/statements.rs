//! Requests and responses of PartiQL statements: ExecuteStatement, BatchExecuteStatement,
//! ExecuteTransaction (docs/dynamodb.md 19.1). `expr::partiql` parses the statements;
//! `engine/statements/` carries them out.

use super::common::{
    ConsumedCapacity, Consumption, MeasuredResponse, ReturnConsumedCapacity, measured,
};
use super::declare::{declare, operation_rows};
use crate::model::error::ValueError;
use crate::model::{AttributeValue, Error, Item, TableName};

operation_rows! { $ statement_operations
    Write Charged ExecuteStatement execute_statement(ExecuteStatementRequest) -> ExecuteStatementResponse [long()];
    Write Completed BatchExecuteStatement batch_execute_statement(BatchExecuteStatementRequest) -> BatchExecuteStatementResponse [long()];
    Write Charged ExecuteTransaction execute_transaction(ExecuteTransactionRequest) -> ExecuteTransactionResponse [long()];
}

declare! { $ statements
    ExecuteStatementRequest = "ExecuteStatementInput" by check fn of(statement: String) {
        required statement: String [LengthMin(1), LengthMax(STATEMENT_CHARS_MAX)],
        /// One for each `?`.
        default parameters: Vec<AttributeValue> [LengthMin(1)],
        default consistent_read: bool,
        /// The token of the response to the same statement with the same parameters.
        optional next_token: String [LengthMin(1), LengthMax(STATEMENT_TOKEN_CHARS_MAX)],
        default return_consumed_capacity: ReturnConsumedCapacity,
        /// Items to evaluate, at least 1.
        optional limit: u32 [ValueMin(1)],
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
    }

    ExecuteStatementResponse {
        /// The items of SELECT or RETURNING; empty for other writes.
        always items: Vec<Item>,
        /// Present if there may be more.
        optional next_token: String,
        optional last_evaluated_key: Item,
        /// The table of the statement.
        later table_name: TableName as ChargedTable,
        // The items read before the filter of a SELECT.
        local evaluated: u64,
        later consumed_capacity: ConsumedCapacity as ChargedTable,
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
        /// One for each `?`; a bad one is a failure of the statement alone, and is never sent.
        group parameters: Result<Vec<AttributeValue>, ValueError> as Parameters,
        default consistent_read: bool,
        /// `ReturnValuesOnConditionCheckFailure` is ALL_OLD: a failed condition gives the existing item.
        default return_old_on_condition_failure: bool as AllOld = "ReturnValuesOnConditionCheckFailure",
    }

    BatchExecuteStatementResponse {
        /// One for each statement.
        always responses: Vec<BatchStatementResponse>,
        /// By table, in the order of first use.
        always consumed_capacity: Vec<(TableName, ConsumedCapacity)> as CapacityByTable,
    }

    ExecuteTransactionRequest = "ExecuteTransactionInput" by check {
        /// 1 to 100.
        required statements: Vec<TransactStatement> = "TransactStatements" [LengthMin(1), LengthMax(TRANSACTION_ITEMS_MAX)],
        /// A token: the same statements with the same token are run once within ten minutes.
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
    /// One for each statement; `None` for a write, and if there is no such item.
    pub responses: Vec<Option<Item>>,
    /// By table, in the order of first use.
    pub consumed_capacity: Vec<(TableName, ConsumedCapacity)>,
    /// True if the units are those of reads: the statements read, or their token had been used.
    pub is_read: bool,
}

/// The outcome of one statement.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatementResponse {
    /// Known if the statement could be parsed.
    pub table_name: Option<TableName>,
    /// The item that was read, or that RETURNING returns.
    pub outcome: Result<Option<Item>, Error>,
}

impl ExecuteStatementRequest {
    /// Returns a statement without parameters.
    #[must_use]
    pub fn new(statement: impl Into<String>) -> Self {
        Self::of(statement.into())
    }
}

measured! {
    ExecuteStatementResponse, it => Consumption {
        evaluated: Some(it.evaluated),
        ..Consumption::of_table(&it.consumed_capacity, it.items.len() as u64)
    };
    BatchExecuteStatementResponse, it => {
        let found = it.responses.iter().map(|one| matches!(one.outcome, Ok(Some(_))));
        Consumption::named(&it.consumed_capacity, found)
    };
    ExecuteTransactionResponse, it => Consumption {
        is_read: it.is_read,
        ..Consumption::named(&it.consumed_capacity, it.responses.iter().map(Option::is_some))
    };
}
