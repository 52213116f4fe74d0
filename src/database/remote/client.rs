//! A client of the DynamoDB API (`impl Database`): each operation is one request over a
//! [`Transport`]. `requests` has the operations that need more than their declared encoding.
//!
//! Requests always ask for the consumed capacity, because the layer in front counts it. A
//! precondition is not part of the API: its owner must turn it into a condition first.

mod requests;

use std::sync::OnceLock;

use super::transport::Transport;
use crate::codec::digest::{Digest, digest};
use crate::codec::json::document::Json;
use crate::codec::wire::{self, Declared, batches, pages, response, table_description};
use crate::database::cancel::CancelToken;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::thread_pool::{SpawnFailure, ThreadPool};
use crate::database::{BatchRowSink, RowSink};
use crate::expr::{KeyConditionShape, PlaceholderScope};
use crate::model::api::operation::{OperationKind, operations};
use crate::model::api::*;
use crate::model::arn;
use crate::model::clock::{Clock, SystemClock};
use crate::model::error::QueryError;

/// The limit of concurrent writes; further ones wait for a worker.
const WORKERS_MAX: usize = 16;

/// A service as a database, for one caller. Clones share the connection.
#[derive(Clone)]
pub struct Client {
    shared: Arc<ClientShared>,
    caller: CancelToken,
}

struct ClientShared {
    transport: Arc<dyn Transport>,
    /// The threads for requests that must not block their starter.
    workers: ThreadPool,
    cycles: CycleDetector,
    /// Partition, region and account of the service's ARNs, once one of them was seen.
    arn_prefix: OnceLock<String>,
}

opaque_debug!(Client);

impl Client {
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            shared: Arc::new(ClientShared {
                transport,
                // Without a thread the job is dropped, which fails its waiter: the starter may be a
                // thread that must not block.
                workers: ThreadPool::new("ddbfs-remote", WORKERS_MAX, SpawnFailure::Drop),
                cycles: CycleDetector::default(),
                arn_prefix: OnceLock::new(),
            }),
            caller: CancelToken::default(),
        }
    }

    /// Sends one request with a body that `write` appends; returns its answer as decoded by `read`.
    pub(super) fn call<T>(
        &self,
        operation: &'static str,
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(Json<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut body = Vec::new();
        write(&mut body);
        read(
            self.shared
                .transport
                .call(&self.caller, operation, &body)?
                .json()?,
        )
    }

    /// Sends a request and decodes its answer, both by their declarations in `codec::wire`.
    pub(super) fn call_declared<T: Declared>(
        &self,
        operation: &'static str,
        request: &impl Declared,
    ) -> Result<T, Error> {
        self.call(
            operation,
            |out| wire::encode_request(request, out),
            wire::decode_response,
        )
    }

    /// Sends a request about a stream, with the stream's ARN in the service's partition, region and
    /// account.
    fn call_of_stream<T: Declared>(
        &self,
        operation: &'static str,
        stream: &StreamName,
        request: &impl Declared,
    ) -> Result<T, Error> {
        let context = wire::Context {
            home: self.arn_prefix(&stream.table_name)?,
            ..wire::Context::PLAIN
        };
        self.call(
            operation,
            |out| wire::encode(request, &context, out),
            wire::decode_response,
        )
    }

    /// Learns partition, region and account from an ARN in the answer's `member`.
    fn learn_arn_prefix(&self, members: Json<'_>, member: &str) {
        if let Some(home) = members
            .get(member)
            .and_then(Json::as_str)
            .and_then(arn::table_prefix)
        {
            // The first is as good as any: they are all the same.
            let _ = self.shared.arn_prefix.set(home.to_owned());
        }
    }

    /// Returns partition, region and account of the service's ARNs, and requests one if none is
    /// known yet.
    pub(super) fn arn_prefix(&self, table: &TableName) -> Result<String, Error> {
        let is_unknown = self.shared.arn_prefix.get().is_none();
        // The table may be deleted: streams outlive their tables.
        if is_unknown
            && self
                .describe_table(DescribeTableRequest {
                    table_name: table.clone(),
                })
                .is_err()
        {
            self.list_streams(ListStreamsRequest::default())?;
        }
        // A service without ARNs gets those of the local engine.
        let own = || {
            let table = arn::table(table);
            debug_assert!(arn::table_prefix(&table).is_some(), "{table}");
            arn::table_prefix(&table).unwrap_or_default().to_owned()
        };
        Ok(self.shared.arn_prefix.get().cloned().unwrap_or_else(own))
    }

    /// Sends a request about a table; returns the description in the answer's `member`, with the
    /// present time.
    fn call_table(
        &self,
        operation: &'static str,
        request: &impl Declared,
        table: &TableName,
        member: &str,
    ) -> Result<TableDescription, Error> {
        self.call(
            operation,
            |out| wire::encode_request(request, out),
            |json| self.read_table(table, json, member),
        )
    }

    fn read_table(
        &self,
        table: &TableName,
        json: Json<'_>,
        member: &str,
    ) -> Result<TableDescription, Error> {
        let described = response::structure(response::members(json)?, member)?;
        // Any description has an ARN, which saves a request for it later.
        if let Some(described) = json.get(member) {
            self.learn_arn_prefix(described, "TableArn");
        }
        let name = described.string("TableName").unwrap_or_default();
        // The answer for another table must not become this table's schema.
        if response::table_name(name)? != *table {
            return Err(response::unreadable(format_args!(
                "it describes {name} where {table} was asked for"
            )));
        }
        Ok(TableDescription {
            at_ms: SystemClock.now_ms(),
            ..table_description::read(described)?
        })
    }

    /// Reads one page: `write` encodes the request for a start key or for the first page.
    ///
    /// # Errors
    /// As [`Self::call`]; pages that do not advance.
    fn read_page(
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
            // The body of a request holds its start key and everything else that distinguishes the
            // read, so its digest identifies the position.
            self.shared.cycles.record_page(
                start.map(|start| body_after(Some(start))),
                &body_after(Some(last)),
            )?;
        }
        Ok(page)
    }
}

/// Checks that an item of a page lies behind the page's start key: if it came again, a reader that
/// continues after the last item shown would never end.
fn check_is_after(start: Option<&Item>, item: &Item) -> Result<(), &'static str> {
    match start {
        Some(start)
            if start
                .0
                .iter()
                .all(|(name, value)| item.get(name) == Some(value)) =>
        {
            Err("it has the item that it is to go on after")
        }
        _ => Ok(()),
    }
}

/// Fails with the error that the parser of the request recorded.
fn check_fault(fault: Option<Box<Error>>) -> Result<(), Error> {
    fault.map_or(Ok(()), |fault| Err(*fault))
}

/// The requested detail of consumed capacity: by table and index, as the metrics need it.
const CAPACITY_DETAIL: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// Generates the dispatch of each operation to its request, as its row in the table says.
macro_rules! send {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        fn send(client: &Client, call: Call) {
            match call { $(Call::$name(request, done) => done.complete(send!(@$remote client, $name, $method, request)),)* }
        }
    };
    (@Forwarded $client:ident, $name:ident, $method:ident, $request:ident) => { $client.call_declared(stringify!($name), &$request) };
    (@Charged $client:ident, $name:ident, $method:ident, $request:ident) => {{
        let mut request = $request;
        request.return_consumed_capacity = CAPACITY_DETAIL;
        $client.call_declared(stringify!($name), &request)
    }};
    (@Completed $client:ident, $name:ident, $method:ident, $request:ident) => {{
        let mut request = $request;
        request.return_consumed_capacity = CAPACITY_DETAIL;
        requests::$method($client, request)
    }};
    (@Custom $client:ident, $name:ident, $method:ident, $request:ident) => { requests::$method($client, $request) };
    (@LocalOnly $client:ident, $name:ident, $method:ident, $request:ident) => {{
        let _ = $request;
        Err(Error::Unavailable(concat!(
            stringify!($name), " is not made through a remote mount; use the service's own tools for it"
        )))
    }};
}
operations!(send);

impl Database for Client {
    /// Runs a write on a worker, where it does not block the caller.
    fn start(&self, call: Call) {
        match call.kind() {
            OperationKind::Read | OperationKind::Control | OperationKind::PassThrough => {
                send(self, call)
            }
            OperationKind::Write => {
                let client = self.clone();
                self.shared
                    .workers
                    .run(Box::new(move || send(&client, call)));
            }
        }
    }

    fn for_caller(&self, caller: &CancelToken) -> Option<Arc<dyn Database>> {
        Some(Arc::new(Self {
            caller: caller.clone(),
            ..self.clone()
        }))
    }

    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        // The recorded error needs no check: the service finds it too, since all keys are sent.
        let request = BatchGetItemRequest {
            return_consumed_capacity: CAPACITY_DETAIL,
            ..request.clone()
        };
        self.call(
            "BatchGetItem",
            |out| wire::encode_request(&request, out),
            |json| batches::read_get_response(json, &request, rows),
        )
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        check_fault(
            request
                .start_key_fault
                .clone()
                .map(|fault| Box::new(QueryError::StartKeyValue(fault).into())),
        )?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let shape = request
            .key_condition_expression
            .as_deref()
            .and_then(|text| {
                // The service refuses a condition that does not parse.
                KeyConditionShape::parse(text, &mut PlaceholderScope::new(&request.placeholders))
                    .ok()
            });
        // A wrong item would appear in another collection's folder, so the service's answer is
        // checked.
        let fits = |item: &Item| match &shape {
            Some(shape) if !shape.matches(item) => {
                Err("it has an item that does not fit the key condition")
            }
            _ => check_is_after(start, item),
        };
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let mut request = request.clone();
            request.exclusive_start_key = start.cloned();
            request.return_consumed_capacity = CAPACITY_DETAIL;
            wire::encode_request(&request, out);
        };
        self.read_page("Query", write, start, |json| {
            pages::read(json, table, fits, rows)
        })
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let fault = request
            .start_key_fault
            .clone()
            .map(QueryError::StartKeyValue)
            .or(request.segment_fault.clone());
        check_fault(fault.map(|fault| Box::new(fault.into())))?;
        let (start, table) = (request.exclusive_start_key.as_ref(), &request.table_name);
        let write = |start: Option<&Item>, out: &mut Vec<u8>| {
            let mut request = request.clone();
            request.exclusive_start_key = start.cloned();
            request.return_consumed_capacity = CAPACITY_DETAIL;
            wire::encode_request(&request, out);
        };
        self.read_page("Scan", write, start, |json| {
            pages::read(json, table, |item| check_is_after(start, item), rows)
        })
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// The limit of tracked reads. Of an evicted one, only a page that ends where it begins is
/// detected.
const CHAINS_MAX: usize = 4096;

/// The progress of a chain of pages.
#[derive(Debug, Clone, Copy)]
struct PageChain {
    pages: u64,
    earlier: Digest,
}

/// A detector of cycles in the pages of a read: a page that ends where an earlier one did would be
/// followed by the same pages forever. The earlier position is replaced at each power of two
/// (Brent's algorithm).
#[derive(Debug, Default)]
pub struct CycleDetector(Mutex<LruMap<Digest, PageChain, CHAINS_MAX>>);

impl CycleDetector {
    /// Records that the page from `start` (`None` is the first page) ended at `next`.
    ///
    /// # Errors
    /// An earlier page of the chain ended at `next` too.
    pub fn record_page(&self, start: Option<Vec<u8>>, next: &[u8]) -> Result<(), Error> {
        // Digests, because bodies are long and 4,096 reads may be tracked.
        let (start, next) = (start.map(|start| digest(&start)), digest(next));
        let mut chains = self.0.lock();
        let mut chain = start
            .and_then(|start| chains.get(&start).copied())
            .unwrap_or(PageChain {
                pages: 0,
                earlier: next,
            });
        if start == Some(next) || chain.pages > 0 && chain.earlier == next {
            return Err(response::unreadable(
                "its pages do not move on: one ends where an earlier one did",
            ));
        }
        chain.pages += 1;
        // The remembered position moves ever further apart, so that a cycle of any length is found
        // within a few rounds.
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

    /// Returns the number of pages that are read before the chain ends, or as an error before a
    /// cycle is found.
    fn pages(next: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        let (chains, mut at, mut pages) = (CycleDetector::default(), None, 0);
        loop {
            pages += 1;
            let Some(last) = next(at.unwrap_or(0)) else {
                return Ok(pages);
            };
            let start = at.map(|at: u32| at.to_be_bytes().to_vec());
            if chains.record_page(start, &last.to_be_bytes()).is_err() {
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
            let found =
                pages(|at| Some(if at + 1 < way + circle { at + 1 } else { way })).unwrap_err();
            assert!(found <= 3 * (way + circle), "{way} {circle}: {found}");
        }
    }

    #[test]
    fn repeated_and_concurrent_reads_are_no_cycle() {
        let chains = CycleDetector::default();
        for _ in 0..3 {
            chains.record_page(None, b"1").unwrap();
            chains.record_page(Some(b"1".to_vec()), b"2").unwrap();
            chains.record_page(Some(b"1".to_vec()), b"2").unwrap();
            chains.record_page(Some(b"2".to_vec()), b"3").unwrap();
        }
    }
}
