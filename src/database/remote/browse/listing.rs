//! Listings: page after page, whoever asks in whatever portions. What a page has beyond a portion waits for the next one, and the page after
//! it is asked for while the reader reads.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use lru::LruCache;
use parking_lot::Mutex;

use super::RemoteDatabase;
use super::pages::Pages;
use super::requests;
use super::source::{Readable, keys_at, position};
use crate::codec::digest::Digest;
use crate::codec::key::partition_digest;
use crate::codec::record::Record;
use crate::database::{Database, Entries, EntryKey, EntryStat, Position, Source};
use crate::expr::read_request::ReadRequest;
use crate::model::error::StoreError;
use crate::model::{Error, Item};

/// Listings that somebody may go on with.
const WALKS_MAX: usize = 64;
/// How long somebody may wait before going on.
const WALK_MS: u64 = 10_000;
/// Pages asked for ahead at a time.
const AHEAD_MAX: usize = 8;
/// Collections of which it is remembered that a listing gave them: items of one come one after the other.
const COLLECTIONS_SEEN_MAX: usize = 10_000;

/// What is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    Entries(Entries),
    Collections,
}

/// An entry of a page.
#[derive(Debug)]
pub struct Row {
    pub key: EntryKey,
    /// `None` where only keys are listed.
    pub stat: Option<EntryStat>,
    pub place: Box<[u8]>,
}

type Fetched = Result<(VecDeque<Row>, Option<Item>), Error>;

/// Where the next page is.
#[derive(Debug)]
enum Next {
    From(Option<Item>),
    Ahead(JoinHandle<Fetched>),
    Done,
}

/// A listing under way.
#[derive(Debug)]
struct Walk {
    rows: VecDeque<Row>,
    next: Next,
    pages: usize,
    seen: LruCache<Digest, ()>,
}

/// Who goes on: what is listed, after this place, since then in milliseconds of the clock.
#[derive(Debug)]
struct Waiting {
    source: Source,
    listed: Listed,
    after: Box<[u8]>,
    at_ms: u64,
    walk: Walk,
}

/// Listings that wait for their readers, the oldest first.
#[derive(Debug, Default)]
pub struct Walks {
    waiting: Mutex<VecDeque<Waiting>>,
    ahead: Arc<AtomicUsize>,
}

impl Walks {
    fn take(&self, source: &Source, listed: &Listed, after: &Position, now_ms: u64) -> Option<Walk> {
        let mut waiting = self.waiting.lock();
        waiting.retain(|one| now_ms < one.at_ms.saturating_add(WALK_MS));
        let at = waiting.iter().position(|one| one.after == after.0 && one.source == *source && one.listed == *listed)?;
        waiting.remove(at).map(|one| one.walk)
    }

    fn put(&self, one: Waiting) {
        let mut waiting = self.waiting.lock();
        waiting.push_back(one);
        // Dropped after the lock: a page ahead may come with much.
        let oldest = if waiting.len() > WALKS_MAX { waiting.pop_front() } else { None };
        drop(waiting);
        drop(oldest);
    }
}

/// What asks for pages.
#[derive(Clone)]
struct Fetcher {
    service: Arc<dyn Database>,
    pages: Arc<Pages>,
    source: Readable,
    request: ReadRequest,
}

impl Fetcher {
    fn fetch(mut self, start: Option<Item>) -> Fetched {
        let began = self.pages.begin();
        self.request.exclusive_start_key = start;
        let (mut rows, mut failed) = (VecDeque::new(), None);
        let page = requests::page(&*self.service, &self.request, &mut |row| {
            if failed.is_none() {
                let read = row.to_item().map_err(Error::from).and_then(|item| self.row(began, &item));
                match read {
                    Ok(Some(row)) => rows.push_back(row),
                    Ok(None) => {}
                    Err(error) => failed = Some(error),
                }
            }
        })?;
        failed.map_or(Ok((rows, page.last_evaluated_key)), Err)
    }

    /// A row, its item held if it is whole. `None` of one that was deleted here and is not seen to be gone yet.
    fn row(&self, began: super::pages::Began, item: &Item) -> Result<Option<Row>, Error> {
        let key = self.source.key_of(item)?;
        let place = position(&self.source.start_after(item));
        if self.request.projection.is_some() {
            return Ok(Some(Row { key, stat: None, place }));
        }
        let held_at = (self.source.source.clone(), key);
        if !self.request.consistent_read && self.pages.is_just_deleted(&held_at) {
            return Ok(None);
        }
        let record = self.pages.record(item, &self.source.key_names());
        let stat = EntryStat::from(&Record::parse(&record)?);
        let key = held_at.1.clone();
        self.pages.keep(began, held_at, Some(record), self.request.consistent_read);
        Ok(Some(Row { key, stat: Some(stat), place }))
    }
}

impl Walk {
    /// The next page; is there one?
    fn turn(&mut self, fetcher: &Fetcher) -> Result<bool, Error> {
        let fetched = match std::mem::replace(&mut self.next, Next::Done) {
            Next::Done => return Ok(false),
            Next::From(start) => fetcher.clone().fetch(start),
            Next::Ahead(thread) => thread.join().unwrap_or(Err(StoreError::Closed.into())),
        };
        let (rows, last) = fetched?;
        (self.rows, self.pages) = (rows, self.pages + 1);
        self.next = last.map_or(Next::Done, |last| Next::From(Some(last)));
        Ok(true)
    }

    /// Begins to fetch the next page, if there is a thread for it.
    fn look_ahead(&mut self, fetcher: &Fetcher, ahead: &Arc<AtomicUsize>) {
        let Next::From(start) = &self.next else { return };
        if ahead.fetch_add(1, Ordering::AcqRel) >= AHEAD_MAX {
            ahead.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let (fetcher, start, count) = (fetcher.clone(), start.clone(), Arc::clone(ahead));
        let thread = std::thread::Builder::new().name("ddbfs-ahead".to_owned()).spawn(move || {
            let fetched = fetcher.fetch(start);
            count.fetch_sub(1, Ordering::AcqRel);
            fetched
        });
        match thread {
            Ok(thread) => self.next = Next::Ahead(thread),
            Err(_) => {
                ahead.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Is it the first of its collection in this listing?
    fn is_new(&mut self, key: &EntryKey) -> bool {
        let digest = match &key.index {
            Some((partition, _)) => partition_digest(&partition.iter().collect::<Vec<_>>()),
            None => partition_digest(&[&key.base.partition]),
        };
        if self.seen.len() >= COLLECTIONS_SEEN_MAX {
            self.seen.pop_lru();
        }
        self.seen.put(digest, ()).is_none()
    }
}

impl RemoteDatabase {
    /// Gives the rows of what `request` reads, strictly after `after`; `Break` ends it.
    pub(super) fn walk(
        &self,
        (source, listed): (Readable, &Listed),
        request: ReadRequest,
        after: Option<&Position>,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let now_ms = self.options.clock.now_ms();
        let waiting = after.and_then(|after| self.walks.take(&source.source, listed, after, now_ms));
        let is_going_on = waiting.is_some();
        let fetcher = Fetcher { service: Arc::clone(&self.service), pages: Arc::clone(&self.pages), source, request };
        let mut walk = match waiting {
            Some(walk) => walk,
            None => self.begin_walk(&fetcher.source, listed, after)?,
        };
        let (mut last, mut is_at_end) = (after.map(|after| after.0.clone()), false);
        while !is_at_end {
            if self.options.reads_ahead && (is_going_on || walk.pages > 1) {
                walk.look_ahead(&fetcher, &self.walks.ahead);
            }
            while let Some(row) = walk.rows.pop_front() {
                if *listed == Listed::Collections && !walk.is_new(&row.key) {
                    continue;
                }
                let next = visit(&row);
                last = Some(row.place);
                if next.is_break() {
                    self.wait_for_reader(fetcher.source.source, listed, last, walk);
                    return Ok(());
                }
            }
            is_at_end = !walk.turn(&fetcher)?;
        }
        // Who has a last place asks once more.
        self.wait_for_reader(fetcher.source.source, listed, last, walk);
        Ok(())
    }

    fn wait_for_reader(&self, source: Source, listed: &Listed, after: Option<Box<[u8]>>, walk: Walk) {
        if let Some(after) = after {
            let at_ms = self.options.clock.now_ms();
            self.walks.put(Waiting { source, listed: listed.clone(), after, at_ms, walk });
        }
    }

    fn begin_walk(&self, source: &Readable, listed: &Listed, after: Option<&Position>) -> Result<Walk, Error> {
        if !matches!(listed, Listed::Entries(Entries::Collection { .. })) {
            self.admit(source, None)?;
        }
        let start = after.map(keys_at).transpose()?;
        let mut walk = Walk { rows: VecDeque::new(), next: Next::Done, pages: 0, seen: LruCache::unbounded() };
        if let (Listed::Collections, Some(start)) = (listed, &start) {
            // The rest of that collection was listed.
            walk.is_new(&source.key_of(start)?);
        }
        walk.next = Next::From(start);
        Ok(walk)
    }
}
