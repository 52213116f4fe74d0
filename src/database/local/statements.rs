//! PartiQL: the engine has it. Each statement is timed here; which tables it is about is read again from those that failed.

use super::LocalDatabase;
use crate::database::{Done, Statements};
use crate::expr::partiql;
use crate::model::TableName;
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, ExecuteStatementRequest, ExecuteStatementResponse,
    ExecuteTransactionRequest, ExecuteTransactionResponse,
};
use crate::model::layout::MeteredOperation;

impl Statements for LocalDatabase {
    fn execute_statement_then(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) {
        let timer = self.engine.timer(MeteredOperation::ExecuteStatement);
        let statement = request.statement.clone();
        let timed: Done<ExecuteStatementResponse> = Box::new(move |outcome| {
            let table = match &outcome {
                Ok(response) => Some(response.table_name.clone()),
                Err(_) => partiql::table_of(&statement),
            };
            done(timer.end(&table, outcome, |response| u64::try_from(response.items.len()).ok()));
        });
        self.engine.execute_statement_then(request, timed);
    }

    fn batch_execute_statement_then(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) {
        let timer = self.engine.timer(MeteredOperation::BatchExecuteStatement);
        let tables = tables(request.statements.iter().map(|one| one.statement.as_str()));
        self.engine.batch_execute_statement_then(request, timer.then(tables, done));
    }

    fn execute_transaction_then(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) {
        let timer = self.engine.timer(MeteredOperation::ExecuteTransaction);
        let tables = tables(request.statements.iter().map(|one| one.statement.as_str()));
        self.engine.execute_transaction_then(request, timer.then(tables, done));
    }
}

/// Each table once.
fn tables<'s>(statements: impl Iterator<Item = &'s str>) -> Vec<TableName> {
    let mut tables = Vec::new();
    for table in statements.filter_map(partiql::table_of) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}
