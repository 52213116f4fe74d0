//! PartiQL: the engine has it.

use super::LocalDatabase;
use crate::database::{Done, Statements};
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, ExecuteStatementRequest, ExecuteStatementResponse,
    ExecuteTransactionRequest, ExecuteTransactionResponse,
};

impl Statements for LocalDatabase {
    fn execute_statement_then(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) {
        self.engine.execute_statement_then(request, done);
    }

    fn batch_execute_statement_then(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) {
        self.engine.batch_execute_statement_then(request, done);
    }

    fn execute_transaction_then(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) {
        self.engine.execute_transaction_then(request, done);
    }
}
