//! Statements of PartiQL (docs/dynamodb.md 19): one, read or written as the operation that it stands for; several, each of which succeeds or
//! fails by itself, writes sharing one commit; or all together, as of one moment or as TransactWriteItems is (docs/dynamodb.md 15).

use super::transactions::{self, Part, Reasons};
use crate::engine::{
    base::{TRANSACTION_FACTOR, read_units},
    runtime::{Done, HeldValues, prelude::*},
    statements::{
        self, Position,
        select_statement::{self, PageOptions},
        statement_digest,
        write_statement::{self, Kind, Prepared},
    },
};
use crate::expr::partiql::{self, Select, Statement, Write, WriteEffect};
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
    /// Runs a SELECT and tells `done` of it at once, or starts a write and tells after the commit.
    pub fn execute_statement(
        &self,
        request: ExecuteStatementRequest,
        done: Done<ExecuteStatementResponse>,
    ) {
        match partiql::read(&request.statement, &request.parameters) {
            Err(error) => done.tell(Err(error)),
            Ok(Statement::Select(statement)) => done.tell(self.select(&statement, &request)),
            Ok(Statement::Write(Write {
                effect: WriteEffect::Exists { .. },
                ..
            })) => {
                done.tell(Err(StatementError::ExistsAlone.into()));
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
        statement: &Select,
        request: &ExecuteStatementRequest,
    ) -> Result<ExecuteStatementResponse, Error> {
        let digest = statement_digest(
            [(request.statement.as_str(), request.parameters.as_slice())].into_iter(),
        );
        let position = match &request.next_token {
            Some(token) => statements::decode_token(token, &digest)?,
            None => Position::default(),
        };
        let view = self.view()?;
        let asked = PageOptions {
            consistent: request.consistent_read,
            limit: request.limit,
            position,
        };
        let page = select_statement::page(&view, statement, asked)?;
        Ok(ExecuteStatementResponse {
            items: page.items,
            next_token: page
                .next
                .map(|next| statements::encode_token(&digest, &next)),
            last_evaluated_key: page.last_evaluated_key,
            table_name: statement.table.clone(),
            consumed_capacity: page.consumed_capacity,
        })
    }
}

fn write(
    transaction: &mut Transaction<'_>,
    statement: &Write,
    return_old: bool,
) -> Result<ExecuteStatementResponse, Error> {
    let (prepared, (table, key)) = plan_write(transaction, statement, return_old)?;
    let written = prepared.run(transaction, &table, key)?;
    Ok(ExecuteStatementResponse {
        items: written.outcome?.into_iter().collect(),
        next_token: None,
        last_evaluated_key: None,
        table_name: statement.table.clone(),
        consumed_capacity: written.consumed_capacity,
    })
}

const BATCH: &str = "BatchExecuteStatement";

impl Engine {
    /// Reads and tells `done` at once, or starts the writes and tells after their commit.
    pub fn batch_execute_statement(
        &self,
        request: BatchExecuteStatementRequest,
        done: Done<BatchExecuteStatementResponse>,
    ) {
        let statements: Vec<Result<Statement, Error>> =
            request.statements.iter().map(read_alone).collect();
        let is_read = |statement: &Statement| matches!(statement, Statement::Select(_));
        let (reads, writes): (Vec<&Statement>, Vec<&Statement>) = statements
            .iter()
            .flatten()
            .partition(|statement| is_read(statement));
        match (reads.is_empty(), writes.is_empty()) {
            (false, false) => done.tell(Err(StatementError::MixedBatch.into())),
            (_, true) => done.tell(self.read_batch(&request, statements)),
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
            let plan = |statement: &Select| -> Result<(Arc<TableEntry>, Key), Error> {
                let table = view.active_table(&statement.table)?;
                if let Some(index) = &statement.index {
                    return Err(select_statement::index_refused(
                        &table,
                        index,
                        StatementError::ReadKey(BATCH),
                    )
                    .into());
                }
                let key = select_statement::key(
                    &select_statement::named_key(statement, &table, BATCH)?,
                    &table,
                )?;
                Ok((table, key))
            };
            planned.push(match statement {
                Ok(Statement::Select(statement)) => fails_alone(plan(&statement))?
                    .map(|plan| ((statement, asked.consistent_read), plan)),
                // Only statements that could not be read are left.
                Ok(Statement::Write(_)) => Err(StatementError::MixedBatch.into()),
                Err(error) => Err(error),
            });
        }
        let mut held = HeldValues::default();
        run_batch(planned, |(statement, consistent), table, key| {
            let units = |bytes| read_units(bytes, consistent);
            let found = fails_alone(select_statement::one(
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

fn read_alone(statement: &BatchStatement) -> Result<Statement, Error> {
    let parameters = statement
        .parameters
        .as_ref()
        .map_err(|error| Error::Value(error.clone()))?;
    let read = partiql::read(&statement.statement, parameters)?;
    match read {
        Statement::Write(Write {
            effect: WriteEffect::Exists { .. },
            ..
        }) => Err(StatementError::ExistsAlone.into()),
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

/// A statement of a batch that can be run, and the item that it is about.
type Planned<S> = (S, (Arc<TableEntry>, Key));

/// What a statement of a batch came to, and what it consumed.
type Ran = (Result<Option<Item>, Error>, Option<ConsumedCapacity>);

/// Runs those statements of a batch that can be, each about another item.
fn run_batch<S>(
    planned: Vec<Result<Planned<S>, Error>>,
    mut run: impl FnMut(S, &Arc<TableEntry>, Key) -> Result<Ran, Error>,
) -> Result<BatchExecuteStatementResponse, Error> {
    if !super::are_different(
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
        // A statement that was rejected before it ran names no table.
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

/// Everything is planned before anything is written.
fn write_batch(
    transaction: &mut Transaction<'_>,
    request: &BatchExecuteStatementRequest,
    statements: &[Result<Statement, Error>],
) -> Result<BatchExecuteStatementResponse, Error> {
    let mut planned = Vec::with_capacity(statements.len());
    for (statement, asked) in statements.iter().zip(&request.statements) {
        planned.push(match statement {
            Ok(Statement::Write(statement)) => fails_alone(plan_write(
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
    statement: &Write,
    return_old: bool,
) -> Result<Planned<Prepared>, Error> {
    let table = transaction.active_table(&statement.table)?;
    let prepared = write_statement::prepare(statement, &table, return_old)?;
    let key = prepared.check(&table)?;
    Ok((prepared, (table, key)))
}

const TRANSACTION: &str = "ExecuteTransaction";

impl Engine {
    /// Reads and tells `done` at once, or starts the writes and tells after their commit.
    pub fn execute_transaction(
        &self,
        request: ExecuteTransactionRequest,
        done: Done<ExecuteTransactionResponse>,
    ) {
        let statements = match read_all(&request) {
            Ok(statements) => statements,
            Err(error) => return done.tell(Err(error)),
        };
        match statements {
            Statements::Reads(statements) => done.tell(self.read_transaction(&statements)),
            Statements::Writes(statements) => {
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

    fn read_transaction(&self, statements: &[Select]) -> Result<ExecuteTransactionResponse, Error> {
        let view = self.view()?;
        let mut reasons = Reasons::of(statements.len());
        let mut planned = Vec::with_capacity(statements.len());
        for (place, statement) in statements.iter().enumerate() {
            let table = view.active_table(&statement.table)?;
            let named = match statement.index {
                Some(_) => Err(StatementError::IndexInTransaction),
                None => select_statement::named_key(statement, &table, TRANSACTION),
            };
            let named =
                named.map_err(|error| StatementError::in_transaction(place, error.into()))?;
            match select_statement::key(&named, &table) {
                Ok(key) => planned.push((statement, (table, key))),
                Err(error) => reasons.invalid(place, error)?,
            }
        }
        reasons.finish()?;
        if !super::are_different(planned.iter().map(|(_, (table, key))| (&**table, key))) {
            return Err(TransactionError::SeveralOperations.into());
        }
        let mut response = ExecuteTransactionResponse {
            responses: Vec::new(),
            consumed_capacity: Vec::new(),
            is_read: true,
        };
        let (mut left, mut held) = (TRANSACTION_BYTES_MAX, HeldValues::default());
        for (statement, (table, key)) in &planned {
            let units = |bytes| TRANSACTION_FACTOR * read_units(bytes, true);
            let found = select_statement::one(&view, statement, table, key, &mut held, units)?;
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

/// All of one kind.
enum Statements {
    Reads(Vec<Select>),
    Writes(Vec<Write>),
}

fn read_all(request: &ExecuteTransactionRequest) -> Result<Statements, Error> {
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
        (_, true) => Ok(Statements::Reads(reads)),
        (true, false) => Ok(Statements::Writes(writes)),
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
    statements: &[Write],
    token: Option<&(String, Digest)>,
) -> Result<ExecuteTransactionResponse, Error> {
    let mut reasons = Reasons::of(statements.len());
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
            // That is no statement of a transaction at all.
            Err(error @ Error::Statement(StatementError::ExistsKey)) => {
                return Err(StatementError::in_transaction(place, error));
            }
            Err(error) => reasons.invalid(place, error)?,
        }
    }
    reasons.finish()?;
    transactions::check_size(planned.iter().map(Prepared::action))?;
    let parts = planned
        .iter()
        .zip(statements)
        .map(|(prepared, statement)| Part {
            table: &statement.table,
            action: prepared.action(),
            plan: &prepared.plan,
        });
    let done = transactions::run(transaction, &parts.collect::<Vec<_>>(), token, false);
    let done = done.map_err(|error| in_words_of_statements(error, &planned))?;
    Ok(ExecuteTransactionResponse {
        responses: Vec::new(),
        consumed_capacity: done.consumed_capacity,
        is_read: done.is_replay,
    })
}

/// A statement that can be a part of a transaction.
fn plan_part(statement: &Write, table: &TableEntry, return_old: bool) -> Result<Prepared, Error> {
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

/// An INSERT fails because there is such an item, not because of a condition.
fn in_words_of_statements(error: Error, planned: &[Prepared]) -> Error {
    let Error::TransactionCanceled(Cancellation(reasons)) = error else {
        return error;
    };
    let told =
        reasons
            .into_iter()
            .zip(planned)
            .map(|(reason, prepared)| match (reason, prepared.kind) {
                (CancellationReason::ConditionalCheckFailed { .. }, Kind::Insert) => {
                    CancellationReason::DuplicateItem
                }
                (CancellationReason::ValidationError(error), _) => {
                    CancellationReason::ValidationError(Box::new(write_statement::without_words(
                        *error,
                    )))
                }
                (other, _) => other,
            });
    Cancellation(told.collect()).into()
}
