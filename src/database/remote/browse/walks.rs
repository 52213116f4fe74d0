//! Listings under way: their pages, the listings that wait for their readers, and the cost of
//! listings, scans and samples so far, page by page, in whatever portions they are read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use super::pages::Pages;
use super::source::{self, Readable, position};
use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::codec::record::Record;
use crate::database::bounded::OfEntries;
use crate::database::caller::Caller;
use crate::database::prelude::*;
use crate::database::{Entries, EntryKey, EntryStat, Position};
use crate::expr::read_request::ReadRequest;
use crate::model::error::StoreError;
use crate::model::limits::{PAGE_BYTES_MAX, READ_UNIT_BYTES};

/// The limit of listings that wait for their readers.
const WALKS_MAX: usize = 64;
/// The time in milliseconds for which a listing waits.
const WALK_MS: u64 = 10_000;
/// The limit of concurrent prefetches.
const AHEAD_MAX: usize = 16;
/// The limit of remembered collections of a listing: the items of one collection come one after the
/// other.
const COLLECTIONS_SEEN_MAX: usize = 10_000;

/// The subject of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    Entries(Entries),
    Collections,
}

/// An entry of a page.
#[derive(Debug)]
pub struct Row {
    pub key: EntryKey,
    /// The stat of the entry; `None` if only keys are listed.
    pub stat: Option<EntryStat>,
    pub place: Box<[u8]>,
}

/// The rows of a page, the start of the next page, and the cost.
pub type Fetched = Result<(VecDeque<Row>, Option<Item>, Toll), Error>;

/// The source of the next page.
#[derive(Debug, Default)]
pub enum Next {
    From(Option<Item>),
    Ahead(Receiver<Fetched>),
    #[default]
    Done,
}

/// A listing under way.
#[derive(Debug, Default)]
pub struct Walk {
    pub rows: VecDeque<Row>,
    pub next: Next,
    pub pages: usize,
    pub toll: Toll,
    pub seen: OfEntries<Digest, (), COLLECTIONS_SEEN_MAX>,
}

/// A listing that waits for its reader to continue after a position; `at_ms` is the time since
/// when, by the clock.
#[derive(Debug)]
pub struct Waiting {
    pub source: Source,
    pub listed: Listed,
    /// The last row read; `None` if no reader has begun.
    pub after: Option<Box<[u8]>>,
    pub at_ms: u64,
    /// The own writes of this mount before the request.
    pub own_writes: u64,
    pub walk: Walk,
}

/// The listings that wait for their readers, the oldest first.
#[derive(Debug, Default)]
pub struct Walks {
    waiting: Mutex<VecDeque<Waiting>>,
    pub ahead: Arc<AtomicUsize>,
}

impl Walks {
    pub fn take(
        &self,
        source: &Source,
        listed: &Listed,
        after: Option<&Position>,
        now_ms: u64,
    ) -> Option<Waiting> {
        let mut waiting = self.waiting.lock();
        waiting.retain(|one| now_ms < one.at_ms.saturating_add(WALK_MS));
        let is_it = |one: &Waiting| {
            one.after.as_ref() == after.map(|after| &after.0)
                && one.source == *source
                && one.listed == *listed
        };
        let at = waiting.iter().position(is_it)?;
        waiting.remove(at)
    }

    pub fn put(&self, one: Waiting) {
        let mut waiting = self.waiting.lock();
        waiting.push_back(one);
        // Dropped after the lock: a prefetched page may be large.
        let oldest = if waiting.len() > WALKS_MAX {
            waiting.pop_front()
        } else {
            None
        };
        drop(waiting);
        drop(oldest);
    }
}

/// A reader of pages.
#[derive(Clone)]
pub struct Fetcher {
    pub service: Arc<dyn Database>,
    pub pages: Arc<Pages>,
    pub source: Readable,
    pub request: ReadRequest,
}

impl Fetcher {
    pub fn fetch(mut self, start: Option<Item>) -> Fetched {
        let began = self.pages.begin();
        self.request.exclusive_start_key = start;
        let mut rows = VecDeque::new();
        let page = source::items(&*self.service, &self.request, &mut |item| {
            rows.extend(self.row(began, &item)?);
            Ok(())
        })?;
        let toll = Toll::of(&self.request, &page);
        Ok((rows, page.last_evaluated_key, toll))
    }

    /// Converts an item to a row, and caches it if it is whole. Returns `None` for an item that
    /// this mount deleted and an eventually consistent read still shows.
    fn row(
        &self,
        began: crate::database::remote::browse::pages::Began,
        item: &Item,
    ) -> Result<Option<Row>, Error> {
        let key = self.source.key_of(item)?;
        let place = position(&self.source.start_after(item));
        if self.request.projection.is_some() {
            return Ok(Some(Row {
                key,
                stat: None,
                place,
            }));
        }
        let held_at = (self.source.source.clone(), key);
        if !self.request.consistent_read && self.pages.is_just_deleted(&held_at) {
            return Ok(None);
        }
        let record = self.pages.record(item, &self.source.key_names());
        let stat = EntryStat::from(&Record::parse(&record)?);
        let key = held_at.1.clone();
        self.pages
            .keep(began, held_at, Some(record), self.request.consistent_read);
        Ok(Some(Row {
            key,
            stat: Some(stat),
            place,
        }))
    }
}

/// Counts a prefetch thread until it ends, also by a panic.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Fetches a page on a thread of its own; `None` if no thread is available.
pub fn on_thread(
    ahead: &Arc<AtomicUsize>,
    fetch: impl FnOnce() -> Fetched + Send + 'static,
) -> Option<Receiver<Fetched>> {
    // Counted first and undone by the guard, so that concurrent callers cannot exceed the limit
    // together.
    let is_full = ahead.fetch_add(1, Ordering::AcqRel) >= AHEAD_MAX;
    let counted = Counted(Arc::clone(ahead));
    if is_full {
        return None;
    }
    let (sender, fetched) = sync_channel(1);
    let work = move || {
        let page = fetch();
        // Before the page is sent: its reader may want the next prefetch at once.
        drop(counted);
        // The receiver is gone if the reader has given up.
        let _ = sender.send(page);
    };
    std::thread::Builder::new()
        .name("ddbfs-ahead".to_owned())
        .spawn(work)
        .ok()?;
    Some(fetched)
}

impl Walk {
    /// Moves to the next page; returns false if there is none.
    pub fn turn(&mut self, fetcher: &Fetcher, caller: &Caller) -> Result<bool, Error> {
        let fetched = match std::mem::replace(&mut self.next, Next::Done) {
            Next::Done => return Ok(false),
            Next::From(start) => fetcher.clone().fetch(start),
            // No message means that the thread panicked.
            Next::Ahead(fetched) => caller
                .receive(&fetched)?
                .unwrap_or_else(|| Err(StoreError::Closed.into())),
        };
        let (rows, last, toll) = fetched?;
        (self.rows, self.pages, self.toll) = (rows, self.pages + 1, self.toll.and(toll));
        self.next = last.map_or(Next::Done, |last| Next::From(Some(last)));
        Ok(true)
    }

    /// Prefetches the next page, if a thread is available.
    pub fn look_ahead(
        &mut self,
        fetcher: &Fetcher,
        service: &Arc<dyn Database>,
        ahead: &Arc<AtomicUsize>,
    ) {
        let Next::From(start) = &self.next else {
            return;
        };
        let (fetcher, start) = (
            Fetcher {
                service: Arc::clone(service),
                ..fetcher.clone()
            },
            start.clone(),
        );
        if let Some(fetched) = on_thread(ahead, move || fetcher.fetch(start)) {
            self.next = Next::Ahead(fetched);
        }
    }

    /// True if this is the first key of its collection in this listing.
    pub fn is_new(&mut self, key: &EntryKey) -> bool {
        let digest = match &key.index {
            Some((partition, _)) => partition_digest(partition),
            None => partition_digest(&[&key.base.partition]),
        };
        self.seen.put(digest, ()).is_none()
    }
}

/// The units of an eventually consistent read of 4 KB.
pub const UNITS_A_READ: f64 = 0.5;
/// The limit of continuable reads with a remembered cost.
const TOLLS_MAX: usize = 256;

/// The cost of a listing or scan so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Toll {
    pub units: f64,
    pub items: u64,
}

impl Toll {
    /// Returns the cost of a page, estimated from its bytes if the service does not report it.
    pub fn of(request: &ReadRequest, page: &Page) -> Self {
        // A page that ends early without a limit has read 1 MB, whatever it returned.
        let is_full = page.last_evaluated_key.is_some() && request.limit.is_none();
        let bytes = if is_full {
            page.scanned_bytes.max(PAGE_BYTES_MAX as u64)
        } else {
            page.scanned_bytes
        };
        let guessed = bytes.div_ceil(READ_UNIT_BYTES as u64) as f64
            * if request.consistent_read {
                1.0
            } else {
                UNITS_A_READ
            };
        let told = page.consumed_capacity.total();
        Self {
            // The reported units count, even if the estimate is higher.
            units: if told > 0.0 { told } else { guessed },
            items: page.count,
        }
    }

    #[must_use]
    pub fn and(self, page: Self) -> Self {
        Self {
            units: self.units + page.units,
            items: self.items + page.items,
        }
    }
}

/// The cost of continuable reads, by their next page; the oldest first.
#[derive(Debug, Default)]
pub struct Tolls(Mutex<VecDeque<(ReadRequest, Toll)>>);

impl Tolls {
    /// Returns the cost of a read before this page.
    pub fn before(&self, request: &ReadRequest) -> Toll {
        if request.exclusive_start_key.is_none() {
            Toll::default()
        } else {
            self.find(request)
        }
    }

    /// Remembers the cost of a read that continues after these keys.
    pub fn keep(&self, request: &ReadRequest, last: &Item, toll: Toll) {
        self.put(
            ReadRequest {
                exclusive_start_key: Some(last.clone()),
                ..request.clone()
            },
            toll,
        );
    }

    /// Returns the cost of the sample that is being taken of a table in many reads.
    pub fn of_sample(&self, table: &TableName) -> Toll {
        self.find(&sample_of(table))
    }

    pub fn keep_sample(&self, table: &TableName, toll: Toll) {
        self.put(sample_of(table), toll);
    }

    fn find(&self, read: &ReadRequest) -> Toll {
        self.0
            .lock()
            .iter()
            .find(|(of, _)| of == read)
            .map(|(_, toll)| *toll)
            .unwrap_or_default()
    }

    fn put(&self, read: ReadRequest, toll: Toll) {
        let mut tolls = self.0.lock();
        tolls.retain(|(of, _)| *of != read);
        tolls.push_back((read, toll));
        if tolls.len() > TOLLS_MAX {
            tolls.pop_front();
        }
    }
}

/// Returns the key for all reads of a sample: no continued read lacks a start key.
fn sample_of(table: &TableName) -> ReadRequest {
    ReadRequest::scan(table.clone(), None)
}
