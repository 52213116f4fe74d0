//! The operations: handed on, each write under the condition that was asked for and with what it leaves behind.

use super::RemoteDatabase;
use super::writes::Effect;
use crate::database::admin::Administration;
use crate::database::layout::Layout;
use crate::database::{BatchRows, Database, Done, Rows, Statements, Streams, Verbatim};
use crate::expr::partiql;
use crate::model::api::{
    BatchExecuteStatementRequest, BatchExecuteStatementResponse, BatchGetItemPage, BatchGetItemRequest, BatchWriteItemRequest,
    BatchWriteItemResponse, CreateTableRequest, CreateTableResponse, DeleteItemRequest, DeleteItemResponse, DeleteTableRequest,
    DeleteTableResponse, DescribeStreamRequest, DescribeStreamResponse, DescribeTableRequest, DescribeTableResponse,
    DescribeTimeToLiveRequest, DescribeTimeToLiveResponse, ExecuteStatementRequest, ExecuteStatementResponse,
    ExecuteTransactionRequest, ExecuteTransactionResponse, GetItemRequest, GetItemResponse, GetRecordsRequest, GetRecordsResponse,
    GetShardIteratorRequest, GetShardIteratorResponse, ListStreamsRequest, ListStreamsResponse, ListTablesRequest,
    ListTablesResponse, Page, PutItemRequest, PutItemResponse, QueryRequest, ReturnValues, ScanRequest, TableStatus,
    TransactAction, TransactGetItemsRequest, TransactGetItemsResponse, TransactWrite, TransactWriteItemsRequest,
    TransactWriteItemsResponse, UpdateItemRequest, UpdateItemResponse, UpdateReturnValues, UpdateTimeToLiveRequest,
    UpdateTimeToLiveResponse, WriteRequest,
};
use crate::model::error::{Cancellation, CancellationReason, TransactionError};
use crate::model::limits::TRANSACTION_ITEMS_MAX;
use crate::model::{Error, TableName};

impl Streams for RemoteDatabase {
    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        self.service.list_streams(request)
    }

    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        self.service.describe_stream(request)
    }

    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        self.service.get_shard_iterator(request)
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.service.get_records(request)
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

    fn forgetting<T: Send + 'static>(&self, tables: Vec<TableName>, done: Done<T>) -> Done<T> {
        let (pages, commits) = (std::sync::Arc::clone(&self.pages), std::sync::Arc::clone(&self.commits));
        Box::new(move |outcome| {
            tables.iter().for_each(|table| pages.forget_table(table));
            commits.add();
            done(outcome);
        })
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
}

impl Statements for RemoteDatabase {
    fn execute_statement_then(&self, request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) {
        let tables = || self.statements(std::iter::once(request.statement.as_str()));
        Self::after(done, tables, |tables, done| {
            self.service.execute_statement_then(request.clone(), self.forgetting(tables, done))
        });
    }

    fn batch_execute_statement_then(&self, request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) {
        let tables = || self.statements(request.statements.iter().map(|one| one.statement.as_str()));
        let start = |tables, done| self.service.batch_execute_statement_then(request.clone(), self.forgetting(tables, done));
        Self::after(done, tables, start);
    }

    fn execute_transaction_then(&self, request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) {
        let tables = || self.statements(request.statements.iter().map(|one| one.statement.as_str()));
        let start = |tables, done| self.service.execute_transaction_then(request.clone(), self.forgetting(tables, done));
        Self::after(done, tables, start);
    }
}

impl Database for RemoteDatabase {
    fn administration(&self) -> Option<&dyn Administration> {
        self.service.administration().map(|_| self as &dyn Administration)
    }

    fn verbatim(&self) -> Option<&dyn Verbatim> {
        self.service.verbatim().map(|_| self as &dyn Verbatim)
    }

    fn layout(&self) -> Option<&dyn Layout> {
        self.layout.as_deref()
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

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        self.service.describe_table(request)
    }

    fn list_tables(&self, request: ListTablesRequest) -> Result<ListTablesResponse, Error> {
        self.service.list_tables(request)
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

    fn update_time_to_live(&self, request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error> {
        self.may_write()?;
        self.changed(self.service.update_time_to_live(request))
    }

    fn describe_time_to_live(&self, request: DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error> {
        self.tables.time_to_live(&*self.service, request)
    }

    fn get_item(&self, request: GetItemRequest) -> Result<GetItemResponse, Error> {
        self.service.get_item(request)
    }

    fn put_item_then(&self, mut request: PutItemRequest, done: Done<PutItemResponse>) {
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
                self.service.put_item_then(request, Box::new(ended));
            });
        });
    }

    fn delete_item_then(&self, mut request: DeleteItemRequest, done: Done<DeleteItemResponse>) {
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
                self.service.delete_item_then(request, Box::new(ended));
            });
        });
    }

    fn update_item_then(&self, mut request: UpdateItemRequest, done: Done<UpdateItemResponse>) {
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
                self.service.update_item_then(request, Box::new(ended));
            });
        });
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        self.service.batch_get_rows(request, rows)
    }

    fn batch_write_item_then(&self, request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) {
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
                self.service.batch_write_item_then(request.clone(), Box::new(ended));
            });
        });
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        self.service.transact_get_items(request)
    }

    fn transact_write_items_then(&self, mut request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) {
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
                self.service.transact_write_items_then(request, Box::new(ended));
            });
        });
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.service.query_rows(request, rows)
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.service.scan_rows(request, rows)
    }
}

/// Is it the write of the item under this key?
fn is_of(write: &WriteRequest, key: &crate::model::Key) -> bool {
    let (WriteRequest::Put(item) | WriteRequest::Delete(item)) = write;
    item.0.values().any(|value| *value == key.partition)
        && key.sort.as_ref().is_none_or(|sort| item.0.values().any(|value| value == sort))
}
