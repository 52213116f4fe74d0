//! ExecuteStatement: planned, then read or written as the operation that it stands for (docs/dynamodb.md 19).

use crate::engine::runtime::{Done, Engine, Transaction};
use crate::engine::statements::next_token::{self, Position, statement_digest};
use crate::engine::statements::select_statement::{self, PageOptions};
use crate::engine::statements::write_statement;
use crate::expr::partiql::{self, Select, Statement, Write, WriteEffect};
use crate::model::Error;
use crate::model::api::{ExecuteStatementRequest, ExecuteStatementResponse};
use crate::model::error::StatementError;

impl Engine {
    /// Runs a SELECT and tells `done` of it at once, or starts a write and tells after the commit.
    pub fn execute_statement(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) {
        match partiql::read(&request.statement, &request.parameters) {
            Err(error) => done(Err(error)),
            Ok(Statement::Select(statement)) => done(self.select(&statement, &request)),
            Ok(Statement::Write(Write { effect: WriteEffect::Exists { .. }, .. })) => {
                done(Err(StatementError::ExistsAlone.into()));
            }
            Ok(Statement::Write(statement)) => {
                let return_old = request.return_old_on_condition_failure;
                self.shared.submit(move |transaction| write(transaction, &statement, return_old), done);
            }
        }
    }

    fn select(&self, statement: &Select, request: &ExecuteStatementRequest) -> Result<ExecuteStatementResponse, Error> {
        let digest = statement_digest([(request.statement.as_str(), request.parameters.as_slice())].into_iter());
        let position = match &request.next_token {
            Some(token) => next_token::decode(token, &digest)?,
            None => Position::default(),
        };
        let view = self.view()?;
        let asked = PageOptions { consistent: request.consistent_read, limit: request.limit, position };
        let page = select_statement::page(&view, statement, asked)?;
        Ok(ExecuteStatementResponse {
            items: page.items,
            next_token: page.next.map(|next| next_token::encode(&digest, &next)),
            last_evaluated_key: page.last_evaluated_key,
            table_name: statement.table.clone(),
            consumed_capacity: page.consumed_capacity,
        })
    }
}

fn write(transaction: &mut Transaction<'_>, statement: &Write, return_old: bool) -> Result<ExecuteStatementResponse, Error> {
    let table = transaction.active_table(&statement.table)?;
    let prepared = write_statement::prepare(statement, &table, return_old)?;
    let key = prepared.check(&table)?;
    let written = prepared.run(transaction, &table, key)?;
    Ok(ExecuteStatementResponse {
        items: written.outcome?.into_iter().collect(),
        next_token: None,
        last_evaluated_key: None,
        table_name: statement.table.clone(),
        consumed_capacity: written.consumed_capacity,
    })
}
