//! ExecuteTransaction (docs/dynamodb.md 19.1, 15): all statements read one moment, or all are written together as TransactWriteItems is.

use super::reasons::Reasons;
use super::transact_write_items::{self, Actions, Checked};
use crate::codec::digest::Digest;
use crate::engine::base::capacity::{TRANSACTION_FACTOR, read_units};
use crate::engine::catalog::TableEntry;
use crate::engine::runtime::{Done, Engine, HeldValues, Transaction};
use crate::engine::statements::next_token::statement_digest;
use crate::engine::statements::select_statement;
use crate::engine::statements::write_statement::{self, Effect};
use crate::engine::write::guard::Guard;
use crate::expr::Condition;
use crate::expr::partiql::{self, Select, Statement, Write};
use crate::model::api::{ExecuteTransactionRequest, ExecuteTransactionResponse, TransactAction, TransactWrite};
use crate::model::error::{Cancellation, CancellationReason, KeyError, StatementError, TransactionError};
use crate::model::limits::TRANSACTION_BYTES_MAX;
use crate::model::{DocumentPath, Error};

const OPERATION: &str = "ExecuteTransaction";

impl Engine {
    /// Reads and tells `done` at once, or starts the writes and tells after their commit.
    pub fn execute_transaction(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) {
        let statements = match read(&request) {
            Ok(statements) => statements,
            Err(error) => return done(Err(error)),
        };
        match statements {
            Statements::Reads(statements) => done(self.read_transaction(&statements)),
            Statements::Writes(statements) => {
                let token = request.client_request_token.clone().map(|token| (token, digest(&request)));
                self.shared.submit(move |transaction| write_all(transaction, &request, &statements, token.as_ref()), done);
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
                None => select_statement::named_key(statement, &table, OPERATION),
            };
            let named = named.map_err(|error| StatementError::in_transaction(place, error.into()))?;
            match select_statement::key(&named, &table) {
                Ok(key) => planned.push((statement, (table, key))),
                Err(error) => reasons.invalid(place, error)?,
            }
        }
        reasons.finish()?;
        if !super::are_different(planned.iter().map(|(_, (table, key))| (&**table, key))) {
            return Err(TransactionError::SeveralOperations.into());
        }
        let mut response = ExecuteTransactionResponse { responses: Vec::new(), consumed_capacity: Vec::new(), is_read: true };
        let (mut left, mut held) = (TRANSACTION_BYTES_MAX, HeldValues::default());
        for (statement, (table, key)) in &planned {
            let units = |bytes| TRANSACTION_FACTOR * read_units(bytes, true);
            let found = select_statement::one(&view, statement, (table, key), &mut held, units)?;
            left = left.checked_sub(found.bytes).ok_or(TransactionError::TooLarge)?;
            super::add_capacity(&mut response.consumed_capacity, &statement.table, &found.consumed_capacity);
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

fn read(request: &ExecuteTransactionRequest) -> Result<Statements, Error> {
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
    statement_digest(request.statements.iter().map(|one| (one.statement.as_str(), one.parameters.as_slice())))
}

fn write_all(
    transaction: &mut Transaction<'_>,
    request: &ExecuteTransactionRequest,
    statements: &[Write],
    token: Option<&(String, Digest)>,
) -> Result<ExecuteTransactionResponse, Error> {
    let mut reasons = Reasons::of(statements.len());
    let (mut actions, mut checked) = (Vec::new(), Vec::new());
    for (place, (statement, asked)) in statements.iter().zip(&request.statements).enumerate() {
        let table = transaction.active_table(&statement.table)?;
        if statement.effect.is_returning() {
            return Err(StatementError::in_transaction(place, StatementError::ReturningInTransaction.into()));
        }
        match action(statement, &table, asked.return_old_on_condition_failure) {
            Ok((action, check)) => {
                actions.push(action);
                checked.push(check);
            }
            // That is no statement of a transaction at all.
            Err(error @ Error::Statement(StatementError::ExistsKey)) => return Err(StatementError::in_transaction(place, error)),
            Err(error) => reasons.invalid(place, error)?,
        }
    }
    reasons.finish()?;
    check_size(&actions)?;
    let request = Actions { actions: &actions, checked: &checked, token, with_metrics: false };
    let done = transact_write_items::run(transaction, &request).map_err(|error| in_words_of_statements(error, &actions))?;
    Ok(ExecuteTransactionResponse { responses: Vec::new(), consumed_capacity: done.consumed_capacity, is_read: done.is_replay })
}

/// A statement as an action of TransactWriteItems.
fn action(statement: &Write, table: &TableEntry, return_old: bool) -> Result<(TransactWrite, Checked), Error> {
    let prepared = write_statement::prepare(statement, table, return_old).map_err(|error| match error {
        StatementError::NoKey | StatementError::SeveralKeys(_) => Error::Key(KeyError::SchemaMismatch),
        other => other.into(),
    })?;
    prepared.check(table)?;
    let key = prepared.named;
    let (action, checked) = match prepared.effect {
        Effect::Insert(item) => {
            let absent = Condition::AttributeNotExists(DocumentPath::top_level(table.schema.key.partition.name.clone()));
            (TransactAction::Put { item }, Checked::Guard(Guard::of_condition(Some(absent), return_old)))
        }
        // The plan has the update.
        Effect::Update(plan, _) => (TransactAction::Update { key, update_expression: String::new() }, Checked::Update(plan)),
        Effect::Delete(guard, _) => (TransactAction::Delete { key }, Checked::Guard(guard)),
        Effect::Exists(guard) => (TransactAction::ConditionCheck { key }, Checked::Guard(guard)),
    };
    Ok((TransactWrite::new(statement.table.clone(), action), checked))
}

fn check_size(actions: &[TransactWrite]) -> Result<(), Error> {
    let bytes = actions.iter().map(|write| match &write.action {
        TransactAction::Put { item } => item.size(),
        TransactAction::ConditionCheck { key } | TransactAction::Delete { key } | TransactAction::Update { key, .. } => key.size(),
    });
    if bytes.sum::<usize>() > TRANSACTION_BYTES_MAX { Err(TransactionError::TooLarge.into()) } else { Ok(()) }
}

/// An INSERT fails because there is such an item, not because of a condition.
fn in_words_of_statements(error: Error, actions: &[TransactWrite]) -> Error {
    let Error::TransactionCanceled(Cancellation(reasons)) = error else { return error };
    let told = reasons.into_iter().zip(actions).map(|(reason, write)| match (reason, &write.action) {
        (CancellationReason::ConditionalCheckFailed { .. }, TransactAction::Put { .. }) => CancellationReason::DuplicateItem,
        (CancellationReason::ValidationError(error), _) => {
            CancellationReason::ValidationError(Box::new(write_statement::without_words(*error)))
        }
        (other, _) => other,
    });
    Cancellation(told.collect()).into()
}
