//! PartiQL passes by both caches, writes too: they show when what the caches hold is over.

use super::CachedDatabase;
use crate::database::{Done, Statements};
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, ExecuteStatementRequest, ExecuteStatementResponse,
    ExecuteTransactionRequest, ExecuteTransactionResponse,
};

impl Statements for CachedDatabase {
    fn execute_statement_then(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) {
        self.inner.execute_statement_then(request, done);
    }

    fn batch_execute_statement_then(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) {
        self.inner.batch_execute_statement_then(request, done);
    }

    fn execute_transaction_then(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) {
        self.inner.execute_transaction_then(request, done);
    }
}
