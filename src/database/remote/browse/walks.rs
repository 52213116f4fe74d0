//! Listings under way: their pages, the suspended listings that wait for their readers, and the
//! cost of listings, scans and samples so far, page by page, in whatever portions they are read.
//! `listing` drives them, `snapshots` keeps the rows of whole sources.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::Receiver;

use super::cache::{EntryCache, RangeRead, ReadStart};
use super::prefetch::spawn_fetch;
use super::source::{self, ReadableSource, encode_position};
use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::codec::record::Record;
use crate::database::cancel::CancelToken;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::database::thread_pool::ThreadPool;
use crate::database::ttl_map::TtlMap;
use crate::database::{EntryKey, EntryRange, EntryStat};
use crate::expr::read_request::ReadRequest;
use crate::model::limits::{PAGE_BYTES_MAX, READ_UNIT_BYTES};

/// The limit of listings that wait for their readers.
const WALKS_MAX: usize = 64;
/// The time in milliseconds for which a listing waits.
const SUSPENDED_MS: u64 = 10_000;
/// The limit of remembered collections of a listing: the items of one collection come one after the
/// other.
const COLLECTIONS_SEEN_MAX: usize = 10_000;

/// The subject of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListSubject {
    Entries(EntryRange),
    Collections,
}

impl ListSubject {
    /// Returns the partition key of a folder of base items, if all of it is listed.
    pub fn whole_folder(&self, source: &ReadableSource) -> Option<AttributeValue> {
        match self {
            Self::Entries(EntryRange::Collection {
                partition,
                sort_prefix: None,
            }) if source.index().is_none() => partition.first().cloned(),
            _ => None,
        }
    }
}

/// An entry of a page.
#[derive(Debug, Clone)]
pub struct ListRow {
    pub key: EntryKey,
    /// The stat of the entry; `None` if only keys are listed.
    pub stat: Option<EntryStat>,
    pub place: Box<[u8]>,
}

/// The rows of a page, the start of the next page, and the cost.
pub type FetchedPage = Result<(VecDeque<ListRow>, Option<Item>, ScanCost), Error>;

/// The source of the next page.
#[derive(Debug, Default)]
pub enum NextPage {
    From(Option<Item>),
    /// The page after this start, once it is there.
    Prefetched(Option<Item>, Receiver<FetchedPage>),
    #[default]
    Done,
}

/// A listing under way.
#[derive(Debug, Default)]
pub struct ListWalk {
    pub rows: VecDeque<ListRow>,
    pub next: NextPage,
    pub pages: usize,
    pub cost: ScanCost,
    pub seen: LruMap<Digest, (), COLLECTIONS_SEEN_MAX>,
    /// The rows of the whole source, if they are kept.
    pub kept: Option<KeptRows>,
}

/// The place at which a reader goes on: the source, the subject, and the last row read.
pub type ListPlace = (SourceName, ListSubject, Box<[u8]>);

/// The listings that wait for their readers.
pub type SuspendedWalks = TtlMap<ListPlace, ListWalk, WALKS_MAX, SUSPENDED_MS>;

/// A reader of pages.
#[derive(Clone)]
pub struct PageFetcher {
    pub service: Arc<dyn Database>,
    pub cache: Arc<EntryCache>,
    pub source: ReadableSource,
    pub request: ReadRequest,
    /// The partition key of the folder, if the pages are all of its items.
    pub folder: Option<AttributeValue>,
}

impl PageFetcher {
    pub fn fetch(mut self, start: Option<Item>) -> FetchedPage {
        let began = self.cache.begin();
        let folder = self.folder.take().filter(|_| start.is_none());
        self.request.exclusive_start_key = start;
        let mut rows = VecDeque::new();
        let page = source::read_items(&*self.service, &self.request, &mut |item| {
            rows.extend(self.row(began, &item)?);
            Ok(())
        })?;
        if let Some(partition) = &folder {
            let last = rows
                .back()
                .and_then(|row: &ListRow| row.key.base.sort.clone());
            self.cache.learn_range(
                began,
                RangeRead {
                    source: &self.source.source,
                    partition: Some(partition),
                    from: None,
                    to: page.last_evaluated_key.as_ref().and(last),
                    items: rows.len(),
                },
            );
        }
        let cost = ScanCost::of(&self.request, &page);
        Ok((rows, page.last_evaluated_key, cost))
    }

    /// Converts an item to a row, and caches it if it is whole. Returns `None` for an item that
    /// this mount deleted and an eventually consistent read still shows.
    fn row(&self, began: ReadStart, item: &Item) -> Result<Option<ListRow>, Error> {
        let place = encode_position(&self.source.start_key(item));
        // A projected row has only its key: it has no size or time to show, and is not cached.
        if self.request.projection.is_some() {
            let (key, stat) = (self.source.key_of(item)?, None);
            return Ok(Some(ListRow { key, stat, place }));
        }
        let is_consistent = self.request.consistent_read;
        let held_at = (self.source.source.clone(), self.source.key_of(item)?);
        if !is_consistent && self.cache.is_just_deleted(&held_at) {
            return Ok(None);
        }
        let cached = self
            .source
            .keep_item(&self.cache, began, item, is_consistent);
        let (key, record) = cached?;
        let stat = Some(EntryStat::from(&Record::parse(&record)?));
        Ok(Some(ListRow { key, stat, place }))
    }
}

impl ListWalk {
    /// Moves to the next page; returns false if there is none.
    pub fn next_page(
        &mut self,
        fetcher: &PageFetcher,
        caller: &CancelToken,
    ) -> Result<bool, Error> {
        let fetched = match std::mem::replace(&mut self.next, NextPage::Done) {
            NextPage::Done => return Ok(false),
            NextPage::From(start) => fetcher.clone().fetch(start),
            // No message means that there was no thread.
            NextPage::Prefetched(start, fetched) => caller
                .receive(&fetched)?
                .unwrap_or_else(|| fetcher.clone().fetch(start)),
        };
        let (rows, last, cost) = fetched?;
        if let Some(kept) = &mut self.kept {
            kept.add(&rows);
        }
        (self.rows, self.pages, self.cost) = (rows, self.pages + 1, self.cost.plus(cost));
        self.next = last.map_or(NextPage::Done, |last| NextPage::From(Some(last)));
        Ok(true)
    }

    /// Prefetches the next page.
    pub fn prefetch(
        &mut self,
        fetcher: &PageFetcher,
        service: &Arc<dyn Database>,
        threads: &ThreadPool,
    ) {
        let NextPage::From(start) = &self.next else {
            return;
        };
        let (start, after) = (start.clone(), start.clone());
        let fetcher = PageFetcher {
            service: Arc::clone(service),
            ..fetcher.clone()
        };
        let fetched = spawn_fetch(threads, move || fetcher.fetch(after));
        self.next = NextPage::Prefetched(start, fetched);
    }

    /// True if this is the first key of its collection in this listing.
    pub fn is_new(&mut self, key: &EntryKey) -> bool {
        self.seen.put(collection_digest(key), ()).is_none()
    }
}

/// The rows of a listing from its beginning.
#[derive(Debug)]
pub struct KeptRows {
    /// The beginning of the listing, by the clock.
    pub at_ms: u64,
    /// The own writes of this mount before.
    pub own_writes: u64,
    has_folders: bool,
    pub folders: HashMap<Digest, VecDeque<ListRow>>,
    pub rows: usize,
}

impl KeptRows {
    pub fn new(at_ms: u64, own_writes: u64, has_folders: bool) -> Self {
        Self {
            at_ms,
            own_writes,
            has_folders,
            folders: HashMap::new(),
            rows: 0,
        }
    }

    pub fn add(&mut self, rows: &VecDeque<ListRow>) {
        self.rows += rows.len();
        if !self.has_folders || self.rows > ROWS_MAX {
            return self.folders.clear();
        }
        for row in rows {
            let folder = self.folders.entry(collection_digest(&row.key)).or_default();
            folder.push_back(row.clone());
        }
    }
}

/// Returns the digest of the partition key of an entry.
fn collection_digest(key: &EntryKey) -> Digest {
    match &key.index {
        Some((partition, _)) => partition_digest(partition),
        None => partition_digest(&[&key.base.partition]),
    }
}

/// The limit of rows of all walks that are kept.
pub const ROWS_MAX: usize = 200_000;
/// The units of an eventually consistent read of 4 KB.
pub const EVENTUAL_READ_UNITS: f64 = 0.5;
/// The limit of continuable reads with a remembered cost.
const SCAN_COSTS_MAX: usize = 256;

/// The cost of a listing or scan so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScanCost {
    pub units: f64,
    pub items: u64,
}

impl ScanCost {
    /// Returns the cost of a page, estimated from its bytes if the service does not report it.
    pub fn of(request: &ReadRequest, page: &Page) -> Self {
        // A page that ends early without a limit has read 1 MB, whatever it returned.
        let is_full = page.last_evaluated_key.is_some() && request.limit.is_none();
        let bytes = if is_full {
            page.scanned_bytes.max(PAGE_BYTES_MAX as u64)
        } else {
            page.scanned_bytes
        };
        let estimated = bytes.div_ceil(READ_UNIT_BYTES as u64) as f64
            * if request.consistent_read {
                1.0
            } else {
                EVENTUAL_READ_UNITS
            };
        let reported = page.consumed_capacity.total();
        Self {
            // The reported units count, even if the estimate is higher.
            units: if reported > 0.0 { reported } else { estimated },
            items: page.count,
        }
    }

    #[must_use]
    pub fn plus(self, page: Self) -> Self {
        Self {
            units: self.units + page.units,
            items: self.items + page.items,
        }
    }
}

/// The cost of continuable reads, by their next page.
#[derive(Debug, Default)]
pub struct ScanCosts(Mutex<LruMap<ReadRequest, ScanCost, SCAN_COSTS_MAX>>);

impl ScanCosts {
    /// Returns the cost of a read before this page.
    pub fn before(&self, request: &ReadRequest) -> ScanCost {
        if request.exclusive_start_key.is_none() {
            ScanCost::default()
        } else {
            self.find(request)
        }
    }

    /// Remembers the cost of a read that continues after these keys.
    pub fn insert(&self, request: &ReadRequest, last: &Item, cost: ScanCost) {
        let next = ReadRequest {
            exclusive_start_key: Some(last.clone()),
            ..request.clone()
        };
        self.0.lock().put(next, cost);
    }

    /// Returns the cost of the sample that is being taken of a table in many reads.
    pub fn sample(&self, table: &TableName) -> ScanCost {
        self.find(&sample_key(table))
    }

    pub fn keep_sample(&self, table: &TableName, cost: ScanCost) {
        self.0.lock().put(sample_key(table), cost);
    }

    fn find(&self, read: &ReadRequest) -> ScanCost {
        self.0.lock().get(read).copied().unwrap_or_default()
    }
}

/// Returns the key for all reads of a sample: no continued read lacks a start key.
fn sample_key(table: &TableName) -> ReadRequest {
    ReadRequest::scan(table.clone(), None)
}
