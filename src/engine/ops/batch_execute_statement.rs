//! BatchExecuteStatement (docs/dynamodb.md 19.1): each statement succeeds or fails by itself; writes share one commit.

use std::sync::Arc;

use crate::engine::base::capacity::read_units;
use crate::engine::catalog::TableEntry;
use crate::engine::runtime::{Done, Engine, HeldValues, Transaction};
use crate::engine::statements::select_statement;
use crate::engine::statements::write_statement::{self, Prepared};
use crate::expr::partiql::{self, Select, Statement, Write, WriteEffect};
use crate::model::api::{BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchStatement, BatchStatementResponse};
use crate::model::error::{BatchError, StatementError};
use crate::model::{Error, Key};

const OPERATION: &str = "BatchExecuteStatement";

impl Engine {
    /// Reads and tells `done` at once, or starts the writes and tells after their commit.
    pub fn batch_execute_statement(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) {
        let statements: Vec<Result<Statement, Error>> = request.statements.iter().map(read).collect();
        let is_read = |statement: &Statement| matches!(statement, Statement::Select(_));
        let (reads, writes): (Vec<&Statement>, Vec<&Statement>) =
            statements.iter().flatten().partition(|statement| is_read(statement));
        match (reads.is_empty(), writes.is_empty()) {
            (false, false) => done(Err(StatementError::MixedBatch.into())),
            (_, true) => done(self.read_batch(&request, statements)),
            (true, false) => self.shared.submit(move |transaction| write_batch(transaction, &request, &statements), done),
        }
    }

    fn read_batch(
        &self,
        request: &BatchExecuteStatementRequest,
        statements: Vec<Result<Statement, Error>>,
    ) -> Result<BatchExecuteStatementResponse, Error> {
        let view = self.view()?;
        let mut planned = Vec::with_capacity(statements.len());
        for statement in statements {
            let plan = |statement: &Select| -> Result<(Arc<TableEntry>, Key), Error> {
                let table = view.active_table(&statement.table)?;
                if let Some(index) = &statement.index {
                    return Err(select_statement::index_refused(&table, index, StatementError::ReadKey(OPERATION)).into());
                }
                let key = select_statement::key(&select_statement::named_key(statement, &table, OPERATION)?, &table)?;
                Ok((table, key))
            };
            planned.push(match statement {
                Ok(Statement::Select(statement)) => fails_alone(plan(&statement))?.map(|plan| (statement, plan)),
                // Only statements that could not be read are left.
                Ok(Statement::Write(_)) => Err(StatementError::MixedBatch.into()),
                Err(error) => Err(error),
            });
        }
        refuse_duplicates(planned.iter().flatten().map(|(_, plan)| plan))?;
        let mut response = BatchExecuteStatementResponse { responses: Vec::new(), consumed_capacity: Vec::new() };
        let mut held = HeldValues::default();
        for (plan, asked) in planned.into_iter().zip(&request.statements) {
            let (table_name, outcome) = match plan {
                Err(error) => (None, Err(error)),
                Ok((statement, (table, key))) => {
                    let units = |bytes| read_units(bytes, asked.consistent_read);
                    let found = select_statement::one(&view, &statement, (&table, &key), &mut held, units);
                    let outcome = fails_alone(found)?.map(|found| {
                        super::add_capacity(&mut response.consumed_capacity, &statement.table, &found.consumed_capacity);
                        found.item
                    });
                    (Some(statement.table), outcome)
                }
            };
            response.responses.push(BatchStatementResponse { table_name, outcome });
        }
        Ok(response)
    }
}

fn read(statement: &BatchStatement) -> Result<Statement, Error> {
    let parameters = statement.parameters.as_ref().map_err(|error| Error::Value(error.clone()))?;
    let read = partiql::read(&statement.statement, parameters)?;
    match read {
        Statement::Write(Write { effect: WriteEffect::Exists { .. }, .. }) => Err(StatementError::ExistsAlone.into()),
        other => Ok(other),
    }
}

/// What fails one statement; the store's failures fail them all.
fn fails_alone<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error @ Error::Store(_)) => Err(error),
        other => Ok(other),
    }
}

fn refuse_duplicates<'p>(planned: impl Iterator<Item = &'p (Arc<TableEntry>, Key)>) -> Result<(), Error> {
    let are_different = super::are_different(planned.map(|(table, key)| (&**table, key)));
    if are_different { Ok(()) } else { Err(BatchError::DuplicateKeys.into()) }
}

/// Everything is planned before anything is written.
fn write_batch(
    transaction: &mut Transaction<'_>,
    request: &BatchExecuteStatementRequest,
    statements: &[Result<Statement, Error>],
) -> Result<BatchExecuteStatementResponse, Error> {
    let mut planned = Vec::with_capacity(statements.len());
    for (statement, asked) in statements.iter().zip(&request.statements) {
        planned.push(match statement {
            Ok(Statement::Write(statement)) => {
                fails_alone(plan_write(transaction, statement, asked.return_old_on_condition_failure))?
            }
            Ok(Statement::Select(_)) => Err(StatementError::MixedBatch.into()),
            Err(error) => Err(error.clone()),
        });
    }
    refuse_duplicates(planned.iter().flatten().map(|(_, plan)| plan))?;
    let mut response = BatchExecuteStatementResponse { responses: Vec::new(), consumed_capacity: Vec::new() };
    for plan in planned {
        // A statement that was rejected before it ran names no table.
        let (table_name, outcome) = match plan {
            Err(error) => (None, Err(error)),
            Ok((prepared, (table, key))) => {
                let written = prepared.run(transaction, &table, key)?;
                super::add_capacity(&mut response.consumed_capacity, &table.schema.name, &written.consumed_capacity);
                (Some(table.schema.name.clone()), written.outcome)
            }
        };
        response.responses.push(BatchStatementResponse { table_name, outcome });
    }
    Ok(response)
}

type PlannedWrite = (Prepared, (Arc<TableEntry>, Key));

fn plan_write(transaction: &Transaction<'_>, statement: &Write, return_old: bool) -> Result<PlannedWrite, Error> {
    let table = transaction.active_table(&statement.table)?;
    let prepared = write_statement::prepare(statement, &table, return_old)?;
    let key = prepared.check(&table)?;
    Ok((prepared, (table, key)))
}
