//! The operations: handed on, each write under the condition that was asked for and with what it leaves behind.

use std::sync::Arc;

use super::RemoteDatabase;
use super::writes::Effect;
use crate::database::layout::Layout;
use crate::database::{BatchRows, Database, Done, Rows, Verbatim};
use crate::expr::partiql;
use crate::model::api::operation::Way;
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, BatchWriteItemRequest, BatchWriteItemResponse, Call, CreateTableRequest,
    CreateTableResponse, DeleteItemRequest, DeleteItemResponse, DeleteTableRequest, DeleteTableResponse, Page, PutItemRequest,
    PutItemResponse, QueryRequest, ReturnValues, ScanRequest, TableStatus, TransactAction, TransactWrite,
    TransactWriteItemsRequest, TransactWriteItemsResponse, UpdateItemRequest, UpdateItemResponse, UpdateReturnValues,
    UpdateTableRequest, UpdateTableResponse, WriteRequest,
};
use crate::model::error::{Cancellation, CancellationReason, TransactionError};
use crate::model::limits::TRANSACTION_ITEMS_MAX;
use crate::model::{Error, TableName};

impl Database for RemoteDatabase {
    fn start(&self, call: Call) {
        match call {
            Call::PutItem(request, done) => self.put_item(request, done),
            Call::DeleteItem(request, done) => self.delete_item(request, done),
            Call::UpdateItem(request, done) => self.update_item(request, done),
            Call::BatchWriteItem(request, done) => self.batch_write_item(request, done),
            Call::TransactWriteItems(request, done) => self.transact_write_items(request, done),
            Call::CreateTable(request, done) => done(self.create_table(request)),
            Call::UpdateTable(request, done) => done(self.update_table(request)),
            Call::DeleteTable(request, done) => done(self.delete_table(request)),
            Call::DescribeTimeToLive(request, done) => done(self.tables.time_to_live(&*self.service, request)),
            call => self.hand_on(call),
        }
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        self.service.batch_get_rows(request, rows)
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.service.query_rows(request, rows)
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.service.scan_rows(request, rows)
    }

    fn verbatim(&self) -> Option<&dyn Verbatim> {
        self.service.verbatim().map(|_| self as &dyn Verbatim)
    }

    fn layout(&self) -> Option<&dyn Layout> {
        self.layout.as_deref()
    }
}

impl RemoteDatabase {
    /// The definition of a table was changed here.
    pub(super) fn changed<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.tables.changed();
        self.commits.add();
        outcome
    }

    /// Before statements that may write: of their tables anything may be another then, and nothing if they only read.
    pub(super) fn statements<'s>(&self, statements: impl Iterator<Item = &'s str>) -> Result<Vec<TableName>, Error> {
        let writing = |text: &&str| !text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"));
        let writing: Vec<&str> = statements.filter(writing).collect();
        if !writing.is_empty() {
            self.may_write()?;
        }
        Ok(writing.into_iter().filter_map(partiql::table_of).collect())
    }

    /// What is held is told of a call's end, unless it only reads.
    fn hand_on(&self, call: Call) {
        let of_statements = match &call {
            Call::ExecuteStatement(request, _) => Some(self.statements(std::iter::once(&*request.statement))),
            Call::BatchExecuteStatement(request, _) => Some(self.statements(request.statements.iter().map(|one| &*one.statement))),
            Call::ExecuteTransaction(request, _) => Some(self.statements(request.statements.iter().map(|one| &*one.statement))),
            _ if call.way() == Way::Reads => return self.service.start(call),
            _ => None,
        };
        let is_of_statements = of_statements.is_some();
        let written = match of_statements.unwrap_or_else(|| self.may_write().map(|()| Vec::new())) {
            Ok(tables) => tables,
            Err(error) => return call.refuse(error),
        };
        let (tables, pages, commits) = (Arc::clone(&self.tables), Arc::clone(&self.pages), Arc::clone(&self.commits));
        self.service.start(call.heard(move |_| {
            written.iter().for_each(|table| pages.forget_table(table));
            if !is_of_statements {
                tables.changed();
            }
            commits.add();
        }));
    }

    /// The actions of a transaction under their conditions, with what each does.
    fn guard_all(&self, writes: &mut [TransactWrite]) -> Result<Vec<super::writes::Target>, Error> {
        let (mut targets, mut reasons, mut has_failed) = (Vec::new(), Vec::new(), false);
        for write in writes {
            let table = self.table_of(&write.table_name)?;
            let (item, effect) = match &write.action {
                TransactAction::ConditionCheck { key } => (key.clone(), None),
                TransactAction::Put { item } => (item.clone(), Some(Effect::Put(item.clone()))),
                TransactAction::Delete { key } => (key.clone(), Some(Effect::Delete)),
                TransactAction::Update { key, .. } => (key.clone(), Some(Effect::Update)),
            };
            let (precondition, old) = (write.precondition.take(), write.return_old_on_condition_failure);
            let guarded = self.guard((&table, &item), precondition, &mut write.condition, &mut write.placeholders, old);
            reasons.push(match guarded {
                Ok(()) => CancellationReason::None,
                Err(Error::ConditionalCheckFailed { item }) => {
                    has_failed = true;
                    CancellationReason::ConditionalCheckFailed { item }
                }
                Err(error) => return Err(error),
            });
            targets.extend(effect.and_then(|effect| Self::target(&table, &item, effect)));
        }
        if has_failed { Err(Cancellation(reasons).into()) } else { Ok(targets) }
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        self.may_write()?;
        let table = request.table_name.clone();
        self.pages.forget_table(&table);
        let created = self.service.create_table(request);
        if created.is_ok() {
            self.settle(&table, TableStatus::Creating);
        }
        self.changed(created)
    }

    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        self.may_write()?;
        let table = request.table_name.clone();
        let updated = self.service.update_table(request);
        // The next change is refused before.
        if updated.is_ok() {
            self.settle(&table, TableStatus::Updating);
        }
        self.changed(updated)
    }

    fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        self.may_write()?;
        let table = request.table_name.clone();
        let deleted = self.service.delete_table(request);
        self.pages.forget_table(&table);
        if deleted.is_ok() {
            self.settle(&table, TableStatus::Deleting);
            self.beside.forget_table(&table);
        }
        self.changed(deleted)
    }

    fn put_item(&self, mut request: PutItemRequest, done: Done<PutItemResponse>) {
        let prepare = || {
            self.may_write()?;
            let table = self.table_of(&request.table_name)?;
            let (precondition, old) = (request.precondition.take(), request.return_old_on_condition_failure);
            self.guard((&table, &request.item), precondition, &mut request.condition, &mut request.placeholders, old)?;
            Ok((Self::target(&table, &request.item, Effect::Put(request.item.clone())), request))
        };
        Self::after(done, prepare, |(target, request), done| {
            self.write(target.into_iter().collect(), |writes| {
                let ended = move |outcome: Result<PutItemResponse, Error>| {
                    let version = writes.end(outcome.is_ok()).into_iter().flatten().next();
                    done(outcome.map(|put| PutItemResponse { version: version.unwrap_or(put.version), ..put }));
                };
                self.service.start(Call::PutItem(request, Box::new(ended)));
            });
        });
    }

    fn delete_item(&self, mut request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
        let wants_old = request.return_values == ReturnValues::AllOld;
        let prepare = || {
            self.may_write()?;
            let table = self.table_of(&request.table_name)?;
            let (precondition, old) = (request.precondition.take(), request.return_old_on_condition_failure);
            self.guard((&table, &request.key), precondition, &mut request.condition, &mut request.placeholders, old)?;
            // Was there one? It costs nothing to be told.
            request.return_values = ReturnValues::AllOld;
            Ok((Self::target(&table, &request.key, Effect::Delete), request))
        };
        Self::after(done, prepare, |(target, request), done| {
            self.write(target.into_iter().collect(), |writes| {
                let ended = move |outcome: Result<DeleteItemResponse, Error>| {
                    writes.end(outcome.is_ok());
                    done(
                        outcome
                            .map(|deleted| DeleteItemResponse { attributes: deleted.attributes.filter(|_| wants_old), ..deleted }),
                    );
                };
                self.service.start(Call::DeleteItem(request, Box::new(ended)));
            });
        });
    }

    fn update_item(&self, mut request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
        let wanted = request.return_values;
        let prepare = || {
            self.may_write()?;
            let table = self.table_of(&request.table_name)?;
            let (precondition, old) = (request.precondition.take(), request.return_old_on_condition_failure);
            self.guard((&table, &request.key), precondition, &mut request.condition, &mut request.placeholders, old)?;
            if wanted == UpdateReturnValues::None {
                request.return_values = UpdateReturnValues::AllNew;
            }
            Ok((Self::target(&table, &request.key, Effect::Update), request))
        };
        Self::after(done, prepare, |(target, request), done| {
            let tells_new = request.return_values == UpdateReturnValues::AllNew;
            self.write(target.into_iter().collect(), |mut writes| {
                let ended = move |outcome: Result<UpdateItemResponse, Error>| {
                    if let (Ok(updated), true) = (&outcome, tells_new) {
                        writes.came_to(updated.attributes.clone());
                    }
                    let version = writes.end(outcome.is_ok()).into_iter().flatten().next();
                    done(outcome.map(|updated| UpdateItemResponse {
                        version,
                        attributes: updated.attributes.filter(|_| wanted != UpdateReturnValues::None),
                        ..updated
                    }));
                };
                self.service.start(Call::UpdateItem(request, Box::new(ended)));
            });
        });
    }

    fn batch_write_item(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
        let prepare = || {
            self.may_write()?;
            let mut targets = Vec::new();
            for writes in &request.request_items {
                let table = self.table_of(&writes.table_name)?;
                targets.extend(writes.requests.iter().filter_map(|write| match write {
                    WriteRequest::Put(item) => Self::target(&table, item, Effect::Put(item.clone())),
                    WriteRequest::Delete(key) => Self::target(&table, key, Effect::Delete),
                }));
            }
            Ok(targets)
        };
        Self::after(done, prepare, |targets, done| {
            self.write(targets, |mut writes| {
                let names: Vec<TableName> = request.request_items.iter().map(|writes| writes.table_name.clone()).collect();
                let ended = move |outcome: Result<BatchWriteItemResponse, Error>| {
                    if let Ok(response) = &outcome {
                        writes.leave(|table, key| {
                            let left = names.iter().zip(&response.unprocessed_items).filter(|(name, _)| *name == table);
                            left.flat_map(|(_, left)| left).any(|left| is_of(left, key))
                        });
                    }
                    writes.end(outcome.is_ok());
                    done(outcome);
                };
                self.service.start(Call::BatchWriteItem(request.clone(), Box::new(ended)));
            });
        });
    }

    fn transact_write_items(&self, mut request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) {
        let prepare = || {
            self.may_write()?;
            // A database here does what the mount itself asks for whatever it comes to.
            if request.transact_items.len() > TRANSACTION_ITEMS_MAX {
                return Err(TransactionError::TooLarge.into());
            }
            let targets = self.guard_all(&mut request.transact_items)?;
            Ok((targets, request))
        };
        Self::after(done, prepare, |(targets, request), done| {
            self.write(targets, |writes| {
                let ended = move |outcome: Result<TransactWriteItemsResponse, Error>| {
                    writes.end(outcome.is_ok());
                    done(outcome);
                };
                self.service.start(Call::TransactWriteItems(request, Box::new(ended)));
            });
        });
    }
}

/// Is it the write of the item under this key?
fn is_of(write: &WriteRequest, key: &crate::model::Key) -> bool {
    let (WriteRequest::Put(item) | WriteRequest::Delete(item)) = write;
    item.0.values().any(|value| *value == key.partition)
        && key.sort.as_ref().is_none_or(|sort| item.0.values().any(|value| value == sort))
}
