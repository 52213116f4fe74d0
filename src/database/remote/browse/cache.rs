//! A short-lived cache of entries that were just listed, read or written, by key; also
//! [`SingleFlight`] and [`RemoteCommits`], which the other caches of the mount use.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a read that began before an own write may end after it, with the old item | reads and writes are numbered: a result that began earlier than the cached one is not cached |
//! | of two concurrent own writes of one item the last is unknown | then nothing is cached, and the next reader asks |
//! | an eventually consistent read may not show an own write yet | for [`EVENTUAL_CONSISTENCY_MS`] it replaces none |
//! | a write of an item changes entries of indexes | it invalidates all entries of the table's indexes |
//! | the cache is bounded, and an evicted entry may have been an own write | reads that began before such a write are not cached |
//! | an evicted entry looks like an item that was not among those of a range (`known`) | a range that began before an eviction is not used |
//! | a write that was acknowledged before it ended | what it will leave is shown until it has ended, however long |
//!
//! The existence of a collection is cached like an item: see [`collection_place`].

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::Condvar;

pub use super::known::{EntryPlace, ReadStart};
use super::known::{Folder, KnownRange, KnownRanges};
use crate::codec::digest::digest;
use crate::codec::record::{Record, encode, set_version};
use crate::database::cancel::{CancelToken, POLL_INTERVAL};
use crate::database::lru_map::{ByteLruMap, LruMap};
use crate::database::prelude::*;
use crate::database::{EntryKey, PartitionKey};
use crate::model::Key;
use crate::model::api::Version;
use crate::model::clock::Clock;

/// The time for which an eventually consistent read may not show a write: the service says that it
/// is usually less than a second.
const EVENTUAL_CONSISTENCY_MS: u64 = 5_000;
/// The accounted size of an entry beside its record and its key.
const ENTRY_OVERHEAD_BYTES: usize = 300;
/// The limit of versions with a remembered time of their first sight.
const VERSIONS_MAX: usize = 100_000;

/// A record as [`encode`] makes it, with the version and time that the mount shows.
pub type CachedRecord = Arc<[u8]>;

/// Returns the cache key for the existence of a collection, which no entry has.
pub fn collection_place(source: &SourceName, partition: &PartitionKey) -> EntryPlace {
    let base = Key {
        partition: AttributeValue::Null,
        sort: None,
    };
    (
        source.clone(),
        EntryKey {
            index: Some((partition.clone(), vec![AttributeValue::Null])),
            base,
        },
    )
}

/// A read of all items of a folder in a range of sort keys.
#[derive(Debug)]
pub struct RangeRead<'r> {
    pub source: &'r SourceName,
    /// The partition key; `None` is a table without sort key.
    pub partition: Option<&'r AttributeValue>,
    pub from: Option<AttributeValue>,
    /// The last item's, if there may be more after it.
    pub to: Option<AttributeValue>,
    pub items: usize,
}

/// The state of an item after a write.
#[derive(Debug, Clone)]
pub enum WriteResult<I> {
    Item(I),
    Nothing,
    /// The state is unknown here.
    Unknown,
}

#[derive(Debug)]
struct CachedEntry {
    state: WriteResult<CachedRecord>,
    began: ReadStart,
    is_own: bool,
}

/// An own write under way.
#[derive(Debug, Default)]
struct PendingWrite {
    count: usize,
    /// True if several were under way at a time.
    overlaps: bool,
    /// The state to show until the write has ended, if it was acknowledged before.
    shown: Option<WriteResult<CachedRecord>>,
}

/// The numbers below which cached reads of a table are invalid.
#[derive(Debug, Default, Clone, Copy)]
struct InvalidatedUpTo {
    items: u64,
    index_entries: u64,
}

#[derive(Debug)]
struct EntryCacheState {
    entries: ByteLruMap<EntryPlace, CachedEntry>,
    last_number: u64,
    /// The number up to which new reads are not cached: the eviction of an own write raises it.
    floor: u64,
    /// The number up to which known ranges are invalid: any eviction raises it.
    evicted: u64,
    ranges: KnownRanges,
    invalidated: HashMap<TableName, InvalidatedUpTo>,
    pending_writes: HashMap<EntryPlace, PendingWrite>,
}

/// The cache; see the module.
#[derive(Debug)]
pub struct EntryCache {
    state: Mutex<EntryCacheState>,
    /// The time of the first sight of each version, in milliseconds since the epoch.
    first_seen: Mutex<LruMap<Version, u64, VERSIONS_MAX>>,
    flights: SingleFlight<EntryPlace, Option<CachedRecord>>,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
}

impl EntryCache {
    pub fn new(ttl: Duration, bytes_max: usize, clock: Arc<dyn Clock>) -> Self {
        let state = EntryCacheState {
            entries: ByteLruMap::new(bytes_max),
            last_number: 0,
            floor: 0,
            evicted: 0,
            ranges: KnownRanges::default(),
            invalidated: HashMap::new(),
            pending_writes: HashMap::new(),
        };
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            state: Mutex::new(state),
            first_seen: Mutex::default(),
            flights: SingleFlight::default(),
            ttl_ms,
            clock,
        }
    }

    /// Returns the time to live of the entries, in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        self.ttl_ms
    }

    /// Numbers a read that begins now.
    pub fn begin(&self) -> ReadStart {
        self.state.lock().next_start(self.clock.now_ms())
    }

    /// Encodes the record of an item, with the attributes `first` in front. A version that was seen
    /// before keeps its time.
    pub fn record(&self, item: &Item, first: &[&str]) -> CachedRecord {
        self.stamped(item, first, |seen, now_ms| seen.unwrap_or(now_ms))
    }

    /// Encodes the record of an item that was just written.
    pub fn written_record(&self, item: &Item, first: &[&str]) -> CachedRecord {
        self.stamped(item, first, |_, now_ms| now_ms)
    }

    fn stamped(
        &self,
        item: &Item,
        first: &[&str],
        time: impl FnOnce(Option<u64>, u64) -> u64,
    ) -> CachedRecord {
        let mut record = encode(item, first, 0, 0);
        let version = version_of(&record);
        let mut seen = self.first_seen.lock();
        // An unchanged item that is read again keeps its modification time.
        let modified_ms = time(seen.get(&version).copied(), self.clock.now_ms());
        seen.put(version, modified_ms);
        drop(seen);
        set_version(&mut record, version, modified_ms);
        record.into()
    }

    /// Caches the result of a read, unless the cached one is newer.
    pub fn insert(
        &self,
        began: ReadStart,
        place: EntryPlace,
        found: Option<CachedRecord>,
        is_consistent: bool,
    ) {
        let mut state = self.state.lock();
        let is_newer = match state.entries.peek(&place) {
            // Cached by a read or write that began later.
            Some(held) if held.began.number > began.number => false,
            Some(held) if held.is_own && !is_consistent => {
                began.at_ms >= held.began.at_ms.saturating_add(EVENTUAL_CONSISTENCY_MS)
            }
            Some(_) => true,
            // An own write of this entry may have been evicted since the read began.
            None => began.number > state.floor,
        };
        if is_newer {
            let left = found.map_or(WriteResult::Nothing, WriteResult::Item);
            state.insert(place, left, began, false);
        }
    }

    /// Returns a valid entry: an item, or its absence (`Some(None)`).
    pub fn get_valid(&self, place: &EntryPlace) -> Option<Option<CachedRecord>> {
        self.get_since(place, self.ttl_ms)
    }

    /// Returns an entry, or its absence, however old, unless an own write voids it.
    pub fn get_of_any_age(&self, place: &EntryPlace) -> Option<Option<CachedRecord>> {
        self.get_since(place, u64::MAX)
    }

    fn get_since(&self, place: &EntryPlace, age_ms: u64) -> Option<Option<CachedRecord>> {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        if let Some(shown) = state.shown(place) {
            return Some(shown);
        }
        let is_over = state.is_invalidated(place);
        let held = state.entries.get(place);
        let began = held.map(|held| held.began.number);
        let is_valid = held
            .filter(|held| !is_over && now_ms < held.began.at_ms.saturating_add(age_ms))
            .and_then(|held| held.state.known());
        is_valid.or_else(|| {
            // A later read or write of the item prevails.
            state
                .ranges
                .includes(place, |range| {
                    began.is_none_or(|began| began < range.began.number)
                        && state.is_range_valid(&place.0.table, range, now_ms, self.ttl_ms)
                })
                .then_some(None)
        })
    }

    /// Records that all items of a range of sort keys were read, consistently, and are cached.
    pub fn learn_range(&self, began: ReadStart, read: RangeRead<'_>) {
        let folder = (
            read.source.clone(),
            read.partition.cloned().unwrap_or(AttributeValue::Null),
        );
        let range = KnownRange {
            began,
            from: read.from,
            to: read.to,
            items: read.items,
        };
        self.state.lock().ranges.insert(folder, range);
    }

    /// Returns the last known item, however old.
    pub fn last_known(&self, place: &EntryPlace) -> Option<CachedRecord> {
        let state = self.state.lock();
        match state.shown(place) {
            Some(shown) => shown,
            None => state.entries.peek(place)?.state.known().flatten(),
        }
    }

    /// True if this mount deleted the item so recently that an eventually consistent read may still
    /// show it.
    pub fn is_just_deleted(&self, place: &EntryPlace) -> bool {
        let now_ms = self.clock.now_ms();
        let state = self.state.lock();
        state.entries.peek(place).is_some_and(|held| {
            held.is_own
                && matches!(held.state, WriteResult::Nothing)
                && now_ms < held.began.at_ms.saturating_add(EVENTUAL_CONSISTENCY_MS)
        })
    }

    /// Returns the cached entry, or the result of `ask` by a consistent read, one at a time for
    /// each place.
    ///
    /// # Errors
    /// Those of `ask`, which are not cached.
    pub fn get(
        &self,
        place: &EntryPlace,
        caller: &CancelToken,
        ask: impl FnOnce() -> Result<Option<CachedRecord>, Error>,
    ) -> Result<Option<CachedRecord>, Error> {
        if let Some(found) = self.get_valid(place) {
            return Ok(found);
        }
        self.flights.run(place, caller, || {
            // An earlier request may have filled the cache meanwhile.
            if let Some(found) = self.get_valid(place) {
                return Ok(found);
            }
            // Numbered before the request, so that a write meanwhile prevails.
            let began = self.begin();
            let found = ask()?;
            self.insert(began, place.clone(), found.clone(), true);
            Ok(found)
        })
    }

    /// Registers own writes of these places.
    pub fn begin_write(&self, places: &[EntryPlace]) {
        let mut state = self.state.lock();
        for place in places {
            let writing = state.pending_writes.entry(place.clone()).or_default();
            writing.count += 1;
            writing.overlaps |= writing.count > 1;
        }
    }

    /// Registers own writes that are acknowledged before they end: until then these states are
    /// shown. They end in the order in which they are registered.
    pub fn show_write(&self, places: &[(EntryPlace, WriteResult<CachedRecord>)]) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        let began = state.next_start(now_ms);
        for (place, left) in places {
            let writing = state.pending_writes.entry(place.clone()).or_default();
            writing.count += 1;
            let is_folder = collection_of(place).is_some();
            // The folder of a deleted item may be shown as before, or is asked for.
            if !(is_folder && matches!(left, WriteResult::Unknown)) {
                writing.shown = Some(left.clone());
            }
            self.flights.detach(place);
            state.leave(place.clone(), left.clone(), began, self.ttl_ms);
        }
    }

    /// Ends own writes, and caches the states that they left.
    pub fn end_write(&self, places: Vec<(EntryPlace, WriteResult<CachedRecord>)>) {
        let mut state = self.state.lock();
        let began = state.next_start(self.clock.now_ms());
        for (place, left) in places {
            // Of overlapping writes it is unknown which one came last.
            let overlapped = state.end_pending(&place);
            self.flights.detach(&place);
            let left = if overlapped {
                WriteResult::Unknown
            } else {
                left
            };
            state.leave(place, left, began, self.ttl_ms);
        }
    }

    /// Invalidates everything.
    pub fn invalidate_all(&self) {
        let mut state = self.state.lock();
        state.entries.retain(|_, _| false);
        state.ranges.clear();
        // The results of reads under way are not cached either.
        state.floor = state.next_start(self.clock.now_ms()).number;
        self.flights.detach_where(|_| true);
    }

    /// Invalidates everything of a table.
    pub fn invalidate_table(&self, table: &TableName) {
        let mut state = self.state.lock();
        let number = state.next_start(self.clock.now_ms()).number;
        state.invalidated.insert(
            table.clone(),
            InvalidatedUpTo {
                items: number,
                index_entries: number,
            },
        );
        self.flights
            .detach_where(|(source, _)| source.table == *table);
    }
}

impl WriteResult<CachedRecord> {
    /// Returns the item, or its absence (`Some(None)`).
    fn known(&self) -> Option<Option<CachedRecord>> {
        match self {
            Self::Item(record) => Some(Some(Arc::clone(record))),
            Self::Nothing => Some(None),
            Self::Unknown => None,
        }
    }
}

/// Returns the folder whose existence has this cache key.
fn collection_of(place: &EntryPlace) -> Option<Folder> {
    let (partition, _) = place.1.index.as_ref()?;
    let is_existence = place.1.base.partition == AttributeValue::Null;
    let partition = partition.first().filter(|_| is_existence)?;
    Some((place.0.clone(), partition.clone()))
}

impl EntryCacheState {
    /// Returns the state that an acknowledged write under way will leave.
    fn shown(&self, place: &EntryPlace) -> Option<Option<CachedRecord>> {
        self.pending_writes.get(place)?.shown.as_ref()?.known()
    }

    fn is_range_valid(
        &self,
        table: &TableName,
        range: &KnownRange,
        now_ms: u64,
        ttl_ms: u64,
    ) -> bool {
        let invalidated = self.invalidated.get(table).map_or(0, |over| over.items);
        let began = range.began;
        began.number > self.evicted.max(self.floor).max(invalidated)
            && now_ms < began.at_ms.saturating_add(ttl_ms)
    }

    /// Caches the state that an own write left.
    fn leave(
        &mut self,
        place: EntryPlace,
        left: WriteResult<CachedRecord>,
        began: ReadStart,
        ttl_ms: u64,
    ) {
        // The write may have changed entries in all indexes of the table.
        self.invalidated
            .entry(place.0.table.clone())
            .or_default()
            .index_entries = began.number;
        if let (Some(folder), WriteResult::Unknown) = (collection_of(&place), &left) {
            // Other items of the folder are known: it exists as long as that is valid.
            let others = self.ranges.with_items(&folder, |range| {
                self.is_range_valid(&place.0.table, range, began.at_ms, ttl_ms)
            });
            if let Some(since) = others {
                return self.insert(place, WriteResult::Item(Arc::default()), since, false);
            }
        }
        let before = self.entries.peek(&place).map(|held| &held.state);
        match (&left, before) {
            (WriteResult::Nothing, Some(WriteResult::Nothing))
            | (WriteResult::Item(_), Some(WriteResult::Item(_)))
            | (WriteResult::Unknown, _) => {}
            (left, _) => {
                let is_made = matches!(left, WriteResult::Item(_));
                self.ranges.count(&place, is_made);
            }
        }
        self.insert(place, left, began, true);
    }

    fn next_start(&mut self, at_ms: u64) -> ReadStart {
        self.last_number += 1;
        ReadStart {
            number: self.last_number,
            at_ms,
        }
    }

    fn is_invalidated(&self, place: &EntryPlace) -> bool {
        let over = self
            .invalidated
            .get(&place.0.table)
            .copied()
            .unwrap_or_default();
        let number = if place.0.index.is_some() {
            over.index_entries
        } else {
            over.items
        };
        self.entries
            .peek(place)
            .is_some_and(|held| held.began.number < number)
    }

    fn end_pending(&mut self, place: &EntryPlace) -> bool {
        let Some(writing) = self.pending_writes.get_mut(place) else {
            debug_assert!(false, "the write was never begun");
            return false;
        };
        writing.count = writing.count.saturating_sub(1);
        let overlapped = writing.overlaps;
        if writing.count == 0 {
            self.pending_writes.remove(place);
        }
        overlapped
    }

    fn insert(
        &mut self,
        place: EntryPlace,
        state: WriteResult<CachedRecord>,
        began: ReadStart,
        is_own: bool,
    ) {
        let key_bytes = place.1.base.partition.size()
            + place.1.base.sort.as_ref().map_or(0, AttributeValue::size);
        let record_bytes = if let WriteResult::Item(record) = &state {
            record.len()
        } else {
            0
        };
        let bytes = ENTRY_OVERHEAD_BYTES + key_bytes + record_bytes;
        // The index key is not accounted: it consists of attributes of the record.
        let pushed_out = self.entries.put(
            place,
            CachedEntry {
                state,
                began,
                is_own,
            },
            bytes,
        );
        if !pushed_out.is_empty() {
            self.evicted = self.last_number;
        }
        let own = pushed_out
            .iter()
            .filter(|held| held.is_own)
            .map(|held| held.began.number);
        self.floor = own.fold(self.floor, u64::max);
    }
}

/// Returns a version for an item from the digest of its content, since the service has none: equal
/// for equal items, different otherwise with near certainty, and never 0.
fn version_of(record: &[u8]) -> Version {
    let content = Record::parse(record).map_or(record, |record| record.content());
    let [a, b, c, d, e, f, g, h, ..] = digest(content);
    u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
}

type FlightResult<V> = Result<V, Error>;

#[derive(Debug)]
pub struct Flight<V> {
    answer: Mutex<Option<FlightResult<V>>>,
    done: Condvar,
}

/// Single flight: at most one request for a key is under way, and others for the same key wait for
/// its answer.
#[derive(Debug)]
pub struct SingleFlight<K, V>(Arc<Mutex<HashMap<K, Arc<Flight<V>>>>>);

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// The owner of a request in flight. Its drop ends the flight, also in a panic, so that no waiter
/// hangs.
pub struct FlightOwner<K: Eq + Hash, V> {
    flights: SingleFlight<K, V>,
    key: K,
    flight: Arc<Flight<V>>,
}

impl<K: Eq + Hash, V> FlightOwner<K, V> {
    /// Ends the flight with this answer.
    pub fn finish(self, answer: FlightResult<V>) {
        *self.flight.answer.lock() = Some(answer);
    }
}

impl<K: Eq + Hash, V> Drop for FlightOwner<K, V> {
    fn drop(&mut self) {
        // Removed before the waiters wake: from now on a caller begins a new request.
        self.flights.end(&self.key, &self.flight);
        // Without an answer, the waiters ask anew.
        self.flight
            .answer
            .lock()
            .get_or_insert(Err(Error::Interrupted));
        self.flight.done.notify_all();
    }
}

impl<V: Clone> Flight<V> {
    /// Waits for the answer, as long as the caller waits.
    fn wait(&self, caller: &CancelToken) -> FlightResult<V> {
        let mut answer = self.answer.lock();
        loop {
            if let Some(answer) = &*answer {
                return answer.clone();
            }
            if self.done.wait_for(&mut answer, POLL_INTERVAL).timed_out() && !caller.is_waiting() {
                return Err(Error::Interrupted);
            }
        }
    }
}

impl<K: Eq + Hash, V> SingleFlight<K, V> {
    /// Removes a flight, unless another has replaced it.
    fn end(&self, key: &K, flight: &Arc<Flight<V>>) {
        let mut flights = self.0.lock();
        if flights
            .get(key)
            .is_some_and(|of_key| Arc::ptr_eq(of_key, flight))
        {
            flights.remove(key);
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> SingleFlight<K, V> {
    /// Returns the answer of the request in flight for `key`, or else of `ask`. No lock is held
    /// meanwhile.
    pub fn run(
        &self,
        key: &K,
        caller: &CancelToken,
        ask: impl FnOnce() -> FlightResult<V>,
    ) -> FlightResult<V> {
        loop {
            let flight = match self.begin(key) {
                Err(flight) => flight,
                Ok(landing) => {
                    let answer = ask();
                    landing.finish(answer.clone());
                    return answer;
                }
            };
            match flight.wait(caller) {
                // The owner was interrupted, which does not concern this waiter: it asks anew.
                Err(Error::Interrupted) if caller.is_waiting() => self.end(key, &flight),
                answer => return answer,
            }
        }
    }

    /// Begins a flight for `key`.
    ///
    /// # Errors
    /// The flight that is under way already.
    pub fn begin(&self, key: &K) -> Result<FlightOwner<K, V>, Arc<Flight<V>>> {
        let mut flights = self.0.lock();
        if let Some(flight) = flights.get(key) {
            return Err(Arc::clone(flight));
        }
        let flight = Arc::new(Flight {
            answer: Mutex::new(None),
            done: Condvar::new(),
        });
        flights.insert(key.clone(), Arc::clone(&flight));
        Ok(FlightOwner {
            flights: Self(Arc::clone(&self.0)),
            key: key.clone(),
            flight,
        })
    }

    /// Detaches a flight: later callers for `key` do not wait for it, because its answer may be
    /// old.
    pub fn detach(&self, key: &K) {
        self.0.lock().remove(key);
    }

    /// Detaches the flights of all matching keys.
    pub fn detach_where(&self, is_meant: impl Fn(&K) -> bool) {
        self.0.lock().retain(|key, _| !is_meant(key));
    }
}

/// A commit id from own writes and elapsed time: content that was read a while ago may have changed
/// without notice.
#[derive(Debug)]
pub struct RemoteCommits {
    own_writes: Mutex<u64>,
    wrote: Condvar,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
}

impl RemoteCommits {
    pub fn new(ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1);
        Self {
            own_writes: Mutex::new(0),
            wrote: Condvar::new(),
            ttl_ms,
            clock,
        }
    }

    /// Returns own writes so far plus time steps since the epoch.
    pub fn id(&self) -> u64 {
        *self.own_writes.lock() + self.clock.now_ms() / self.ttl_ms
    }

    /// Returns the own writes so far.
    pub fn own_writes(&self) -> u64 {
        *self.own_writes.lock()
    }

    pub fn add(&self) {
        *self.own_writes.lock() += 1;
        self.wrote.notify_all();
    }

    /// Sleeps until the id differs from `after`, at most for `timeout`; returns the id.
    pub fn wait(&self, after: u64, timeout: Duration) -> u64 {
        let mut own = self.own_writes.lock();
        let now_ms = self.clock.now_ms();
        if *own + now_ms / self.ttl_ms == after {
            // At the next time step the id changes by itself.
            let rest = Duration::from_millis(self.ttl_ms - now_ms % self.ttl_ms);
            self.wrote.wait_for(&mut own, rest.min(timeout));
        }
        *own + self.clock.now_ms() / self.ttl_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::cancel::CancelSource;
    use std::sync::mpsc::channel;

    #[test]
    fn concurrent_callers_share_one_request() {
        let flights = Arc::new(SingleFlight::<u8, u32>::default());
        let ((began, has_begun), (end, ends)) = (channel(), channel::<()>());
        let of_first = Arc::clone(&flights);
        let first = std::thread::spawn(move || {
            of_first.run(&1, &CancelToken::Never, || {
                began.send(()).unwrap();
                ends.recv().unwrap();
                Ok(7)
            })
        });
        has_begun.recv().unwrap();
        let of_second = Arc::clone(&flights);
        let second = std::thread::spawn(move || {
            of_second.run(&1, &CancelToken::Never, || panic!("a second request"))
        });
        // Another key, and the same key after a detach, get a request of their own.
        assert_eq!(flights.run(&2, &CancelToken::Never, || Ok(8)), Ok(8));
        while Arc::strong_count(flights.0.lock().get(&1).unwrap()) < 3 {
            std::thread::yield_now();
        }
        flights.detach(&1);
        assert_eq!(flights.run(&1, &CancelToken::Never, || Ok(9)), Ok(9));
        end.send(()).unwrap();
        assert_eq!(
            (first.join().unwrap(), second.join().unwrap()),
            (Ok(7), Ok(7))
        );
    }

    #[test]
    fn a_request_that_panics_lets_the_next_one_begin() {
        let flights = SingleFlight::<u8, u32>::default();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            flights.run(&1, &CancelToken::Never, || panic!("a defect"))
        }));
        assert!(panics.is_err());
        assert_eq!(flights.run(&1, &CancelToken::Never, || Ok(1)), Ok(1));
    }

    #[test]
    fn an_interrupt_ends_only_its_own_caller() {
        let flights = SingleFlight::<u8, u32>::default();
        let landing = flights.begin(&1).ok().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| flights.run(&1, &CancelToken::Never, || Ok(2)));
            let gives_up = scope.spawn(|| {
                let caller = CancelSource::default().token(0, |_| false, |id| id);
                flights.run(&1, &caller, || panic!("a second request"))
            });
            assert_eq!(gives_up.join().unwrap(), Err(Error::Interrupted));
            landing.finish(Err(Error::Interrupted));
            assert_eq!(waits.join().unwrap(), Ok(2));
        });
    }
}
