//! The operations of PartiQL. A statement says by itself whether it reads or writes, so all of them tell of their outcome later: reads
//! before the call returns, writes after their commit.

use super::{Done, wait};
use crate::model::Error;
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, ExecuteStatementRequest, ExecuteStatementResponse,
    ExecuteTransactionRequest, ExecuteTransactionResponse,
};

/// PartiQL.
pub trait Statements: Send + Sync {
    fn execute_statement_then(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>);
    fn batch_execute_statement_then(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>);
    fn execute_transaction_then(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>);

    fn execute_statement(&self, request: ExecuteStatementRequest) -> Result<ExecuteStatementResponse, Error> {
        wait(|done| self.execute_statement_then(request, done))
    }

    fn batch_execute_statement(&self, request: BatchExecuteStatementRequest) -> Result<BatchExecuteStatementResponse, Error> {
        wait(|done| self.batch_execute_statement_then(request, done))
    }

    fn execute_transaction(&self, request: ExecuteTransactionRequest) -> Result<ExecuteTransactionResponse, Error> {
        wait(|done| self.execute_transaction_then(request, done))
    }
}
