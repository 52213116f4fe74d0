//! A remote service in this process: a local database with counted requests, and responses held
//! back where a test wants it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ddbfs::database::local::LocalDatabase;
use ddbfs::database::{BatchRowSink, Database, RowSink};
use ddbfs::model::Error;
use ddbfs::model::api::*;
use parking_lot::{Condvar, Mutex};

/// The service; see the module.
pub struct Service {
    pub inner: Arc<LocalDatabase>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// DescribeTable, which is no request for data.
    described: Mutex<u64>,
    /// The operation with held-back responses, and the number of them.
    held: Mutex<(Option<&'static str>, usize)>,
    changed: Condvar,
    /// True if it reports every table as empty, as a service does for hours of a new one.
    pub counts_nothing: AtomicBool,
    /// Read units of pages.
    units: Mutex<f64>,
}

impl Service {
    pub fn of(inner: Arc<LocalDatabase>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            counts: Mutex::default(),
            described: Mutex::default(),
            held: Mutex::default(),
            changed: Condvar::new(),
            counts_nothing: false.into(),
            units: Mutex::default(),
        })
    }

    /// Returns the data requests since the last call, as `GetItem 2, Query 1`.
    pub fn requests(&self) -> String {
        let counts = std::mem::take(&mut *self.counts.lock());
        counts
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns the number of DescribeTable since the last call.
    pub fn described(&self) -> u64 {
        std::mem::take(&mut self.described.lock())
    }

    /// Returns the read units of pages since the last call.
    pub fn page_units(&self) -> f64 {
        std::mem::take(&mut self.units.lock())
    }

    fn counted(&self, page: Result<Page, Error>) -> Result<Page, Error> {
        page.inspect(|page| *self.units.lock() += page.consumed_capacity.total())
    }

    /// Holds back the responses of an operation from now on.
    pub fn hold(&self, operation: &'static str) {
        self.held.lock().0 = Some(operation);
    }

    /// Waits until that many responses are held back.
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
        self.wait_while_held(operation);
        answer
    }

    fn wait_while_held(&self, operation: &'static str) {
        let mut held = self.held.lock();
        if held.0 == Some(operation) {
            held.1 += 1;
            self.changed.notify_all();
            self.changed
                .wait_while(&mut held, |held| held.0 == Some(operation));
            held.1 -= 1;
        }
    }
}

impl Database for Service {
    fn start(&self, call: Call) {
        let name = call.name();
        match call {
            Call::DescribeTable(request, done) => {
                *self.described.lock() += 1;
                self.wait_while_held(name);
                done.complete(self.inner.describe_table(request).map(|mut response| {
                    if self.counts_nothing.load(Ordering::SeqCst) {
                        let table = &mut response.table;
                        (table.item_count, table.table_size_bytes) = (0, 0);
                        table
                            .indexes
                            .iter_mut()
                            .for_each(|index| (index.item_count, index.index_size_bytes) = (0, 0));
                    }
                    response
                }));
            }
            Call::GetItem(..)
            | Call::PutItem(..)
            | Call::DeleteItem(..)
            | Call::UpdateItem(..)
            | Call::BatchWriteItem(..)
            | Call::TransactGetItems(..)
            | Call::TransactWriteItems(..) => {
                self.inner.start(call);
                self.asked(name, ());
            }
            call => self.inner.start(call),
        }
    }

    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        self.asked("BatchGetItem", self.inner.batch_get_rows(request, rows))
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.asked("Query", self.counted(self.inner.query_rows(request, rows)))
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.asked("Scan", self.counted(self.inner.scan_rows(request, rows)))
    }
}
