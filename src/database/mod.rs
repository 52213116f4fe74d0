//! The DynamoDB operations as a trait, and what the filesystem view needs beside them.
//!
//! [`Database`] is any DynamoDB-compatible service. [`Browse`] is what a filesystem asks of one: stat, text, listings;
//! the local engine answers it from record headers, without decoding items.

pub mod bounded;
pub mod cached;
pub mod caller;
pub mod copies;
pub mod entries;
pub mod item_writes;
pub mod layout;
pub mod local;
pub mod pool;
pub mod prelude;
#[cfg(feature = "remote")]
pub mod remote;
pub mod samples;

use std::ops::ControlFlow;
use std::sync::Arc;

use self::caller::Caller;
use crate::codec::digest::Digest;
use crate::codec::record::Record;
use crate::expr::read_request::ReadRequest;
use crate::model::api::backup::*;
use crate::model::api::operation::*;
use crate::model::api::resource::*;
use crate::model::api::table_control::{
    ParkRequest, ParkedChange, ParkedPlace, ParkedStat, SavedQueries, SavedQueryChange,
    SavedQueryOutcome,
};
use crate::model::api::tables::{Absence, IndexForecast};
use crate::model::api::transfer::*;
use crate::model::api::*;
use crate::model::error::{RemoteCause, StoreError};
use crate::model::layout::PlaceRange;
use crate::model::{AttributeValue, Error, Item, Key, TableName, TableSchema};

pub use crate::codec::record::{BatchRows, Rows};
pub use crate::model::api::Done;
pub use entries::{
    CacheCounters, Collection, Entries, EntryKey, EntryStat, PartitionKey, Position, Source,
    SourceStats, TextForm,
};

/// Is given the entries of a listing, each with the bytes of its [`Position`]; `Break` ends it.
pub type VisitEntry<'v> = dyn FnMut(&EntryKey, EntryStat, &[u8]) -> ControlFlow<()> + 'v;

/// Is given records as they are stored; `Break` ends it.
pub type VisitRecord<'v> = dyn FnMut(&Record<'_>) -> ControlFlow<()> + 'v;

/// Is given what is listed; `Break` ends it.
pub type Visit<'v, T> = dyn FnMut(T) -> ControlFlow<()> + 'v;

/// What a page consumes that nobody has been given yet. It may be settled as often as the page is given.
#[derive(Clone)]
pub struct Bill(Arc<dyn Fn() -> Result<(), Error> + Send + Sync>);

impl Bill {
    /// A bill that is settled so.
    pub fn new(settle: impl Fn() -> Result<(), Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(settle))
    }

    /// Counts what was consumed.
    ///
    /// # Errors
    /// `Throttled`, where throttling is simulated: the page is not to be given. Those of the store.
    pub fn settle(&self) -> Result<(), Error> {
        (self.0)()
    }
}

impl std::fmt::Debug for Bill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bill")
    }
}

/// A method for each operation of the table, which waits for its outcome.
macro_rules! methods {
    ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        $(#[doc = concat!(stringify!($name), ", waited for.")]
        fn $method(&self, request: $request) -> Result<$response, Error> {
            wait(CallContext::default(), |done| self.start(Call::$name(request, done)))
        })*
    };
}

/// The DynamoDB operations.
pub trait Database: Send + Sync {
    /// Starts an operation, which tells its outcome once.
    fn start(&self, call: Call);

    /// Reads items of several tables; each one found is given to `rows`.
    fn batch_get_rows(
        &self,
        request: &BatchGetItemRequest,
        rows: &mut BatchRows<'_>,
    ) -> Result<BatchGetItemPage, Error>;

    /// One page, its rows given to `rows` as they are found.
    fn query_rows(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error>;
    fn scan_rows(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error>;

    operations!(methods);

    /// The same database, asked for a caller who may give up; `None` where no service elsewhere is waited for: it is the same for all.
    fn for_caller(&self, _caller: &Caller) -> Option<Arc<dyn Database>> {
        None
    }

    /// A table, if there is one.
    fn described(&self, table: &TableName) -> Result<Option<TableDescription>, Error> {
        match self.describe_table(DescribeTableRequest {
            table_name: table.clone(),
        }) {
            Ok(response) => Ok(Some(response.table)),
            Err(Error::Remote(error)) if error.cause() == RemoteCause::NotFound => Ok(None),
            Err(error) if error.exception() == "ResourceNotFoundException" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Items of several tables.
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

    /// Is another service asked, which takes requests in their callers' own words?
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// What a cache before the database answered, where there is one.
    fn cache_counters(&self) -> Option<CacheCounters> {
        None
    }

    /// Metrics and layout, where they are known.
    fn layout(&self) -> Option<&dyn layout::Layout> {
        None
    }

    /// One page with its items.
    fn query(&self, request: &QueryRequest) -> Result<QueryResponse, Error> {
        let (items, page) = gather(&mut |rows| self.query_rows(request, rows))?;
        Ok(QueryResponse {
            items: unless_counted(request.select, items),
            page,
        })
    }

    /// One page with its items.
    fn scan(&self, request: &ScanRequest) -> Result<ScanResponse, Error> {
        let (items, page) = gather(&mut |rows| self.scan_rows(request, rows))?;
        Ok(ScanResponse {
            items: unless_counted(request.select, items),
            page,
        })
    }
}

/// Reads a page, giving its rows.
type ReadPage<'a> = dyn FnMut(&mut Rows<'_>) -> Result<Page, Error> + 'a;

/// Collects the rows of a page as items.
pub(crate) fn gather(read: &mut ReadPage<'_>) -> Result<(Vec<Item>, Page), Error> {
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

fn unless_counted(select: Option<Select>, items: Vec<Item>) -> Option<Vec<Item>> {
    (select != Some(Select::Count)).then_some(items)
}

/// Runs an operation to its end, which is started with whom to tell.
pub(crate) fn wait<T: Send + 'static>(
    context: CallContext,
    start: impl FnOnce(Done<T>),
) -> Result<T, Error> {
    // Room for the one message: who sends it may be the writer, which must not wait.
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    // The receiver waits below; it cannot be gone.
    start(Done::new(context.waited(), move |outcome| {
        drop(sender.send(outcome))
    }));
    receiver
        .recv()
        .unwrap_or(Err(Error::Store(crate::model::error::StoreError::Closed)))
}

/// What the filesystem view asks beside the operations. Every call is one consistent read of the last commit.
pub trait Browse: Database {
    /// The same, browsed for a caller who may give up; as [`Database::for_caller`].
    fn browse_for(&self, _caller: &Caller) -> Option<Arc<dyn Browse>> {
        None
    }

    /// Definition of a table; `None` when there is none. Cheap: cached until the catalog changes.
    fn schema(&self, table: &TableName) -> Result<Option<Arc<TableSchema>>, Error>;

    fn describe(&self, table: &TableName) -> Result<Option<TableDescription>, Error>;

    /// All table names in byte order.
    fn table_names(&self) -> Result<Vec<TableName>, Error>;

    fn stats(&self, source: &Source) -> Result<SourceStats, Error>;

    /// Says in a sentence that a table is not whole, as a pull of it has not ended.
    fn unfinished(&self, _table: &TableName) -> Result<Option<String>, Error> {
        Ok(None)
    }

    fn stat(&self, source: &Source, key: &EntryKey) -> Result<Option<EntryStat>, Error>;

    /// The entry's text and the stat of the version it is of.
    fn text(
        &self,
        source: &Source,
        key: &EntryKey,
        form: TextForm,
    ) -> Result<Option<(Vec<u8>, EntryStat)>, Error>;

    /// Says that an entry of that size was read as GetItem reads it: what [`Browse::text`] gives for other ends costs nothing.
    ///
    /// # Errors
    /// `Throttled`, where throttling is simulated: it is not to be given to who asked.
    fn count_get(&self, _source: &Source, _key: &EntryKey, _item_bytes: u32) -> Result<(), Error> {
        Ok(())
    }

    /// One page that consumes nothing until its bill is settled: for one who may ask only how large the answer is.
    ///
    /// # Errors
    /// As of [`Database::query_rows`] and [`Database::scan_rows`].
    fn page_on_account(
        &self,
        request: &ReadRequest,
        rows: &mut Rows<'_>,
    ) -> Result<(Page, Bill), Error>;

    /// May anything be written?
    fn is_writable(&self) -> bool {
        true
    }

    /// Do [`Browse::page_on_account`], [`Browse::look`] and [`Browse::records`] consume what a read consumes?
    fn charges_looks(&self) -> bool {
        false
    }

    /// One page for one who only inspects: it consumes nothing, warms nothing, meets no throttling and is in no metrics.
    ///
    /// # Errors
    /// As of [`Database::query_rows`] and [`Database::scan_rows`], but `Throttled`.
    fn look(&self, request: &ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error>;

    /// The collection of that partition key, if it has entries.
    fn collection(
        &self,
        source: &Source,
        partition: &PartitionKey,
    ) -> Result<Option<Collection>, Error>;

    /// The partition key with that digest, if it has entries.
    fn partition_by_digest(
        &self,
        source: &Source,
        digest: Digest,
    ) -> Result<Option<PartitionKey>, Error>;

    /// Collections in hash order, strictly after `after`; those alone of which something lies in a range, if one is given.
    fn collections(
        &self,
        source: &Source,
        range: Option<&PlaceRange>,
        after: Option<&Position>,
        visit: &mut Visit<'_, (Collection, Position)>,
    ) -> Result<(), Error>;

    /// Entries in key order, strictly after `after`, each with the bytes of its [`Position`].
    fn entries(
        &self,
        source: &Source,
        range: &Entries,
        after: Option<&Position>,
        visit: &mut VisitEntry<'_>,
    ) -> Result<(), Error>;

    /// The records of a source in key order, as they are stored, strictly after `after`; of a segment, a strip of the hash space as wide as
    /// the others. The place of the last one when `visit` ended the walk. Consumes nothing and warms nothing.
    fn records(
        &self,
        source: &Source,
        segment: Option<Segment>,
        after: Option<&Position>,
        visit: &mut VisitRecord<'_>,
    ) -> Result<Option<Position>, Error>;

    /// Items without an entry in an index, in the table's order, for which the whole table is read; `only_refused`: those that a value keeps
    /// out, which are listed.
    fn absences(
        &self,
        source: &Source,
        only_refused: bool,
        visit: &mut Visit<'_, Absence>,
    ) -> Result<(), Error>;

    /// Would these requests of one table succeed now, one after the other? Nothing is changed. The place of the first that would not,
    /// and why. Where that cannot be told beforehand, the answer is yes.
    fn check_update_table(&self, _requests: &[UpdateTableRequest]) -> Result<(), (usize, Error)> {
        Ok(())
    }

    /// Would this request succeed now? The same for CreateTable.
    fn check_create_table(&self, _request: CreateTableRequest) -> Result<(), Error> {
        Ok(())
    }

    /// What making this index of the request would come to, told from the items; `None` where that cannot be told. It consumes nothing.
    fn forecast_index(
        &self,
        _request: &UpdateTableRequest,
        _index: &IndexDefinition,
    ) -> Result<Option<IndexForecast>, Error> {
        Ok(None)
    }

    /// Stops the propagation of writes to a table's global indexes, or lets it go on. No operation of the service.
    fn pause_index_propagation(&self, table: &TableName, is_paused: bool) -> Result<(), Error>;

    /// The saved queries of a table; none when there is no table.
    fn saved_queries(&self, table: &TableName) -> Result<Arc<SavedQueries>, Error>;

    /// Changes the saved queries of a table, durably.
    fn change_saved_queries(
        &self,
        table: &TableName,
        change: SavedQueryChange,
    ) -> Result<SavedQueryOutcome, Error>;

    /// Starts a delete that parks the item's text, both or neither; `done` hears of it after the commit.
    fn park_item_then(&self, request: ParkRequest, done: Done<DeleteItemResponse>);

    /// The parked files of a table, by folder and name: in one folder, in no folder (`Some(None)`), or all.
    fn parked(
        &self,
        table: &TableName,
        folder: Option<Option<&AttributeValue>>,
        visit: &mut Visit<'_, ParkedStat>,
    ) -> Result<(), Error>;

    /// The tables that may have parked files: a service need not be asked for all of its own.
    fn tables_with_parked(&self) -> Result<Vec<TableName>, Error> {
        self.table_names()
    }

    /// The parked file at a place, and its content.
    fn parked_at(&self, place: &ParkedPlace) -> Result<Option<(ParkedStat, Vec<u8>)>, Error>;

    /// Changes parked files, durably; was there something to change?
    fn change_parked(&self, change: ParkedChange) -> Result<bool, Error>;

    /// Changes whenever any content may have changed, through any front end or process.
    fn commit_id(&self) -> u64;

    /// The commit that a read shows which begins now: [`Browse::commit_id`] may be a moment ahead.
    fn visible_commit_id(&self) -> Result<u64, Error> {
        Ok(self.commit_id())
    }

    /// Sleeps until [`Browse::commit_id`] is another than `after`, at most for `timeout`; the id then. For what blocks until
    /// something happens.
    fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error>;

    /// The items of a table whose time to live is over first: milliseconds since the epoch and key, at most `count`.
    fn expiring(&self, table: &TableName, count: usize) -> Result<Vec<(u64, Key)>, Error>;

    fn store_info(&self) -> crate::store::StoreInfo;

    /// Lets an observer hear of everything that is written from now on by this process. On return, whatever it did not hear of is seen by
    /// who reads. Where nobody tells of what others write, it hears of nothing: what the kernel were to keep would have no end.
    fn observe(&self, _observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        Ok(())
    }

    /// The observer hears of nothing more but what is being told already.
    fn unobserve(&self, _observer: &Arc<dyn CommitObserver>) {}

    /// Tells a keeper whenever this process is the only one on its data, from a thread of the store; see [`crate::store::Store::keep_alone`].
    /// A service elsewhere never is.
    fn keep_alone(&self, _keeper: Arc<dyn crate::store::Keeper>) -> Result<(), Error> {
        Ok(())
    }
}
