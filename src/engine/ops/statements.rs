//! ExecuteStatement, BatchExecuteStatement and ExecuteTransaction, for PartiQL (docs/dynamodb.md
//! 19). A single statement runs as the operation that it stands for. The statements of a batch
//! succeed or fail each on its own, with the writes in one commit. The statements of a transaction
//! run all together, as of one moment or as TransactWriteItems does (docs/dynamodb.md 15).

use super::transactions::{self, ReasonList, TransactionPart};
use crate::engine::{
    base::{TRANSACTION_FACTOR, read_units},
    runtime::{Completion, ValueMemory, prelude::*},
    statements::{
        self, StatementPosition,
        select_statement::{self, PageOptions},
        statement_digest,
        write_statement::{self, PreparedStatement, StatementKind},
    },
};
use crate::expr::partiql::{self, SelectStatement, Statement, WriteEffect, WriteStatement};
use crate::model::{
    api::{
        BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchStatement,
        BatchStatementResponse, ExecuteStatementRequest, ExecuteStatementResponse,
        ExecuteTransactionRequest, ExecuteTransactionResponse,
    },
    error::{
        BatchError, Cancellation, CancellationReason, KeyError, StatementError, TransactionError,
    },
    limits::TRANSACTION_BYTES_MAX,
};

impl Engine {
    /// Runs a SELECT and calls `done` at once, or starts a write and calls it after the commit.
    pub fn execute_statement(
        &self,
        request: ExecuteStatementRequest,
        done: Completion<ExecuteStatementResponse>,
    ) {
        match partiql::read(&request.statement, &request.parameters) {
            Err(error) => done.complete(Err(error)),
            Ok(Statement::Select(statement)) => done.complete(self.select(&statement, &request)),
            Ok(Statement::Write(WriteStatement {
                effect: WriteEffect::Exists { .. },
                ..
            })) => {
                done.complete(Err(StatementError::ExistsAlone.into()));
            }
            Ok(Statement::Write(statement)) => {
                let return_old = request.return_old_on_condition_failure;
                self.shared.submit(
                    move |transaction| write(transaction, &statement, return_old),
                    done,
                );
            }
        }
    }

    fn select(
        &self,
        statement: &SelectStatement,
        request: &ExecuteStatementRequest,
    ) -> Result<ExecuteStatementResponse, Error> {
        let digest = statement_digest(
            [(request.statement.as_str(), request.parameters.as_slice())].into_iter(),
        );
        let position = match &request.next_token {
            Some(token) => statements::decode_token(token, &digest)?,
            None => StatementPosition::default(),
        };
        let view = self.view()?;
        let options = PageOptions {
            consistent: request.consistent_read,
            limit: request.limit,
            position,
        };
        let page = select_statement::page(&view, statement, options)?;
        Ok(ExecuteStatementResponse {
            items: page.items,
            next_token: page
                .next
                .map(|next| statements::encode_token(&digest, &next)),
            last_evaluated_key: page.last_evaluated_key,
            table_name: statement.table.clone(),
            evaluated: page.evaluated,
            consumed_capacity: page.consumed_capacity,
        })
    }
}

fn write(
    transaction: &mut Transaction<'_>,
    statement: &WriteStatement,
    return_old: bool,
) -> Result<ExecuteStatementResponse, Error> {
    let (prepared, (table, key)) = plan_write(transaction, statement, return_old)?;
    let written = prepared.run(transaction, &table, key)?;
    Ok(ExecuteStatementResponse {
        items: written.outcome?.into_iter().collect(),
        next_token: None,
        last_evaluated_key: None,
        table_name: statement.table.clone(),
        evaluated: 0,
        consumed_capacity: written.consumed_capacity,
    })
}

const BATCH_OPERATION: &str = "BatchExecuteStatement";

impl Engine {
    /// Runs reads and calls `done` at once, or starts the writes and calls it after their commit.
    pub fn batch_execute_statement(
        &self,
        request: BatchExecuteStatementRequest,
        done: Completion<BatchExecuteStatementResponse>,
    ) {
        let statements: Vec<Result<Statement, Error>> =
            request.statements.iter().map(parse_one).collect();
        let is_read = |statement: &Statement| matches!(statement, Statement::Select(_));
        let (reads, writes): (Vec<&Statement>, Vec<&Statement>) = statements
            .iter()
            .flatten()
            .partition(|statement| is_read(statement));
        match (reads.is_empty(), writes.is_empty()) {
            (false, false) => done.complete(Err(StatementError::MixedBatch.into())),
            (_, true) => done.complete(self.read_batch(&request, statements)),
            (true, false) => self.shared.submit(
                move |transaction| write_batch(transaction, &request, &statements),
                done,
            ),
        }
    }

    fn read_batch(
        &self,
        request: &BatchExecuteStatementRequest,
        statements: Vec<Result<Statement, Error>>,
    ) -> Result<BatchExecuteStatementResponse, Error> {
        let view = self.view()?;
        let mut planned = Vec::with_capacity(statements.len());
        for (statement, asked) in statements.into_iter().zip(&request.statements) {
            let plan = |statement: &SelectStatement| -> Result<(Arc<TableEntry>, Key), Error> {
                let table = view.active_table(&statement.table)?;
                if let Some(index) = &statement.index {
                    return Err(select_statement::index_error(
                        &table,
                        index,
                        StatementError::ReadKey(BATCH_OPERATION),
                    )
                    .into());
                }
                let key = select_statement::key(
                    &select_statement::named_key(statement, &table, BATCH_OPERATION)?,
                    &table,
                )?;
                Ok((table, key))
            };
            planned.push(match statement {
                Ok(Statement::Select(statement)) => split_failure(plan(&statement))?
                    .map(|plan| ((statement, asked.consistent_read), plan)),
                // Only statements that could not be parsed are left.
                Ok(Statement::Write(_)) => Err(StatementError::MixedBatch.into()),
                Err(error) => Err(error),
            });
        }
        let mut held = ValueMemory::default();
        run_batch(planned, |(statement, consistent), table, key| {
            let units = |bytes| read_units(bytes, consistent);
            let found = split_failure(select_statement::read_item(
                &view, &statement, table, &key, &mut held, units,
            ))?;
            let consumed = found
                .as_ref()
                .ok()
                .map(|found| found.consumed_capacity.clone());
            Ok((found.map(|found| found.item), consumed))
        })
    }
}

fn parse_one(statement: &BatchStatement) -> Result<Statement, Error> {
    let parameters = statement
        .parameters
        .as_ref()
        .map_err(|error| Error::Value(error.clone()))?;
    let read = partiql::read(&statement.statement, parameters)?;
    match read {
        Statement::Write(WriteStatement {
            effect: WriteEffect::Exists { .. },
            ..
        }) => Err(StatementError::ExistsAlone.into()),
        other => Ok(other),
    }
}

/// Splits the outcome: errors of the store fail the whole batch, others only the statement.
fn split_failure<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(error @ Error::Store(_)) => Err(error),
        other => Ok(other),
    }
}

/// A statement of a batch that can be run, and its item.
type PlannedStatement<S> = (S, (Arc<TableEntry>, Key));

/// The outcome of a statement of a batch, and its consumed capacity.
type StatementOutcome = (Result<Option<Item>, Error>, Option<ConsumedCapacity>);

/// Runs the valid statements of a batch, each on a different item.
fn run_batch<S>(
    planned: Vec<Result<PlannedStatement<S>, Error>>,
    mut run: impl FnMut(S, &Arc<TableEntry>, Key) -> Result<StatementOutcome, Error>,
) -> Result<BatchExecuteStatementResponse, Error> {
    if !super::are_distinct(
        planned
            .iter()
            .flatten()
            .map(|(_, (table, key))| (&**table, key)),
    ) {
        return Err(BatchError::DuplicateKeys.into());
    }
    let mut response = BatchExecuteStatementResponse {
        responses: Vec::new(),
        consumed_capacity: Vec::new(),
    };
    for plan in planned {
        // A statement that was refused before it ran names no table.
        let (table_name, outcome) = match plan {
            Err(error) => (None, Err(error)),
            Ok((statement, (table, key))) => {
                let (outcome, consumed) = run(statement, &table, key)?;
                let name = &table.schema.name;
                consumed.iter().for_each(|consumed| {
                    super::add_capacity(&mut response.consumed_capacity, name, consumed)
                });
                (Some(name.clone()), outcome)
            }
        };
        response.responses.push(BatchStatementResponse {
            table_name,
            outcome,
        });
    }
    Ok(response)
}

/// Plans all writes before anything is written, then runs them.
fn write_batch(
    transaction: &mut Transaction<'_>,
    request: &BatchExecuteStatementRequest,
    statements: &[Result<Statement, Error>],
) -> Result<BatchExecuteStatementResponse, Error> {
    let mut planned = Vec::with_capacity(statements.len());
    for (statement, asked) in statements.iter().zip(&request.statements) {
        planned.push(match statement {
            Ok(Statement::Write(statement)) => split_failure(plan_write(
                transaction,
                statement,
                asked.return_old_on_condition_failure,
            ))?,
            Ok(Statement::Select(_)) => Err(StatementError::MixedBatch.into()),
            Err(error) => Err(error.clone()),
        });
    }
    run_batch(planned, |prepared, table, key| {
        let written = prepared.run(transaction, table, key)?;
        Ok((written.outcome, Some(written.consumed_capacity)))
    })
}

fn plan_write(
    transaction: &Transaction<'_>,
    statement: &WriteStatement,
    return_old: bool,
) -> Result<PlannedStatement<PreparedStatement>, Error> {
    let table = transaction.active_table(&statement.table)?;
    let prepared = write_statement::prepare(statement, &table, return_old)?;
    let key = prepared.check(&table)?;
    Ok((prepared, (table, key)))
}

const TRANSACTION_OPERATION: &str = "ExecuteTransaction";

impl Engine {
    /// Runs reads and calls `done` at once, or starts the writes and calls it after their commit.
    pub fn execute_transaction(
        &self,
        request: ExecuteTransactionRequest,
        done: Completion<ExecuteTransactionResponse>,
    ) {
        let statements = match parse_all(&request) {
            Ok(statements) => statements,
            Err(error) => return done.complete(Err(error)),
        };
        match statements {
            TransactionStatements::Reads(statements) => {
                done.complete(self.read_transaction(&statements))
            }
            TransactionStatements::Writes(statements) => {
                let token = request
                    .client_request_token
                    .clone()
                    .map(|token| (token, digest(&request)));
                self.shared.submit(
                    move |transaction| {
                        write_all(transaction, &request, &statements, token.as_ref())
                    },
                    done,
                );
            }
        }
    }

    fn read_transaction(
        &self,
        statements: &[SelectStatement],
    ) -> Result<ExecuteTransactionResponse, Error> {
        let view = self.view()?;
        let mut reasons = ReasonList::new(statements.len());
        let mut planned = Vec::with_capacity(statements.len());
        for (place, statement) in statements.iter().enumerate() {
            let table = view.active_table(&statement.table)?;
            let named = match statement.index {
                Some(_) => Err(StatementError::IndexInTransaction),
                None => select_statement::named_key(statement, &table, TRANSACTION_OPERATION),
            };
            let named =
                named.map_err(|error| StatementError::in_transaction(place, error.into()))?;
            match select_statement::key(&named, &table) {
                Ok(key) => planned.push((statement, (table, key))),
                Err(error) => reasons.reject(place, error)?,
            }
        }
        reasons.finish()?;
        if !super::are_distinct(planned.iter().map(|(_, (table, key))| (&**table, key))) {
            return Err(TransactionError::SeveralOperations.into());
        }
        let mut response = ExecuteTransactionResponse {
            responses: Vec::new(),
            consumed_capacity: Vec::new(),
            is_read: true,
        };
        let (mut left, mut held) = (TRANSACTION_BYTES_MAX, ValueMemory::default());
        for (statement, (table, key)) in &planned {
            let units = |bytes| TRANSACTION_FACTOR * read_units(bytes, true);
            let found =
                select_statement::read_item(&view, statement, table, key, &mut held, units)?;
            left = left
                .checked_sub(found.bytes)
                .ok_or(TransactionError::TooLarge)?;
            super::add_capacity(
                &mut response.consumed_capacity,
                &statement.table,
                &found.consumed_capacity,
            );
            response.responses.push(found.item);
        }
        Ok(response)
    }
}

/// The statements of a transaction, all of one kind.
enum TransactionStatements {
    Reads(Vec<SelectStatement>),
    Writes(Vec<WriteStatement>),
}

fn parse_all(request: &ExecuteTransactionRequest) -> Result<TransactionStatements, Error> {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (place, statement) in request.statements.iter().enumerate() {
        let read = partiql::read(&statement.statement, &statement.parameters);
        match read.map_err(|error| StatementError::in_transaction(place, error))? {
            Statement::Select(statement) => reads.push(statement),
            Statement::Write(statement) => writes.push(statement),
        }
    }
    match (reads.is_empty(), writes.is_empty()) {
        (false, false) => Err(StatementError::MixedTransaction.into()),
        (_, true) => Ok(TransactionStatements::Reads(reads)),
        (true, false) => Ok(TransactionStatements::Writes(writes)),
    }
}

fn digest(request: &ExecuteTransactionRequest) -> Digest {
    statement_digest(
        request
            .statements
            .iter()
            .map(|one| (one.statement.as_str(), one.parameters.as_slice())),
    )
}

fn write_all(
    transaction: &mut Transaction<'_>,
    request: &ExecuteTransactionRequest,
    statements: &[WriteStatement],
    token: Option<&(String, Digest)>,
) -> Result<ExecuteTransactionResponse, Error> {
    let mut reasons = ReasonList::new(statements.len());
    let mut planned = Vec::new();
    for (place, (statement, asked)) in statements.iter().zip(&request.statements).enumerate() {
        let table = transaction.active_table(&statement.table)?;
        if statement.effect.is_returning() {
            return Err(StatementError::in_transaction(
                place,
                StatementError::ReturningInTransaction.into(),
            ));
        }
        match plan_part(statement, &table, asked.return_old_on_condition_failure) {
            Ok(prepared) => planned.push(prepared),
            // Such a statement cannot be part of a transaction.
            Err(error @ Error::Statement(StatementError::ExistsKey)) => {
                return Err(StatementError::in_transaction(place, error));
            }
            Err(error) => reasons.reject(place, error)?,
        }
    }
    reasons.finish()?;
    transactions::check_size(planned.iter().map(PreparedStatement::action))?;
    let parts = planned
        .iter()
        .zip(statements)
        .map(|(prepared, statement)| TransactionPart {
            table: &statement.table,
            action: prepared.action(),
            plan: &prepared.plan,
        });
    let done = transactions::run(transaction, &parts.collect::<Vec<_>>(), token, false);
    let done = done.map_err(|error| to_statement_error(error, &planned))?;
    Ok(ExecuteTransactionResponse {
        responses: Vec::new(),
        consumed_capacity: done.consumed_capacity,
        is_read: done.is_replay,
    })
}

/// Prepares a statement as a part of a transaction.
fn plan_part(
    statement: &WriteStatement,
    table: &TableEntry,
    return_old: bool,
) -> Result<PreparedStatement, Error> {
    let prepared =
        write_statement::prepare(statement, table, return_old).map_err(|error| match error {
            StatementError::NoKey | StatementError::SeveralKeys(_) => {
                Error::Key(KeyError::SchemaMismatch)
            }
            other => other.into(),
        })?;
    prepared.check(table)?;
    Ok(prepared)
}

/// Converts the error to the texts of statements: an INSERT fails because the item exists, not
/// because of a condition.
fn to_statement_error(error: Error, planned: &[PreparedStatement]) -> Error {
    let Error::TransactionCanceled(Cancellation(reasons)) = error else {
        return error;
    };
    let kept =
        reasons
            .into_iter()
            .zip(planned)
            .map(|(reason, prepared)| match (reason, prepared.kind) {
                (CancellationReason::ConditionalCheckFailed { .. }, StatementKind::Insert) => {
                    CancellationReason::DuplicateItem
                }
                (CancellationReason::ValidationError(error), _) => {
                    CancellationReason::ValidationError(Box::new(
                        write_statement::to_partiql_error(*error),
                    ))
                }
                (other, _) => other,
            });
    Cancellation(kept.collect()).into()
}
