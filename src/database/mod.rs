//! The DynamoDB operations as a trait, and the reads that the filesystem view needs beside them.
//!
//! [`Database`] is any DynamoDB-compatible service. [`Browse`] is the interface of the filesystem
//! view: stat, text, listings. The local engine answers it from record headers, without decoding
//! items.
//!
//! ```text
//! local/    the embedded engine as both traits      entries  keys, ranges and counters of Browse     cancel       cancellation tokens, backoff
//! remote/   a remote service as both traits         layout   trait Layout: metrics and partitions    thread_pool  a small thread pool
//! cached/   a DAX-like cache before a Database      samples  the example tables                      lru_map      LRU maps
//! copies/   copies and comparisons of tables        prelude  common imports                             ttl_map      maps of recent events
//! ```

pub mod cached;
pub mod cancel;
pub mod copies;
pub mod entries;
pub mod layout;
pub mod local;
pub mod lru_map;
pub mod prelude;
#[cfg(feature = "remote")]
pub mod remote;
pub mod samples;
pub mod thread_pool;
pub mod ttl_map;

use std::ops::ControlFlow;
use std::sync::Arc;

use self::cancel::CancelToken;
use crate::codec::record::Record;
use crate::codec::{digest::Digest, dynamodb_json};
use crate::expr::read_request::ReadRequest;
use crate::model::api::Version;
use crate::model::api::backup::*;
use crate::model::api::operation::*;
use crate::model::api::resource::*;
use crate::model::api::table_control::{
    SavedQueries, SavedQueryChange, SavedQueryOutcome, TrashChange, TrashKey, TrashRequest,
    TrashStat,
};
use crate::model::api::tables::{AbsentEntry, IndexEstimate};
use crate::model::api::transfer::*;
use crate::model::api::*;
use crate::model::error::{RemoteCause, StoreError};
use crate::model::metrics::HashRange;
use crate::model::{AttributeValue, Error, Item, Key, TableName, TableSchema};

pub use crate::codec::record::{BatchRowSink, RowSink};
pub use crate::model::api::Completion;
pub use entries::{
    CacheCounters, Collection, EntryKey, EntryRange, EntryStat, ListPosition, PartitionKey,
    SourceName, SourceStats, TextForm,
};

/// A visitor of the entries of a listing, each with the bytes of its [`ListPosition`]; `Break` ends
/// the listing.
pub type VisitEntry<'v> = dyn FnMut(&EntryKey, EntryStat, &[u8]) -> ControlFlow<()> + 'v;

/// A visitor of stored records; `Break` ends the walk.
pub type VisitRecord<'v> = dyn FnMut(&Record<'_>) -> ControlFlow<()> + 'v;

/// A visitor of listed values; `Break` ends the listing.
pub type Visit<'v, T> = dyn FnMut(T) -> ControlFlow<()> + 'v;

/// The deferred charge of a page: consumed capacity that is counted when the page is delivered. It
/// may be charged as often as the page is delivered.
#[derive(Clone)]
pub struct DeferredCharge(Arc<dyn Fn() -> Result<(), Error> + Send + Sync>);

impl DeferredCharge {
    /// Creates a charge that is applied by this function.
    pub fn new(apply: impl Fn() -> Result<(), Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(apply))
    }

    /// Counts the consumed capacity.
    ///
    /// # Errors
    /// `Throttled`, where throttling is simulated: the page must not be delivered. Errors of the
    /// store.
    pub fn spend(&self) -> Result<(), Error> {
        (self.0)()
    }
}

opaque_debug!(DeferredCharge);

/// Generates a blocking method for each operation of the table.
macro_rules! blocking_methods {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        $(#[doc = concat!(stringify!($name), ", waited for.")]
        fn $method(&self, request: $request) -> Result<$response, Error> {
            run_blocking(CallContext::default(), |done| self.start(Call::$name(request, done)))
        })*
    };
}

/// The DynamoDB operations.
pub trait Database: Send + Sync {
    /// Starts an operation, which reports its outcome exactly once.
    fn start(&self, call: Call);

    /// Reads items of several tables, and passes each item found to `rows`.
    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRowSink<'_>,
    ) -> Result<BatchGetItemPage, Error>;

    /// Reads one page, and passes its rows to `rows` as they are found.
    fn query_rows(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error>;
    fn scan_rows(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error>;

    operations!(blocking_methods);

    /// Returns a handle to the same database with waits that this caller can cancel; `None` if the
    /// database never waits for a remote service, so that one handle serves all callers.
    fn for_caller(&self, _caller: &CancelToken) -> Option<Arc<dyn Database>> {
        None
    }

    /// Returns the description of a table, or `None` if there is no such table.
    fn find_table(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        let request = DescribeTableRequest {
            table_name: table.clone(),
        };
        found(self.describe_table(request).map(|response| response.table))
    }

    /// Reads items of several tables.
    fn batch_get_item(&self, request: &BatchGetItemRequest) -> Result<BatchGetItemResponse, Error> {
        let mut responses = vec![Vec::new(); request.request_items.len()];
        let mut failed = None;
        let page = self.batch_get_rows(request, &mut |place, row| {
            match row.to_item() {
                Ok(item) => responses[place].push(item),
                Err(error) => failed = Some(error),
            }
            true
        })?;
        failed.map_or(Ok(BatchGetItemResponse { responses, page }), |error| {
            Err(error.into())
        })
    }

    /// True if requests go to a remote service, which takes them as their callers wrote them.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the counters of the cache before the database, if there is one.
    fn cache_counters(&self) -> Option<CacheCounters> {
        None
    }

    /// Returns metrics and layout, if the database knows them.
    fn layout(&self) -> Option<&dyn layout::Layout> {
        None
    }

    /// Reads one page with its items.
    fn query(&self, request: &QueryRequest) -> Result<QueryResponse, Error> {
        let (items, page) = collect_page(&mut |rows| self.query_rows(request, rows))?;
        Ok(QueryResponse {
            items: items_unless_count(request.select, items),
            page,
        })
    }

    /// Reads one page with its items.
    fn scan(&self, request: &ScanRequest) -> Result<ScanResponse, Error> {
        let (items, page) = collect_page(&mut |rows| self.scan_rows(request, rows))?;
        Ok(ScanResponse {
            items: items_unless_count(request.select, items),
            page,
        })
    }
}

/// Takes the error of a table that does not exist for `None`.
pub(crate) fn found<T>(outcome: Result<T, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::Remote(error)) if error.cause() == RemoteCause::NotFound => Ok(None),
        Err(error) if error.exception() == "ResourceNotFoundException" => Ok(None),
        Err(error) => Err(error),
    }
}

/// A function that reads a page and passes on its rows.
type ReadPage<'a> = dyn FnMut(&mut RowSink<'_>) -> Result<Page, Error> + 'a;

/// Collects the rows of a page as items.
pub(crate) fn collect_page(read: &mut ReadPage<'_>) -> Result<(Vec<Item>, Page), Error> {
    let mut items: Result<Vec<Item>, StoreError> = Ok(Vec::new());
    let page = read(&mut |row| {
        if let Ok(list) = &mut items {
            match row.to_item() {
                Ok(item) => list.push(item),
                Err(error) => items = Err(error),
            }
        }
    })?;
    Ok((items?, page))
}

fn items_unless_count(select: Option<Select>, items: Vec<Item>) -> Option<Vec<Item>> {
    (select != Some(Select::Count)).then_some(items)
}

/// Runs an operation to its end: starts it with a callback, and waits for the callback.
pub(crate) fn run_blocking<T: Send + 'static>(
    context: CallContext,
    start: impl FnOnce(Completion<T>),
) -> Result<T, Error> {
    // A buffer for the one message: the sender may be the writer thread, which must not block.
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    // The receiver waits below, so it cannot be gone.
    start(Completion::new(context.blocking(), move |outcome| {
        drop(sender.send(outcome))
    }));
    receiver
        .recv()
        .unwrap_or(Err(Error::Store(crate::model::error::StoreError::Closed)))
}

/// Writes one item by a request of its own.
pub(crate) fn write_alone(
    database: &dyn Database,
    context: CallContext,
    table: &TableName,
    write: WriteRequest,
) -> Result<ConsumedCapacity, Error> {
    let table = table.clone();
    match write {
        WriteRequest::Put(item) => {
            let request = PutItemRequest::new(table, item);
            let start = |done| database.start(Call::PutItem(request, done));
            run_blocking(context, start).map(|response| response.consumed_capacity)
        }
        WriteRequest::Delete(key) => {
            let request = DeleteItemRequest::new(table, key);
            let start = |done| database.start(Call::DeleteItem(request, done));
            run_blocking(context, start).map(|response| response.consumed_capacity)
        }
    }
}

/// The reads and changes of the filesystem view that are not operations. Every call is one
/// consistent read of the last commit.
pub trait Browse: Database {
    /// Returns the same database with cancellable waits, as [`Database::for_caller`] does.
    fn browse_for(&self, _caller: &CancelToken) -> Option<Arc<dyn Browse>> {
        None
    }

    /// Returns the definition of a table, or `None` if there is no such table. Cheap: it is cached
    /// until the catalog changes.
    fn schema(&self, table: &TableName) -> Result<Option<Arc<TableSchema>>, Error>;

    fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error>;

    /// Returns all table names in byte order.
    fn table_names(&self) -> Result<Vec<TableName>, Error>;

    fn stats(&self, source: &SourceName) -> Result<SourceStats, Error>;

    /// Returns the last version that any item got; later changes have greater ones. 0 if the
    /// database does not number changes.
    fn last_version(&self) -> Result<Version, Error> {
        Ok(0)
    }

    /// Returns a sentence that says that a table is incomplete, if a pull into it has not ended.
    fn incomplete_pull(&self, _table: &TableName) -> Result<Option<String>, Error> {
        Ok(None)
    }

    fn stat(&self, source: &SourceName, key: &EntryKey) -> Result<Option<EntryStat>, Error>;

    /// Returns the text of an entry, and the stat of the version that the text shows.
    fn text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error>;

    /// Returns the attributes of an entry, and the stat of their version.
    fn item(
        &self,
        source: &SourceName,
        key: &EntryKey,
    ) -> Result<Option<(Item, EntryStat)>, Error> {
        let found = self.text(source, key, TextForm::DynamoDbJson)?;
        let parse = |(text, stat): (Vec<u8>, EntryStat)| {
            let item = dynamodb_json::parse(&text);
            item.map(|item| (item, stat))
                .map_err(|_| StoreError::Corrupt("an item does not read back").into())
        };
        found.map(parse).transpose()
    }

    /// Returns the same as [`Browse::text`] for a reader: it consumes and counts what a GetItem
    /// does, where [`Browse::text`] itself consumes nothing.
    ///
    /// # Errors
    /// `Throttled`, where throttling is simulated.
    fn metered_text(
        &self,
        source: &SourceName,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error> {
        self.text(source, key, form)
    }

    /// Reads one page that consumes nothing until its charge is applied, for callers that may need
    /// only the size of the answer.
    fn read_page_unbilled(
        &self,
        request: &ReadRequest,
        rows: &mut RowSink<'_>,
    ) -> Result<(Page, DeferredCharge), Error>;

    /// Runs a search as [`Browse::read_page_unbilled`] reads a page. A service bills it at once.
    ///
    /// # Errors
    /// Those of SearchVectors.
    fn search_vectors_unbilled(
        &self,
        request: &SearchVectorsRequest,
    ) -> Result<(SearchVectorsResponse, DeferredCharge), Error> {
        let found = self.search_vectors(request.clone())?;
        Ok((found, DeferredCharge::new(|| Ok(()))))
    }

    /// Checks that a request may be read to its end, page after page; one page always may.
    ///
    /// # Errors
    /// `Budget`: all of it costs more than a limit.
    fn check_read_to_end(&self, _request: &ReadRequest) -> Result<(), Error> {
        Ok(())
    }

    /// True if the database takes writes.
    fn is_writable(&self) -> bool {
        true
    }

    /// True if [`Browse::read_page_unbilled`], [`Browse::peek_page`] and [`Browse::records`]
    /// consume capacity as reads do.
    fn charges_peeks(&self) -> bool {
        false
    }

    /// Reads one page for inspection only: it consumes nothing, warms no cache, is never throttled
    /// and appears in no metrics.
    fn peek_page(&self, request: &ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error>;

    /// Returns the item collection of a partition key, if it has entries.
    fn collection(
        &self,
        source: &SourceName,
        partition: &PartitionKey,
    ) -> Result<Option<Collection>, Error>;

    /// Returns the partition key with this digest, if it has entries.
    fn partition_by_digest(
        &self,
        source: &SourceName,
        digest: Digest,
    ) -> Result<Option<PartitionKey>, Error>;

    /// Lists item collections in hash order, strictly after `after`; with a range, only those that
    /// lie at least partly inside it.
    fn collections(
        &self,
        source: &SourceName,
        range: Option<&HashRange>,
        after: Option<&ListPosition>,
        visit: &mut Visit<'_, (Collection, ListPosition)>,
    ) -> Result<(), Error>;

    /// Lists entries in key order, strictly after `after`, each with the bytes of its
    /// [`ListPosition`].
    fn entries(
        &self,
        source: &SourceName,
        range: &EntryRange,
        after: Option<&ListPosition>,
        visit: &mut VisitEntry<'_>,
    ) -> Result<(), Error>;

    /// Walks the stored records of a source in key order, strictly after `after`. A segment is one
    /// of several equally wide strips of the hash space. Returns the position of the last record if
    /// `visit` ended the walk. Consumes nothing and warms no cache.
    fn records(
        &self,
        source: &SourceName,
        segment: Option<Segment>,
        after: Option<&ListPosition>,
        visit: &mut VisitRecord<'_>,
    ) -> Result<Option<ListPosition>, Error>;

    /// Lists items without an entry in an index, in the table's order, by a read of the whole
    /// table. `only_refused`: lists only the items that an invalid value keeps out, which are
    /// recorded.
    fn absences(
        &self,
        _source: &SourceName,
        _only_refused: bool,
        _visit: &mut Visit<'_, AbsentEntry>,
    ) -> Result<(), Error> {
        Err(Error::Unavailable(
            "which items an index leaves out is not told by the service; `ddbfs pull` the table and look there",
        ))
    }

    /// Checks if these requests to one table would succeed now, one after the other, without
    /// changing anything. Returns the index of the first that would fail, and its error. Succeeds
    /// where the outcome cannot be told beforehand.
    fn check_update_table(&self, _requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        Ok(())
    }

    /// Checks if a CreateTable request would succeed now, as [`Browse::check_update_table`] does.
    fn check_create_table(&self, _request: CreateTableRequest) -> Result<(), Error> {
        Ok(())
    }

    /// Forecasts the index that the request would create, from the items; `None` if the database
    /// cannot tell. Consumes nothing.
    fn forecast_index(
        &self,
        _request: &UpdateTableRequest,
        _index: &IndexDefinition,
    ) -> Result<Option<IndexEstimate>, Error> {
        Ok(None)
    }

    /// Pauses or resumes the propagation of writes to a table's global indexes. Not an operation of
    /// DynamoDB.
    fn pause_index_propagation(&self, _table: &TableName, _is_paused: bool) -> Result<(), Error> {
        if !self.is_writable() {
            return Err(Error::ReadOnly);
        }
        Err(Error::Unavailable(
            "a pause of indexes is not made through a remote mount; use the service's own tools for it",
        ))
    }

    /// Forgets the counted load of a table and its indexes, so that counting begins now.
    fn count_from_now(&self, _table: &TableName) -> Result<(), Error> {
        Err(Error::Unavailable(
            "the counts of a remote mount begin with it and guard its budget; mount anew to begin from now",
        ))
    }

    /// Returns the saved queries of a table; empty if there is no such table.
    fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error>;

    /// Changes the saved queries of a table, durably.
    fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error>;

    /// Starts a delete that moves the item's text into the trash, both or neither; calls `done`
    /// after the commit.
    fn trash_item(&self, request: TrashRequest, done: Completion<DeleteItemResponse>);

    /// Lists the trash of a table by folder and name: of one folder, of no folder (`Some(None)`),
    /// or all.
    fn trashed(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut Visit<'_, TrashStat>,
    ) -> Result<(), Error>;

    /// Returns the tables that may have files in the trash, without asking a remote service for all
    /// its tables.
    fn tables_with_trash(&self) -> Result<Vec<TableName>, Error> {
        self.table_names()
    }

    /// Returns the file at a place in the trash, and its content.
    fn trashed_at(&self, key: &TrashKey) -> Result<Option<(TrashStat, Vec<u8>)>, Error>;

    /// Changes the trash, durably; returns true if there was something to change.
    fn change_trash(&self, change: TrashChange) -> Result<bool, Error>;

    /// Returns an id that changes whenever any content may have changed, through any front end or
    /// process.
    fn commit_id(&self) -> u64;

    /// Returns the id of the commit that a read shows that begins now: [`Browse::commit_id`] may be
    /// a moment ahead.
    fn visible_commit_id(&self) -> Result<u64, Error> {
        Ok(self.commit_id())
    }

    /// Sleeps until [`Browse::commit_id`] differs from `after`, at most for `timeout`; returns the
    /// id then.
    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error>;

    /// Returns the items of a table that expire first, at most `count`: milliseconds since the
    /// epoch, and key.
    fn expiring(&self, _table: &TableName, _count: usize) -> Result<Vec<(u64, Key)>, Error> {
        Err(Error::Unavailable(
            "which items expire next is not told by the service without reading all of them; `ddbfs pull` the table and look there",
        ))
    }

    /// Waits until all writes that were acknowledged before they ended have ended; see
    /// [`Gathering::Behind`].
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    fn flush_writes(&self) -> Result<(), Error> {
        Ok(())
    }

    fn store_info(&self) -> crate::store::StoreInfo;

    /// Registers an observer of everything that this process writes from now on. After the return,
    /// a read sees every write that the observer was not notified of. Where writes of other
    /// processes cannot be observed, the observer is never notified, because the kernel could not
    /// invalidate what it caches.
    fn observe(&self, _observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        Ok(())
    }

    /// Removes an observer; only notifications under way still reach it.
    fn unobserve(&self, _observer: &Arc<dyn CommitObserver>) {}

    /// Gives a holder the lease whenever this process is the only one on its data, from a thread of
    /// the store; see [`crate::store::Store::hold_lease`]. A remote service never gives it.
    fn hold_lease(&self, _holder: Arc<dyn crate::store::LeaseHolder>) -> Result<(), Error> {
        Ok(())
    }
}
