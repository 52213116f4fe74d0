//! The local engine as a `Database` (here), as `Browse` (`browse`) and as `Layout` (`layout`): an
//! adapter that passes each call to [`Engine`].

mod browse;
mod layout;

use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::prelude::*;
use super::{BatchRowSink, RowSink};
use crate::engine::{Engine, EngineOptions};
use crate::expr::partiql;
use crate::model::api::operation::operations;
use crate::model::api::{
    BatchGetItemPage, BatchGetItemRequest, Call, ExecuteStatementResponse, QueryRequest,
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
            match self.timed(call) { $(Call::$name(request, done) => dispatch!(@$kind engine, $method, request, done),)* }
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
        let timer = self.engine.timer(MeteredOperation::BatchGetItem);
        let tables = request.request_items.iter().map(|table| &table.table_name);
        timer.finish(tables, self.engine.batch_get_item(request, rows), |_| None)
    }

    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let timer = self.engine.timer(MeteredOperation::Query);
        timer.finish(
            [&request.table_name],
            self.engine.query(request, rows),
            |page| Some(page.count),
        )
    }

    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let timer = self.engine.timer(MeteredOperation::Scan);
        timer.finish(
            [&request.table_name],
            self.engine.scan(request, rows),
            |page| Some(page.count),
        )
    }

    fn layout(&self) -> Option<&dyn Layout> {
        Some(self)
    }
}

impl LocalDatabase {
    /// Wraps a call so that it is timed and counted under the tables it names, before its caller
    /// gets the outcome. The requests of a bulk load are no traffic.
    fn timed(&self, call: Call) -> Call {
        let Some(operation) = MeteredOperation::named(call.name()).filter(|_| !call.is_bulk())
        else {
            return call;
        };
        let timer = self.engine.timer(operation);
        if let Call::ExecuteStatement(request, done) = call {
            let statement = request.statement.clone();
            let timed = done.after(move |outcome: Result<ExecuteStatementResponse, Error>| {
                // A failed statement is parsed again for its table.
                let table = match &outcome {
                    Ok(response) => Some(response.table_name.clone()),
                    Err(_) => partiql::table_of(&statement),
                };
                timer.finish(&table, outcome, |response| {
                    u64::try_from(response.items.len()).ok()
                })
            });
            return Call::ExecuteStatement(request, timed);
        }
        let of_items = call.accesses().into_iter().map(|one| one.table.clone());
        let of_statements = call.statements().into_iter().filter_map(partiql::table_of);
        let tables = distinct(of_items.chain(of_statements));
        call.heard(move |failure| timer.count(&tables, failure, None))
    }
}

/// Returns each table once, in order of first use.
fn distinct(names: impl Iterator<Item = TableName>) -> Vec<TableName> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}
