//! The operations (`impl Database`): forwarded, each write under its condition, with an update of
//! the cache. Requests that are forwarded verbatim are validated by the service; their writes are
//! decoded here as well, to refuse them on a read-only mount and to update the cache at once.
//!
//! A service takes a while to create a table, to change it and to delete it. A request through the
//! mount returns when that is done, because programs create a directory and write into it at once.

use std::time::Instant;

use super::RemoteDatabase;
use super::own_writes::{GuardedWrite, OwnWrites, WriteTarget, guarded_write};
use super::write_queue::QueuedRequest;
use crate::codec::json::document::{Document, Json};
use crate::codec::json::edit;
use crate::codec::wire::{self, response};
use crate::database::cancel::{Backoff, CancelToken};
use crate::database::layout::Layout;
use crate::database::prelude::*;
use crate::database::remote::transport::{is_read, is_select, partiql_statements};
use crate::database::{BatchRowSink, Completion, RowSink};
use crate::expr::normal_form::{accesses, parts};
use crate::expr::partiql;
use crate::model::api::items::item_operations;
use crate::model::api::operation::OperationKind;
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, Call, ConditionParameter, ConsumedCapacity,
    CreateTableRequest, CreateTableResponse, DeleteItemRequest, DeleteItemResponse,
    DeleteTableRequest, DeleteTableResponse, ItemAccess, ItemEffect, PutItemRequest,
    PutItemResponse, QueryRequest, ReturnValues, ScanRequest, TableStatus,
    TransactWriteItemsRequest, TransactWriteItemsResponse, UpdateItemRequest, UpdateItemResponse,
    UpdateReturnValues, UpdateTableRequest, UpdateTableResponse, VerbatimRequest, Version,
    WriteRequest,
};
use crate::model::error::{Cancellation, CancellationReason, TransactionError};
use crate::model::limits::TRANSACTION_ITEMS_MAX;

/// The scope of the cache that a call may invalidate.
pub(super) enum InvalidationScope {
    /// The items of these tables.
    Tables(Vec<TableName>),
    Anything,
}

impl Database for RemoteDatabase {
    fn start(&self, call: Call) {
        // Every other call may read what an acknowledged write is about to change.
        if !matches!(call, Call::PutItem(..) | Call::DeleteItem(..))
            && let Err(error) = self.settle()
        {
            return call.refuse(error);
        }
        match call {
            Call::PutItem(request, done) => self.put_item(request, done),
            Call::DeleteItem(request, done) => self.delete_item(request, done),
            Call::UpdateItem(request, done) => self.update_item(request, done),
            Call::TransactWriteItems(request, done) => self.transact_write_items(request, done),
            Call::CreateTable(request, done) => done.complete(self.create_table(request)),
            Call::UpdateTable(request, done) => done.complete(self.update_table(request)),
            Call::DeleteTable(request, done) => done.complete(self.delete_table(request)),
            Call::Verbatim(request, done) => self.pass_verbatim(request, done),
            Call::DescribeTimeToLive(request, done) => {
                done.complete(self.tables.time_to_live(self.service_handle(), request))
            }
            call => self.forward(call),
        }
    }

    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        self.settle()?;
        self.service.batch_get_rows(request, rows)
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.settle()?;
        self.service.query_rows(request, rows)
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.settle()?;
        self.service.scan_rows(request, rows)
    }

    fn for_caller(&self, caller: &CancelToken) -> Option<Arc<dyn Database>> {
        Some(Arc::new(self.with_caller(caller)))
    }

    fn is_remote(&self) -> bool {
        self.service.is_remote()
    }

    fn layout(&self) -> Option<&dyn Layout> {
        self.layout.as_ref().map(|layout| layout as _)
    }
}

impl RemoteDatabase {
    /// Checks PartiQL statements before they run; returns the tables of those that write, which are
    /// to be invalidated.
    pub(super) fn check_statements(
        &self,
        statements: Vec<&str>,
    ) -> Result<InvalidationScope, Error> {
        let mut writing = statements;
        writing.retain(|text| !is_select(text));
        if !writing.is_empty() {
            self.check_writable()?;
        }
        let tables = writing.into_iter().filter_map(partiql::table_of);
        Ok(InvalidationScope::Tables(tables.collect()))
    }

    /// Forwards a call; its end invalidates the cache, unless the call only reads.
    fn forward(&self, call: Call) {
        let parts = parts(&call);
        let statements: Vec<&str> = parts.iter().filter_map(|part| part.statement).collect();
        let changed = if !statements.is_empty() {
            self.check_statements(statements)
        } else if call.kind() == OperationKind::Read {
            return self.service.start(call);
        } else {
            // Front ends send the writes of their clients verbatim, so these are few.
            self.check_writable().map(|()| InvalidationScope::Anything)
        };
        self.forward_and_invalidate(call, changed);
    }

    /// Forwards an allowed call; its end invalidates the scope of the cache that it may have
    /// changed.
    pub(super) fn forward_and_invalidate(
        &self,
        call: Call,
        changed: Result<InvalidationScope, Error>,
    ) {
        let changed = match changed {
            Ok(changed) => changed,
            Err(error) => return call.refuse(error),
        };
        let (tables, pages, commits) = (
            Arc::clone(&self.tables),
            Arc::clone(&self.cache),
            Arc::clone(&self.commits),
        );
        // Invalidated whatever the outcome: a failed request may have been executed.
        self.service.start(call.heard(move |_| {
            match changed {
                InvalidationScope::Tables(written) => written
                    .iter()
                    .for_each(|table| pages.invalidate_table(table)),
                InvalidationScope::Anything => {
                    pages.invalidate_all();
                    tables.invalidate();
                }
            }
            commits.add();
        }));
    }

    /// Adds the preconditions of a transaction's actions to their conditions; returns the items and
    /// their changes.
    fn guard_all(
        &self,
        request: &mut TransactWriteItemsRequest,
    ) -> Result<Vec<WriteTarget>, Error> {
        self.check_writable()?;
        // The local engine allows the mount larger transactions of its own; a service does not.
        if request.transact_items.len() > TRANSACTION_ITEMS_MAX {
            return Err(TransactionError::TooLarge.into());
        }
        let (mut targets, mut reasons, mut has_failed) = (Vec::new(), Vec::new(), false);
        for write in &mut request.transact_items {
            let (item, effect) = write.action.item();
            // Every action gets a reason, as in the service's own answer.
            reasons.push(
                match self.apply_precondition(guarded_write!(write, item, effect)) {
                    Ok(target) => {
                        targets.extend(target);
                        CancellationReason::None
                    }
                    Err(Error::ConditionalCheckFailed { item }) => {
                        has_failed = true;
                        CancellationReason::ConditionalCheckFailed { item }
                    }
                    Err(error) => return Err(error),
                },
            );
        }
        if has_failed {
            Err(Cancellation(reasons).into())
        } else {
            Ok(targets)
        }
    }

    /// Changes a definition, and waits for its end: a description of a table that is still being
    /// changed would be cached, and the next change be refused.
    fn change_table<T>(
        &self,
        table: &TableName,
        status: TableStatus,
        change: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.check_writable()?;
        let changed = change();
        // A deleted table has left items, also to reads under way.
        if status != TableStatus::Updating {
            self.cache.invalidate_table(table);
        }
        if changed.is_ok() {
            self.wait_active(table, status);
        }
        self.tables.invalidate();
        self.commits.add();
        changed
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        let table = request.table_name.clone();
        self.change_table(&table, TableStatus::Creating, || {
            self.service.create_table(request)
        })
    }

    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        let table = request.table_name.clone();
        self.change_table(&table, TableStatus::Updating, || {
            self.service.update_table(request)
        })
    }

    fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        let table = request.table_name.clone();
        self.change_table(&table, TableStatus::Deleting, || {
            self.service.delete_table(request)
        })
        .inspect(|_| self.local_state.remove_table(&table))
    }

    fn put_item(&self, mut request: PutItemRequest, completion: Completion<PutItemResponse>) {
        let target =
            self.apply_precondition(guarded_write!(request, &request.item, ItemEffect::Put));
        let gathering = completion.context.gathering.clone();
        let target = match (target, gathering) {
            (Ok(Some(target)), Some(gathering)) if request.return_values == ReturnValues::None => {
                let queued = match request.condition {
                    ConditionParameter::None => {
                        QueuedRequest::Plain(WriteRequest::Put(request.item))
                    }
                    _ => QueuedRequest::Put(Box::new(request)),
                };
                let response = |version: Option<Version>| PutItemResponse {
                    attributes: None,
                    consumed_capacity: ConsumedCapacity::default(),
                    item_collection_metrics: None,
                    version: version.unwrap_or_default(),
                };
                return self.gather(completion, gathering, target, queued, response);
            }
            (target, _) => target,
        };
        let end = |writes: OwnWrites, put: Result<PutItemResponse, Error>| {
            let version = writes.finish(put.is_ok());
            put.map(|put| PutItemResponse {
                version: version.unwrap_or(put.version),
                ..put
            })
        };
        self.write(completion, target, end, |completion| {
            Call::PutItem(request, completion)
        });
    }

    fn delete_item(
        &self,
        mut request: DeleteItemRequest,
        completion: Completion<DeleteItemResponse>,
    ) {
        let target =
            self.apply_precondition(guarded_write!(request, &request.key, ItemEffect::Delete));
        let (gathering, is_bulk) = (
            completion.context.gathering.clone(),
            completion.context.is_bulk,
        );
        let is_plain = request.return_values == ReturnValues::None
            && matches!(request.condition, ConditionParameter::None);
        let target = match (target, gathering) {
            // A batch does not tell if there was an item.
            (Ok(Some(target)), Some(gathering))
                if is_plain && (is_bulk || self.is_known(&target)) =>
            {
                let queued = QueuedRequest::Plain(WriteRequest::Delete(request.key));
                let response = |_| DeleteItemResponse {
                    attributes: None,
                    consumed_capacity: ConsumedCapacity::default(),
                    item_collection_metrics: None,
                    existed: true,
                };
                return self.gather(completion, gathering, target, queued, response);
            }
            (target, _) => target,
        };
        self.write(completion, target, finished, |completion| {
            Call::DeleteItem(request, completion)
        });
    }

    fn update_item(
        &self,
        mut request: UpdateItemRequest,
        completion: Completion<UpdateItemResponse>,
    ) {
        let is_asked = request.return_values != UpdateReturnValues::None;
        let target =
            self.apply_precondition(guarded_write!(request, &request.key, ItemEffect::Update));
        // The new item costs nothing, and updates the cache.
        if !is_asked {
            request.return_values = UpdateReturnValues::AllNew;
        }
        let tells_new = request.return_values == UpdateReturnValues::AllNew;
        let end = move |mut writes: OwnWrites, updated: Result<UpdateItemResponse, Error>| {
            if let (Ok(updated), true) = (&updated, tells_new) {
                writes.set_result(updated.attributes.clone());
            }
            let version = writes.finish(updated.is_ok());
            updated.map(|updated| UpdateItemResponse {
                version,
                attributes: updated.attributes.filter(|_| is_asked),
                ..updated
            })
        };
        self.write(completion, target, end, |completion| {
            Call::UpdateItem(request, completion)
        });
    }

    fn transact_write_items(
        &self,
        mut request: TransactWriteItemsRequest,
        completion: Completion<TransactWriteItemsResponse>,
    ) {
        let targets = self.guard_all(&mut request);
        self.write(completion, targets, finished, |completion| {
            Call::TransactWriteItems(request, completion)
        });
    }
}

impl RemoteDatabase {
    pub(super) fn pass_verbatim(&self, request: VerbatimRequest, completion: Completion<Vec<u8>>) {
        if is_read(request.operation) {
            return self.service.start(Call::Verbatim(request, completion));
        }
        let document = match Document::parse(request.body.clone()) {
            Ok(document) => document,
            Err(error) => return completion.complete(Err(response::unreadable(error))),
        };
        let statements = partiql_statements(document.root());
        if !statements.is_empty() {
            // Refused if they write and the mount is read-only.
            let changed = self.check_statements(statements);
            return self.forward_and_invalidate(Call::Verbatim(request, completion), changed);
        }
        if let Err(error) = self.check_writable() {
            return completion.complete(Err(error));
        }
        let written = parse_write(request.operation, document.root())
            .map(|call| self.targets(accesses(&parts(&call))));
        match written {
            Some(Ok(targets)) => self.pass_item_writes(request, targets, completion),
            // An operation on tables, or one that is unknown here.
            _ => self.forward_and_invalidate(
                Call::Verbatim(request, completion),
                Ok(InvalidationScope::Anything),
            ),
        }
    }

    fn pass_item_writes(
        &self,
        mut request: VerbatimRequest,
        targets: Vec<WriteTarget>,
        completion: Completion<Vec<u8>>,
    ) {
        // The new item costs nothing, and updates the cache.
        let is_update = request.operation == "UpdateItem";
        let asking = if is_update {
            edit::with_member(&request.body, "ReturnValues", "ALL_NEW")
        } else {
            None
        };
        let is_asking = asking.is_some();
        request.body = asking.unwrap_or(request.body);
        let end = move |mut writes: OwnWrites, outcome: Result<Vec<u8>, Error>| {
            let response = outcome
                .as_ref()
                .ok()
                .and_then(|answer| Document::parse(answer.clone()).ok());
            let member = |name: &str| response.as_ref()?.root().get(name);
            if let Some(item) = member("Attributes")
                .filter(|_| is_asking)
                .and_then(|item| response::read_item(item).ok())
            {
                writes.set_result(Some(item));
            }
            // An unprocessed item keeps a state that is unknown here.
            let is_done = member("UnprocessedItems")
                .and_then(Json::as_object)
                .is_none_or(|left| left.is_empty());
            writes.finish(outcome.is_ok() && is_done);
            outcome.map(|answer| {
                if is_asking {
                    edit::without_member(&answer, "Attributes")
                } else {
                    answer
                }
            })
        };
        self.write(completion, Ok(targets), end, |completion| {
            Call::Verbatim(request, completion)
        });
    }
}

/// Ends writes whose response tells nothing of their items.
fn finished<R>(writes: OwnWrites, outcome: Result<R, Error>) -> Result<R, Error> {
    writes.finish(outcome.is_ok());
    outcome
}

/// Decodes a request, if its operation is on items.
fn parse_write(operation: &str, json: Json<'_>) -> Option<Call> {
    macro_rules! read {
        ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
            match operation {
                $(stringify!($name) => Call::$name(wire::request(json).ok()?, Completion::detached(|_| ())),)*
                _ => return None,
            }
        };
    }
    Some(item_operations! { [[read]] })
}

/// The backoff of polls for a table's status.
const POLL_MIN: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_millis(500);
/// The limit of a wait for a table's status; then the call returns anyway.
const STATUS_TIMEOUT: Duration = Duration::from_secs(120);

impl RemoteDatabase {
    /// Waits while the table is CREATING, UPDATING or DELETING, as given; at most until the caller
    /// stops waiting.
    pub(super) fn wait_active(&self, table: &TableName, status: TableStatus) {
        let (begun, mut pauses) = (Instant::now(), Backoff::new(POLL_MIN, POLL_MAX));
        // An interrupted wait ends quietly: the operation itself has succeeded.
        while self.has_status(table, status)
            && begun.elapsed() < STATUS_TIMEOUT
            && pauses.wait(&self.caller).is_ok()
        {}
    }

    /// True if the table has the status. A table that was just created may not be listed yet.
    fn has_status(&self, table: &TableName, status: TableStatus) -> bool {
        match self.service.find_table(table) {
            Ok(Some(table)) => table.status == status,
            Ok(None) => status == TableStatus::Creating,
            Err(_) => false,
        }
    }
}
