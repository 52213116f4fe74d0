//! The local engine as a `Database` (here), as `Browse` (`browse`) and as `Layout` (`layout`): an
//! adapter that passes each call to [`Engine`]. `incomplete`: the mark of a table that is
//! not whole.

mod browse;
mod incomplete;
mod layout;

use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::prelude::*;
use super::{BatchRowSink, RowSink};
use crate::engine::runtime::Timer;
use crate::engine::{Engine, EngineOptions};
use crate::expr::normal_form::RequestParts;
use crate::model::api::items::item_operations;
use crate::model::api::operation::operations;
use crate::model::api::statements::statement_operations;
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, Call, Consumption, MeasuredResponse, QueryRequest,
    ScanRequest,
};
use crate::model::metrics::MeteredOperation;
use crate::store::Store;

/// The embedded engine behind the traits.
#[derive(Debug, Clone)]
pub struct LocalDatabase {
    engine: Arc<Engine>,
    /// The data directory, which records the tables that a copy has not completed.
    data_dir: Option<PathBuf>,
}

impl LocalDatabase {
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            data_dir: None,
        }
    }

    /// Sets the data directory, which records incomplete tables.
    #[must_use]
    pub fn with_data_dir(self, data: &Path) -> Self {
        Self {
            data_dir: Some(data.to_owned()),
            ..self
        }
    }

    /// Opens the engine on a store.
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        Ok(Self::new(Arc::new(Engine::open(store, options)?)))
    }

    /// Returns the engine, for calls that the traits lack: check, close.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

const NOT_REMOTE: Error =
    Error::Unavailable("this database is the service: nothing is passed on from it");

/// Dispatches each operation to the engine's method of the same name.
macro_rules! dispatch {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        fn start(&self, call: Call) {
            let engine = &self.engine;
            match self.timed(self.marked(call)) { $(Call::$name(request, done) => dispatch!(@$kind engine, $method, request, done),)* }
        }
    };
    (@Read $engine:ident, $method:ident, $request:ident, $done:ident) => { $done.complete($engine.$method(&$request)) };
    // DeleteTable is the only control operation that invalidates the kernel's cache.
    (@Control $engine:ident, delete_table, $request:ident, $done:ident) => {{
        let deleted = $engine.delete_table($request, $done.context.wait);
        $done.complete(deleted)
    }};
    (@Control $engine:ident, $method:ident, $request:ident, $done:ident) => { $done.complete($engine.$method($request)) };
    (@PassThrough $engine:ident, $method:ident, $request:ident, $done:ident) => {{
        drop($request);
        $done.complete(Err(NOT_REMOTE));
    }};
    (@Write $engine:ident, $method:ident, $request:ident, $done:ident) => { $engine.$method($request, $done) };
}

impl Database for LocalDatabase {
    operations!(dispatch);

    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error> {
        let timer = self.timer(MeteredOperation::BatchGetItem, request);
        let mut returned = vec![0; request.request_items.len()];
        let page = self.engine.batch_get_item(request, &mut |place, row| {
            let takes_more = rows(place, row);
            returned[place] += 1;
            takes_more
        });
        timer.finish(page, |page| {
            Consumption::in_order(&page.consumed_capacity, returned.clone())
        })
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let timer = self.timer(MeteredOperation::Query, request);
        timer.finish(self.engine.query(request, rows), Page::consumption)
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let timer = self.timer(MeteredOperation::Scan, request);
        timer.finish(self.engine.scan(request, rows), Page::consumption)
    }

    fn layout(&self) -> Option<&dyn Layout> {
        Some(self)
    }
}

/// Starts the timer of an operation on items or statements.
macro_rules! timer_of_call {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        fn timer_of_call(engine: &Engine, call: &Call) -> Option<Timer> {
            match call {
                $(Call::$name(request, _) => {
                    Some(engine.timer(MeteredOperation::$name, &request.parts()))
                })*
                _ => None,
            }
        }
    };
}
item_operations! { [[statement_operations] [timer_of_call]] }

impl LocalDatabase {
    /// Wraps a call so that it is timed and counted under the tables it names, before its caller
    /// gets the outcome. The requests of a bulk load are no traffic.
    fn timed(&self, call: Call) -> Call {
        if call.is_bulk() {
            return call;
        }
        match timer_of_call(&self.engine, &call) {
            Some(timer) => call.measured(move |outcome| timer.count(outcome)),
            None => call,
        }
    }

    fn timer(&self, operation: MeteredOperation, request: &impl RequestParts) -> Timer {
        self.engine.timer(operation, &request.parts())
    }
}
