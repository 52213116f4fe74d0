//! The operations of the API, each one request to a service.
//!
//! Requests ask for what was consumed, asked or not: whoever is in front counts it. A precondition is none of the API: who has one makes
//! a condition of it first.

use std::fmt;
use std::sync::OnceLock;

use super::service::Service;
use super::shards::{self, Streams};
use crate::codec::digest::{Digest, digest};
use crate::codec::json::document::Json;
use crate::codec::json::edit;
use crate::codec::wire::items::ASKED_AGAIN;
use crate::codec::wire::{self, Declared, answer, batches, pages, table_description};
use crate::database::bounded::OfEntries;
use crate::database::pool::{Pool, WithoutThread};
use crate::database::prelude::*;
use crate::database::{BatchRows, Rows};
use crate::expr::{KeyConditionShape, Scope};
use crate::model::api::operation::{Way, operations};
use crate::model::api::*;
use crate::model::arn;
use crate::model::clock::{Clock, SystemClock};
use crate::model::error::{InUseError, QueryError, RemoteCause, ValueError};
use crate::model::layout::MeteredOperation;

/// What a request with a precondition is told.
const PRECONDITION: Error =
    Error::Unavailable("another service knows no versions of items: a precondition must become a condition");

/// So many writes are on their way at once; others wait for one of them.
const WORKERS_MAX: usize = 16;

/// A service as a database. Clones are the same client.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    service: Arc<dyn Service>,
    /// For requests that nobody waits for where they are made.
    workers: Pool,
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
        Self {
            shared: Arc::new(Shared {
                service,
                workers: Pool::new("ddbfs-remote", WORKERS_MAX, WithoutThread::Dropped),
                chains: Chains::default(),
                home: OnceLock::new(),
            }),
        }
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

    /// One request and its answer, as they are declared.
    pub(super) fn declared<T: Declared>(&self, operation: &'static str, request: &impl Declared) -> Result<T, Error> {
        self.call(operation, |out| wire::ask(request, out), wire::answer)
    }

    /// The same of a stream, which is where the service's ARNs say.
    fn of_stream<T: Declared>(&self, operation: &'static str, stream: &StreamName, request: &impl Declared) -> Result<T, Error> {
        let context = wire::Context { home: self.home(&stream.table_name)?, ..wire::Context::PLAIN };
        self.call(operation, |out| wire::write(request, &context, out), wire::answer)
    }

    /// Looks at ARNs in the answer's `member`.
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

    /// One request about a table, whose answer has its description in `member`, given now.
    fn ask_table(
        &self,
        operation: &'static str,
        request: &impl Declared,
        (table, member): (&TableName, &str),
    ) -> Result<TableDescription, Error> {
        self.call(operation, |out| wire::ask(request, out), |json| self.read_table(table, json, member))
    }

    fn read_table(&self, table: &TableName, json: Json<'_>, member: &str) -> Result<TableDescription, Error> {
        let described = answer::structure(answer::members(json)?, member)?;
        if let Some(described) = json.get(member) {
            self.learn(described, "TableArn");
        }
        let name = described.string("TableName").unwrap_or_default();
        if answer::table_name(name)? != *table {
            return Err(answer::unreadable(format_args!("it describes {name} where {table} was asked for")));
        }
        Ok(TableDescription { at_ms: SystemClock.now_ms(), ..table_description::read(described)? })
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

/// A page goes on behind the item that it starts after: with it again, who goes on after the last item that was shown would never end.
fn is_behind(start: Option<&Item>, item: &Item) -> Result<(), &'static str> {
    match start {
        Some(start) if start.0.iter().all(|(name, value)| item.get(name) == Some(value)) => {
            Err("it has the item that it is to go on after")
        }
        _ => Ok(()),
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
                self.shared.workers.run(Box::new(move || client.ask(call)));
            }
        }
    }

    fn batch_get_rows(&self, request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error> {
        // Its fault is seen by the service too: all keys are there.
        let request = BatchGetItemRequest { return_consumed_capacity: DETAIL, ..request.clone() };
        self.call("BatchGetItem", |out| wire::ask(&request, out), |json| batches::read_got(json, &request, rows))
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        check(request.start_key_fault.clone().map(|fault| Box::new(QueryError::StartKeyValue(fault).into())))?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let shape = request.key_condition_expression.as_deref().and_then(|text| {
            // One that cannot be read is refused by the service.
            KeyConditionShape::parse(text, &mut Scope::new(&request.placeholders)).ok()
        });
        let fits = |item: &Item| match &shape {
            Some(shape) if !shape.admits(item) => Err("it has an item that does not fit the key condition"),
            _ => is_behind(start, item),
        };
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let exclusive_start_key = start.cloned();
            let request = QueryRequest { exclusive_start_key, return_consumed_capacity: DETAIL, ..request.clone() };
            wire::ask(&request, out);
        };
        self.page("Query", write, start, |json| pages::read(json, table, fits, rows))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let fault = request.start_key_fault.clone().map(QueryError::StartKeyValue).or(request.segment_fault.clone());
        check(fault.map(|fault| Box::new(fault.into())))?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let exclusive_start_key = start.cloned();
            let request = ScanRequest { exclusive_start_key, return_consumed_capacity: DETAIL, ..request.clone() };
            wire::ask(&request, out);
        };
        self.page("Scan", write, start, |json| pages::read(json, table, |item| is_behind(start, item), rows))
    }

    fn is_elsewhere(&self) -> bool {
        true
    }
}

impl Client {
    fn ask(&self, call: Call) {
        match call {
            Call::GetItem(request, done) => done.tell(self.get_item(request)),
            Call::PutItem(request, done) => done.tell(
                check_precondition(request.precondition)
                    .and_then(|()| self.declared("PutItem", &PutItemRequest { return_consumed_capacity: DETAIL, ..request })),
            ),
            Call::UpdateItem(request, done) => done.tell(self.update_item(request)),
            Call::DeleteItem(request, done) => done.tell(self.delete_item(request)),
            Call::BatchWriteItem(request, done) => done.tell(self.batch_write_item(request)),
            Call::TransactGetItems(request, done) => done.tell(self.transact_get_items(request)),
            Call::TransactWriteItems(request, done) => done.tell(self.transact_write_items(request)),
            Call::ExecuteStatement(request, done) => {
                let request = ExecuteStatementRequest { return_consumed_capacity: DETAIL, ..request };
                done.tell(self.declared("ExecuteStatement", &request));
            }
            Call::BatchExecuteStatement(request, done) => done.tell(self.batch_execute_statement(request)),
            Call::ExecuteTransaction(request, done) => {
                let request = ExecuteTransactionRequest { return_consumed_capacity: DETAIL, ..request };
                done.tell(self.declared("ExecuteTransaction", &request));
            }
            Call::GetRecords(request, done) => done.tell(shards::records(&AsTold(self), request)),
            Call::GetShardIterator(request, done) => done.tell(shards::iterator(&AsTold(self), request)),
            Call::DescribeStream(request, done) => done.tell(shards::describe(&AsTold(self), &request)),
            Call::ListStreams(request, done) => done.tell(self.list_streams(request)),
            Call::DescribeTable(request, done) => done.tell(self.describe_table(request)),
            Call::ListTables(request, done) => done.tell(self.list_tables(request)),
            Call::CreateTable(request, done) => done.tell(self.create_table(request)),
            Call::UpdateTable(request, done) => done.tell(self.update_table(request)),
            Call::DeleteTable(request, done) => done.tell(self.delete_table(request)),
            Call::DescribeTimeToLive(request, done) => done.tell(self.declared("DescribeTimeToLive", &request)),
            Call::UpdateTimeToLive(request, done) => done.tell(self.declared("UpdateTimeToLive", &request)),
            Call::Verbatim(request, done) => done.tell(self.pass(&request)),
            call => {
                let error = unavailable(&call);
                call.refuse(error);
            }
        }
    }

    fn create_table(&self, request: CreateTableRequest) -> Result<CreateTableResponse, Error> {
        let answer = self.ask_table("CreateTable", &request, (&request.table_name, "TableDescription"));
        answer.map(|table_description| CreateTableResponse { table_description }).map_err(|error| match error {
            // Each service has its own words for it.
            Error::Remote(remote) if remote.cause() == RemoteCause::InUse => {
                Error::TableAlreadyExists(request.table_name.to_string())
            }
            error => error,
        })
    }

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        let table = self.ask_table("DescribeTable", &request, (&request.table_name, "Table"))?;
        Ok(DescribeTableResponse { table })
    }

    fn list_tables(&self, request: ListTablesRequest) -> Result<ListTablesResponse, Error> {
        let page: ListTablesResponse = self.declared("ListTables", &request)?;
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
        let table_description = self.call(
            "DeleteTable",
            |out| wire::ask(&request, out),
            |json| Ok(table_description::read_going(answer::structure(answer::members(json)?, "TableDescription")?, before)),
        )?;
        Ok(DeleteTableResponse { table_description })
    }

    fn get_item(&self, request: GetItemRequest) -> Result<GetItemResponse, Error> {
        let request = GetItemRequest { return_consumed_capacity: DETAIL, ..request };
        let is_whole = request.projection_expression.is_none() && request.attributes_to_get.is_none();
        let answer: GetItemResponse = self.declared("GetItem", &request)?;
        answer.item.iter().try_for_each(|item| answer::check_key(item, &request.key, is_whole))?;
        Ok(answer)
    }

    fn delete_item(&self, request: DeleteItemRequest) -> Result<DeleteItemResponse, Error> {
        check_precondition(request.precondition)?;
        let is_asked = request.return_values == ReturnValues::AllOld;
        // Whether there was an item is known by its attributes, which cost nothing.
        let request = DeleteItemRequest { return_values: ReturnValues::AllOld, return_consumed_capacity: DETAIL, ..request };
        let answer: DeleteItemResponse = self.declared("DeleteItem", &request)?;
        Ok(DeleteItemResponse { attributes: answer.attributes.filter(|_| is_asked), ..answer })
    }

    fn update_item(&self, request: UpdateItemRequest) -> Result<UpdateItemResponse, Error> {
        check_precondition(request.precondition)?;
        let request = UpdateItemRequest { return_consumed_capacity: DETAIL, ..request };
        let is_whole = request.return_values == UpdateReturnValues::AllNew;
        let answer: UpdateItemResponse = self.declared("UpdateItem", &request)?;
        answer.attributes.iter().try_for_each(|item| answer::check_key(item, &request.key, is_whole))?;
        Ok(answer)
    }

    fn batch_write_item(&self, request: BatchWriteItemRequest) -> Result<BatchWriteItemResponse, Error> {
        let request = BatchWriteItemRequest { return_consumed_capacity: DETAIL, ..request };
        self.call("BatchWriteItem", |out| wire::ask(&request, out), |json| batches::read_written(json, &request))
    }

    fn transact_get_items(&self, request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error> {
        check(request.fault.clone())?;
        let request = TransactGetItemsRequest { return_consumed_capacity: DETAIL, ..request };
        let answer: TransactGetItemsResponse = self.declared("TransactGetItems", &request)?;
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
        self.declared("TransactWriteItems", &request)
    }

    fn update_table(&self, request: UpdateTableRequest) -> Result<UpdateTableResponse, Error> {
        if request.has_replicas {
            return Err(Error::Unavailable(
                "replicas are not changed through a remote mount; use the service's own tools for them",
            ));
        }
        let table_description = self.ask_table("UpdateTable", &request, (&request.table_name, "TableDescription"))?;
        Ok(UpdateTableResponse { table_description })
    }

    fn list_streams(&self, request: ListStreamsRequest) -> Result<ListStreamsResponse, Error> {
        let home = request.exclusive_start.as_ref().map(|stream| self.home(&stream.table_name)).transpose()?.unwrap_or_default();
        self.call(
            "ListStreams",
            |out| wire::write(&request, &wire::Context { home, ..wire::Context::PLAIN }, out),
            |json| {
                let first = json.get("Streams").and_then(Json::as_list).and_then(|mut streams| streams.next());
                first.into_iter().for_each(|stream| self.learn(stream, "StreamArn"));
                wire::answer(json)
            },
        )
    }

    fn batch_execute_statement(&self, request: BatchExecuteStatementRequest) -> Result<BatchExecuteStatementResponse, Error> {
        let faults: Vec<_> = request.statements.iter().map(|one| one.parameters.as_ref().err().cloned()).collect();
        // A bad one is its own failure, and cannot be sent.
        let statements: Vec<_> = request.statements.into_iter().filter(|one| one.parameters.is_ok()).collect();
        let request = BatchExecuteStatementRequest { statements, return_consumed_capacity: DETAIL };
        let answer = match request.statements.len() {
            0 => BatchExecuteStatementResponse { responses: Vec::new(), consumed_capacity: Vec::new() },
            _ => self.declared("BatchExecuteStatement", &request)?,
        };
        let mut sent = answer.responses.into_iter();
        let of = |fault: Option<ValueError>| match fault {
            Some(fault) => Some(BatchStatementResponse { table_name: None, outcome: Err(fault.into()) }),
            None => sent.next(),
        };
        Ok(BatchExecuteStatementResponse { responses: faults.into_iter().filter_map(of).collect(), ..answer })
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
        let is_marked = *operation == "DeleteItem" && memchr::memmem::find(&told, ASKED_AGAIN.as_bytes()).is_some();
        Ok(if is_marked { edit::without(&told, ASKED_AGAIN) } else { told })
    }
}

/// Streams with the shards that the service has.
struct AsTold<'c>(&'c Client);

impl Streams for AsTold<'_> {
    fn describe_stream(&self, request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error> {
        self.0.of_stream("DescribeStream", &request.stream, &request)
    }

    fn get_shard_iterator(&self, request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error> {
        self.0.of_stream("GetShardIterator", &request.stream, &request)
    }

    fn get_records(&self, request: GetRecordsRequest) -> Result<GetRecordsResponse, Error> {
        self.0.declared("GetRecords", &request)
    }
}

/// Reads under way at a time; of one that was pushed out only a page that ends where it begins is found.
const CHAINS_MAX: usize = 4096;

/// A chain of pages so far.
#[derive(Debug, Clone, Copy)]
struct Chain {
    pages: u64,
    earlier: Digest,
}

/// Pages of a read that goes on move on: one that ends where an earlier one did would be followed by the same ones for ever.
#[derive(Debug, Default)]
pub struct Chains(Mutex<OfEntries<Digest, Chain, CHAINS_MAX>>);

impl Chains {
    /// A page that began at `start`, or at the first place, ended where the next one begins.
    ///
    /// # Errors
    /// One before it began there.
    pub fn follow(&self, start: Option<Vec<u8>>, next: &[u8]) -> Result<(), Error> {
        let (start, next) = (start.map(|start| digest(&start)), digest(next));
        let mut chains = self.0.lock();
        let mut chain = start.and_then(|start| chains.get(&start).copied()).unwrap_or(Chain { pages: 0, earlier: next });
        if start == Some(next) || chain.pages > 0 && chain.earlier == next {
            return Err(answer::unreadable("its pages do not move on: one ends where an earlier one did"));
        }
        chain.pages += 1;
        if chain.pages.is_power_of_two() {
            chain.earlier = next;
        }
        chains.put(next, chain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many pages are read of what goes on so, before that is refused.
    fn pages(next: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        let (chains, mut at, mut pages) = (Chains::default(), None, 0);
        loop {
            pages += 1;
            let Some(last) = next(at.unwrap_or(0)) else { return Ok(pages) };
            let start = at.map(|at: u32| at.to_be_bytes().to_vec());
            if chains.follow(start, &last.to_be_bytes()).is_err() {
                return Err(pages);
            }
            at = Some(last);
        }
    }

    #[test]
    fn circles_are_found_and_long_reads_are_none() {
        assert_eq!(pages(|at| (at < 10_000).then_some(at + 1)), Ok(10_001));
        assert_eq!(pages(|_| Some(7)), Err(2));
        for (way, circle) in [(1, 2), (1, 3), (5, 2), (100, 7), (3, 1000)] {
            let found = pages(|at| Some(if at + 1 < way + circle { at + 1 } else { way })).unwrap_err();
            assert!(found <= 3 * (way + circle), "{way} {circle}: {found}");
        }
    }

    #[test]
    fn who_reads_the_same_again_or_at_the_same_time_is_not_in_a_circle() {
        let chains = Chains::default();
        for _ in 0..3 {
            chains.follow(None, b"1").unwrap();
            chains.follow(Some(b"1".to_vec()), b"2").unwrap();
            chains.follow(Some(b"1".to_vec()), b"2").unwrap();
            chains.follow(Some(b"2".to_vec()), b"3").unwrap();
        }
    }
}
