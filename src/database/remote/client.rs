//! The operations of the API, each one request to a service.
//!
//! Requests ask for what was consumed, asked or not: whoever is in front counts it. A precondition is none of the API: who has one makes
//! a condition of it first.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::chains::Chains;
use super::service::Service;
use super::shards::{self, Streams};
use super::workers::Workers;
use crate::codec::json::document::Json;
use crate::codec::json::edit;
use crate::codec::wire::{
    answer, batch_execute_statement, batch_get_item, batch_write_item, create_table, delete_item, delete_table, describe_stream,
    describe_table, execute_statement, execute_transaction, get_item, get_records, get_shard_iterator, list_streams, list_tables,
    page, put_item, query, scan, time_to_live, transact_get_items, transact_write_items, update_item, update_table,
};
use crate::database::{BatchRows, Database, Rows};
use crate::engine::clock::{Clock, SystemClock};
use crate::expr::{KeyConditionShape, PlaceholderUse};
use crate::model::api::operation::{Way, operations};
use crate::model::api::*;
use crate::model::error::{InUseError, QueryError, RemoteCause, ValueError};
use crate::model::layout::MeteredOperation;
use crate::model::{Error, Item, TableName, arn};

/// What a request with a precondition is told.
const PRECONDITION: Error =
    Error::Unavailable("another service knows no versions of items: a precondition must become a condition");

/// A service as a database. Clones are the same client.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    service: Arc<dyn Service>,
    workers: Workers,
    chains: Chains,
    /// Partition, region and account of its ARNs, once one of them was seen.
    home: OnceLock<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("home", &self.shared.home).finish_non_exhaustive()
    }
}

impl Client {
    #[must_use]
    pub fn new(service: Arc<dyn Service>) -> Self {
        Self { shared: Arc::new(Shared { service, workers: Workers::default(), chains: Chains::default(), home: OnceLock::new() }) }
    }

    /// One request whose body `write` appends, and its answer as `read` understands it.
    pub(super) fn call<T>(
        &self,
        operation: &'static str,
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(Json<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut body = Vec::new();
        write(&mut body);
        read(self.shared.service.call(operation, &body)?.json()?)
    }

    /// As `read`, when ARNs in the answer's `member` were looked at.
    fn learn(&self, members: Json<'_>, member: &str) {
        if let Some(home) = members.get(member).and_then(Json::as_str).and_then(arn::home) {
            // The first is as good as any: they are all the same.
            let _ = self.shared.home.set(home.to_owned());
        }
    }

    /// Where the service's ARNs say that it is, asked for when nothing said it yet.
    pub(super) fn home(&self, table: &TableName) -> Result<String, Error> {
        let is_unknown = self.shared.home.get().is_none();
        // Streams outlive their tables.
        if is_unknown && self.describe_table(DescribeTableRequest { table_name: table.clone() }).is_err() {
            self.list_streams(ListStreamsRequest::default())?;
        }
        // Of a service without ARNs, ours do.
        let own = || arn::home(&arn::table(table)).unwrap_or_default().to_owned();
        Ok(self.shared.home.get().cloned().unwrap_or_else(own))
    }

    /// An answer with the description of a table under `member`, given now.
    pub(super) fn read_table<T>(
        &self,
        table: &TableName,
        (json, member): (Json<'_>, &str),
        read: fn(Json<'_>, u64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(described) = json.get(member) {
            self.learn(described, "TableArn");
            let name = described.get("TableName").and_then(Json::as_str).unwrap_or_default();
            if answer::table_name(name)? != *table {
                return Err(answer::unreadable(format_args!("it describes {name} where {table} was asked for")));
            }
        }
        read(json, SystemClock.now_ms())
    }

    /// One page of what `write` asks for after a key or from the start.
    ///
    /// # Errors
    /// As of [`Self::call`]; pages that do not move on.
    fn page(
        &self,
        operation: &'static str,
        write: impl Fn(Option<&Item>, &mut Vec<u8>),
        start: Option<&Item>,
        read: impl FnOnce(Json<'_>) -> Result<Page, Error>,
    ) -> Result<Page, Error> {
        let page = self.call(operation, |out| write(start, out), read)?;
        if let Some(last) = &page.last_evaluated_key {
            let body_after = |key| {
                let mut body = Vec::new();
                write(key, &mut body);
                body
            };
            self.shared.chains.follow(start.map(|start| body_after(Some(start))), &body_after(Some(last)))?;
        }
        Ok(page)
    }

    /// Refuses to delete a table that has an item. One that is put meanwhile is deleted with it: the service has no such condition.
    fn check_empty(&self, table: &TableName) -> Result<(), Error> {
        let look = ScanRequest { limit: Some(1), consistent_read: true, ..ScanRequest::new(table.clone()) };
        let page = self.scan_rows(&look, &mut |_| {})?;
        let is_empty = page.scanned_count == 0 && page.last_evaluated_key.is_none();
        if is_empty { Ok(()) } else { Err(InUseError::HasItems(table.to_string()).into()) }
    }
}

/// The fault of a request that was read, not made.
fn check(fault: Option<Box<Error>>) -> Result<(), Error> {
    fault.map_or(Ok(()), |fault| Err(*fault))
}

fn check_precondition(precondition: Option<Precondition>) -> Result<(), Error> {
    if precondition.is_some() { Err(PRECONDITION) } else { Ok(()) }
}

const DETAIL: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// What is not made here.
macro_rules! unavailable {
    ($($way:ident $name:ident $method:ident($request:ty) -> $response:ty;)*) => {
        fn unavailable(call: &Call) -> Error {
            Error::Unavailable(match call {
                $(Call::$name(..) => {
                    concat!(stringify!($name), " is not made through a remote mount; use the service's own tools for it")
                })*
            })
        }
    };
}
operations!(unavailable);

impl Database for Client {
    /// A write is made where it holds nobody.
    fn start(&self, call: Call) {
        match call.way() {
            Way::Reads | Way::Controls | Way::Passes => self.ask(call),
            Way::Writes => {
                let client = self.clone();
                self.shared.workers.run(move || client.ask(call));
            }
        }
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        // Its fault is seen by the service too: all keys are there.
        let request = BatchGetItemRequest { return_consumed_capacity: DETAIL, ..request.clone() };
        self.call(
            "BatchGetItem",
            |out| batch_get_item::write_request(&request, out),
            |json| batch_get_item::read_response(json, &request, rows),
        )
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        check(request.start_key_fault.clone().map(|fault| Box::new(QueryError::StartKeyValue(fault).into())))?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let shape = request.key_condition_expression.as_deref().and_then(|text| {
            // One that cannot be read is refused by the service.
            KeyConditionShape::parse(text, &request.placeholders, &mut PlaceholderUse::default()).ok()
        });
        let fits = |item: &Item| shape.as_ref().is_none_or(|shape| shape.admits(item));
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let exclusive_start_key = start.cloned();
            query::write_request(&QueryRequest { exclusive_start_key, return_consumed_capacity: DETAIL, ..request.clone() }, out);
        };
        self.page("Query", write, start, |json| page::read(json, table, fits, rows))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let fault = request.start_key_fault.clone().map(QueryError::StartKeyValue).or(request.segment_fault.clone());
        check(fault.map(|fault| Box::new(fault.into())))?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let exclusive_start_key = start.cloned();
            scan::write_request(&ScanRequest { exclusive_start_key, return_consumed_capacity: DETAIL, ..request.clone() }, out);
        };
        self.page("Scan", write, start, |json| page::read(json, table, |_| true, rows))
    }

    fn is_elsewhere(&self) -> bool {
        true
    }
}

impl Client {
    fn ask(&self, call: Call) {
        match call {
            Call::GetItem(request, done) => done(self.get_item(request)),
            Call::PutItem(request, done) => done(self.put_item(request)),
            Call::UpdateItem(request, done) => done(self.update_item(request)),
            Call::DeleteItem(request, done) => done(self.delete_item(request)),
            Call::BatchWriteItem(request, done) => done(self.batch_write_item(request)),
            Call::TransactGetItems(request, done) => done(self.transact_get_items(request)),
            Call::TransactWriteItems(request, done) => done(self.transact_write_items(request)),
            Call::ExecuteStatement(request, done) => done(self.execute_statement(request)),
            Call::BatchExecuteStatement(request, done) => done(self.batch_execute_statement(request)),
            Call::ExecuteTransaction(request, done) => done(self.execute_transaction(request)),
            Call::GetRecords(request, done) => done(shards::records(&AsTold(self), request)),
            Call::GetShardIterator(request, done) => done(shards::iterator(&AsTold(self), request)),
            Call::DescribeStream(request, done) => done(shards::describe(&AsTold(self), &request)),
            Call::ListStreams(request, done) => done(self.list_streams(request)),
            Call::DescribeTable(request, done) => done(self.describe_table(request)),
            Call::ListTables(request, done) => done(self.list_tables(request)),
            Call::CreateTable(request, done) => done(self.create_table(request)),
            Call::UpdateTable(request, done) => done(self.update_table(request)),
            Call::DeleteTable(request, done) => done(self.delete_table(request)),
            Call::DescribeTimeToLive(request, done) => done(self.describe_time_to_live(request)),
            Call::UpdateTimeToLive(request, done) => done(self.update_time_to_live(request)),
            Call::Verbatim(request, done) => done(self.pass(&request)),
            call => {
                let error = unavailable(&call);
                call.refuse(error);
            }
        }
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        let answer = self.call(
            "CreateTable",
            |out| create_table::write_request(&request, out),
            |json| self.read_table(&request.table_name, (json, "TableDescription"), create_table::read_response),
        );
        answer.map_err(|error| match error {
            // Each service has its own words for it.
            Error::Remote(remote) if remote.cause() == RemoteCause::InUse => {
                Error::TableAlreadyExists(request.table_name.to_string())
            }
            error => error,
        })
    }

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        self.call(
            "DescribeTable",
            |out| describe_table::write_request(&request, out),
            |json| self.read_table(&request.table_name, (json, "Table"), describe_table::read_response),
        )
    }

    fn list_tables(&self, request: ListTablesRequest) -> Result<ListTablesResponse, Error> {
        let page = self.call("ListTables", |out| list_tables::write_request(&request, out), list_tables::read_response)?;
        if let Some(last) = &page.last_evaluated_table_name {
            self.shared.chains.follow(request.exclusive_start_table_name.map(String::into_bytes), last.as_bytes())?;
        }
        Ok(page)
    }

    fn delete_table(&self, request: DeleteTableRequest) -> Result<DeleteTableResponse, Error> {
        // The answer has neither keys nor indexes.
        let before = self.describe_table(DescribeTableRequest { table_name: request.table_name.clone() })?.table;
        if request.only_if_empty {
            self.check_empty(&request.table_name)?;
        }
        self.call("DeleteTable", |out| delete_table::write_request(&request, out), |json| delete_table::read_response(json, before))
    }

    fn update_time_to_live(&self, request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error> {
        self.call("UpdateTimeToLive", |out| time_to_live::write_update_request(&request, out), time_to_live::read_update_response)
    }

    fn describe_time_to_live(&self, request: DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error> {
        self.call(
            "DescribeTimeToLive",
            |out| time_to_live::write_describe_request(&request, out),
            time_to_live::read_describe_response,
        )
    }

    fn get_item(&self, request: GetItemRequest) -> Result<GetItemResponse, Error> {
        let request = GetItemRequest { return_consumed_capacity: DETAIL, ..request };
        let is_whole = request.projection_expression.is_none() && request.attributes_to_get.is_none();
        let answer = self.call("GetItem", |out| get_item::write_request(&request, out), get_item::read_response)?;
        answer.item.iter().try_for_each(|item| answer::check_key(item, &request.key, is_whole))?;
        Ok(answer)
    }

    fn put_item(&self, request: PutItemRequest) -> Result<PutItemResponse, Error> {
        check_precondition(request.precondition)?;
        let request = PutItemRequest { return_consumed_capacity: DETAIL, ..request };
        self.call("PutItem", |out| put_item::write_request(&request, out), put_item::read_response)
    }

    fn delete_item(&self, request: DeleteItemRequest) -> Result<DeleteItemResponse, Error> {
        check_precondition(request.precondition)?;
        let is_asked = request.return_values == ReturnValues::AllOld;
        // Whether there was an item is known by its attributes, which cost nothing.
        let request = DeleteItemRequest { return_values: ReturnValues::AllOld, return_consumed_capacity: DETAIL, ..request };
        let answer = self.call("DeleteItem", |out| delete_item::write_request(&request, out), delete_item::read_response)?;
        Ok(DeleteItemResponse { attributes: answer.attributes.filter(|_| is_asked), ..answer })
    }

    fn update_item(&self, request: UpdateItemRequest) -> Result<UpdateItemResponse, Error> {
        check_precondition(request.precondition)?;
        let request = UpdateItemRequest { return_consumed_capacity: DETAIL, ..request };
        let is_whole = request.return_values == UpdateReturnValues::AllNew;
        let answer = self.call("UpdateItem", |out| update_item::write_request(&request, out), update_item::read_response)?;
        answer.attributes.iter().try_for_each(|item| answer::check_key(item, &request.key, is_whole))?;
        Ok(answer)
    }

    fn batch_write_item(&self, request: BatchWriteItemRequest) -> Result<BatchWriteItemResponse, Error> {
        let request = BatchWriteItemRequest { return_consumed_capacity: DETAIL, ..request };
        self.call(
            "BatchWriteItem",
            |out| batch_write_item::write_request(&request, out),
            |json| batch_write_item::read_response(json, &request),
        )
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        check(request.fault.clone())?;
        let request = TransactGetItemsRequest { return_consumed_capacity: DETAIL, ..request };
        let answer = self.call(
            "TransactGetItems",
            |out| transact_get_items::write_request(&request, out),
            transact_get_items::read_response,
        )?;
        if answer.responses.len() != request.transact_items.len() {
            return Err(answer::unreadable("it has not one response for each item"));
        }
        for (get, item) in request.transact_items.iter().zip(&answer.responses) {
            item.iter().try_for_each(|item| answer::check_key(item, &get.key, get.projection_expression.is_none()))?;
        }
        Ok(answer)
    }

    fn transact_write_items(&self, request: TransactWriteItemsRequest) -> Result<TransactWriteItemsResponse, Error> {
        check(request.fault.clone())?;
        request.transact_items.iter().try_for_each(|write| check_precondition(write.precondition))?;
        let request = TransactWriteItemsRequest { return_consumed_capacity: DETAIL, ..request };
        self.call(
            "TransactWriteItems",
            |out| transact_write_items::write_request(&request, out),
            transact_write_items::read_response,
        )
    }

    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        if request.has_replicas {
            return Err(Error::Unavailable(
                "replicas are not changed through a remote mount; use the service's own tools for them",
            ));
        }
        self.call(
            "UpdateTable",
            |out| update_table::write_request(&request, out),
            |json| self.read_table(&request.table_name, (json, "TableDescription"), update_table::read_response),
        )
    }

    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        let home = request.exclusive_start.as_ref().map(|stream| self.home(&stream.table_name)).transpose()?;
        self.call(
            "ListStreams",
            |out| list_streams::write_request(&request, home.as_deref().unwrap_or_default(), out),
            |json| {
                let first = json.get("Streams").and_then(Json::as_list).and_then(|mut streams| streams.next());
                first.into_iter().for_each(|stream| self.learn(stream, "StreamArn"));
                list_streams::read_response(json)
            },
        )
    }

    fn execute_statement(&self, request: ExecuteStatementRequest) -> Result<ExecuteStatementResponse, Error> {
        let request = ExecuteStatementRequest { return_consumed_capacity: DETAIL, ..request };
        self.call("ExecuteStatement", |out| execute_statement::write_request(&request, out), execute_statement::read_response)
    }

    fn batch_execute_statement(&self, request: BatchExecuteStatementRequest) -> Result<BatchExecuteStatementResponse, Error> {
        let faults: Vec<_> = request.statements.iter().map(|one| one.parameters.as_ref().err().cloned()).collect();
        // A bad one is its own failure, and cannot be sent.
        let statements: Vec<_> = request.statements.into_iter().filter(|one| one.parameters.is_ok()).collect();
        let request = BatchExecuteStatementRequest { statements, return_consumed_capacity: DETAIL };
        let answer = match request.statements.len() {
            0 => BatchExecuteStatementResponse { responses: Vec::new(), consumed_capacity: Vec::new() },
            _ => self.call(
                "BatchExecuteStatement",
                |out| batch_execute_statement::write_request(&request, out),
                batch_execute_statement::read_response,
            )?,
        };
        let mut sent = answer.responses.into_iter();
        let of = |fault: Option<ValueError>| match fault {
            Some(fault) => Some(BatchStatementResponse { table_name: None, outcome: Err(fault.into()) }),
            None => sent.next(),
        };
        Ok(BatchExecuteStatementResponse { responses: faults.into_iter().filter_map(of).collect(), ..answer })
    }

    fn execute_transaction(&self, request: ExecuteTransactionRequest) -> Result<ExecuteTransactionResponse, Error> {
        let request = ExecuteTransactionRequest { return_consumed_capacity: DETAIL, ..request };
        self.call("ExecuteTransaction", |out| execute_transaction::write_request(&request, out), execute_transaction::read_response)
    }
}

impl Client {
    /// A request in its caller's words. What was consumed is asked for; who did not ask is not told.
    fn pass(&self, request: &VerbatimRequest) -> Result<Vec<u8>, Error> {
        let VerbatimRequest { operation, body } = request;
        let is_charged = MeteredOperation::ALL.iter().any(|known| known.name() == *operation);
        let asking = if is_charged { edit::asking(body, "ReturnConsumedCapacity", "INDEXES") } else { None };
        let answer = self.shared.service.call(operation, asking.as_deref().unwrap_or(body))?;
        // Of operations that tell nothing it is empty.
        if answer.bytes() > 0 && !answer.is_json() {
            return Err(answer::unreadable("it is no JSON"));
        }
        let mut told = answer.into_text();
        if asking.is_some() {
            told = edit::without(&told, "ConsumedCapacity");
        }
        let is_marked = *operation == "DeleteItem" && memchr::memmem::find(&told, delete_item::ASKED_AGAIN.as_bytes()).is_some();
        Ok(if is_marked { edit::without(&told, delete_item::ASKED_AGAIN) } else { told })
    }
}

/// Streams with the shards that the service has.
struct AsTold<'c>(&'c Client);

impl Streams for AsTold<'_> {
    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        let home = self.0.home(&request.stream.table_name)?;
        self.0.call("DescribeStream", |out| describe_stream::write_request(&request, &home, out), describe_stream::read_response)
    }

    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        let home = self.0.home(&request.stream.table_name)?;
        self.0.call(
            "GetShardIterator",
            |out| get_shard_iterator::write_request(&request, &home, out),
            get_shard_iterator::read_response,
        )
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.0.call("GetRecords", |out| get_records::write_request(&request, out), get_records::read_response)
    }
}
