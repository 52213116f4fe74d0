//! A service elsewhere that is in this process: a local database, its requests counted, and answers held back where a test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ddbfs::database::admin::Administration;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{BatchRows, Database, Done, Rows, Statements, Streams};
use ddbfs::model::Error;
use ddbfs::model::api::*;
use parking_lot::{Condvar, Mutex};

/// See the module.
pub struct Service {
    pub inner: Arc<LocalDatabase>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// The operation whose answers are held back, and how many are.
    held: Mutex<(Option<&'static str>, usize)>,
    changed: Condvar,
    /// It says of every table that it is empty, as a service does for hours of a new one.
    pub counts_nothing: AtomicBool,
    /// Read units of pages.
    units: Mutex<f64>,
}

impl Service {
    pub fn of(inner: Arc<LocalDatabase>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            counts: Mutex::default(),
            held: Mutex::default(),
            changed: Condvar::new(),
            counts_nothing: false.into(),
            units: Mutex::default(),
        })
    }

    /// Data requests since the last call, as `GetItem 2, Query 1`.
    pub fn requests(&self) -> String {
        let counts = std::mem::take(&mut *self.counts.lock());
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }

    /// Read units of pages since the last call.
    pub fn page_units(&self) -> f64 {
        std::mem::take(&mut self.units.lock())
    }

    fn counted(&self, page: Result<Page, Error>) -> Result<Page, Error> {
        page.inspect(|page| *self.units.lock() += page.consumed_capacity.total())
    }

    /// Holds back the answers of an operation from now on.
    pub fn hold(&self, operation: &'static str) {
        self.held.lock().0 = Some(operation);
    }

    /// Waits until that many answers are held back.
    pub fn wait_for_held(&self, count: usize) {
        let mut held = self.held.lock();
        self.changed.wait_while(&mut held, |held| held.1 < count);
    }

    pub fn release(&self) {
        self.held.lock().0 = None;
        self.changed.notify_all();
    }

    fn asked<T>(&self, operation: &'static str, answer: T) -> T {
        *self.counts.lock().entry(operation).or_default() += 1;
        let mut held = self.held.lock();
        if held.0 == Some(operation) {
            held.1 += 1;
            self.changed.notify_all();
            self.changed.wait_while(&mut held, |held| held.0 == Some(operation));
            held.1 -= 1;
        }
        answer
    }
}

macro_rules! handed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $answer { self.inner.$name($($argument),*) })*
    };
    (counted $($operation:literal $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $answer { self.asked($operation, self.inner.$name($($argument),*)) })*
    };
}

impl Streams for Service {
    handed_on! {
        list_streams(request: ListStreamsRequest) -> Result<ListStreamsResponse, Error>;
        describe_stream(request: DescribeStreamRequest) -> Result<DescribeStreamResponse, Error>;
        get_shard_iterator(request: GetShardIteratorRequest) -> Result<GetShardIteratorResponse, Error>;
        get_records(request: GetRecordsRequest) -> Result<GetRecordsResponse, Error>;
    }
}

impl Statements for Service {
    handed_on! {
        execute_statement_then(request: ExecuteStatementRequest, done: Done<ExecuteStatementResponse>) -> ();
        batch_execute_statement_then(request: BatchExecuteStatementRequest, done: Done<BatchExecuteStatementResponse>) -> ();
        execute_transaction_then(request: ExecuteTransactionRequest, done: Done<ExecuteTransactionResponse>) -> ();
    }
}

impl Database for Service {
    fn administration(&self) -> Option<&dyn Administration> {
        self.inner.administration()
    }

    fn describe_table(&self, request: DescribeTableRequest) -> Result<DescribeTableResponse, Error> {
        let mut response = self.inner.describe_table(request)?;
        if self.counts_nothing.load(Ordering::SeqCst) {
            let table = &mut response.table;
            (table.item_count, table.table_size_bytes) = (0, 0);
            table.indexes.iter_mut().for_each(|index| (index.item_count, index.index_size_bytes) = (0, 0));
        }
        Ok(response)
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.asked("Query", self.counted(self.inner.query_rows(request, rows)))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.asked("Scan", self.counted(self.inner.scan_rows(request, rows)))
    }

    handed_on! {
        create_table(request: CreateTableRequest) -> Result<CreateTableResponse, Error>;
        list_tables(request: ListTablesRequest) -> Result<ListTablesResponse, Error>;
        delete_table(request: DeleteTableRequest) -> Result<DeleteTableResponse, Error>;
        update_time_to_live(request: UpdateTimeToLiveRequest) -> Result<UpdateTimeToLiveResponse, Error>;
        describe_time_to_live(request: DescribeTimeToLiveRequest) -> Result<DescribeTimeToLiveResponse, Error>;
    }

    handed_on! { counted
        "GetItem" get_item(request: GetItemRequest) -> Result<GetItemResponse, Error>;
        "PutItem" put_item_then(request: PutItemRequest, done: Done<PutItemResponse>) -> ();
        "DeleteItem" delete_item_then(request: DeleteItemRequest, done: Done<DeleteItemResponse>) -> ();
        "UpdateItem" update_item_then(request: UpdateItemRequest, done: Done<UpdateItemResponse>) -> ();
        "BatchGetItem" batch_get_rows(request: &BatchGetItemRequest, rows: &mut BatchRows<'_>) -> Result<BatchGetItemPage, Error>;
        "BatchWriteItem" batch_write_item_then(request: BatchWriteItemRequest, done: Done<BatchWriteItemResponse>) -> ();
        "TransactGetItems" transact_get_items(request: TransactGetItemsRequest) -> Result<TransactGetItemsResponse, Error>;
        "TransactWriteItems" transact_write_items_then(request: TransactWriteItemsRequest, done: Done<TransactWriteItemsResponse>) -> ();
    }
}
