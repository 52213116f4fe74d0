//! Writes that are gathered into batches, up to 25 a BatchWriteItem, several batches at a time.
//!
//! | difficulty | solved by |
//! |---|---|
//! | a batch has no order, and no conditions | an item with a write under way waits: its writes are sent one after the other, in their order; a conditional put is a request of its own |
//! | one bad item or a missing permission spoils a batch | its writes are sent again, each alone, and each has its own outcome |
//! | a service without capacity leaves items unprocessed | they are sent again, after 25 ms to 5 s, as long as some go through |
//! | a lone write must not wait for others for long | a batch is sent when it is full, when its first write has waited for [`LINGER`], or when a caller waits for the end |
//! | a service that is slower than the writers | writes beyond a number and a size are not acknowledged before they end |

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::Instant;

use parking_lot::Condvar;

use crate::database::cancel::{CancelToken, POLL_INTERVAL, ThrottleBackoff};
use crate::database::prelude::*;
use crate::database::thread_pool::{SpawnFailure, ThreadPool};
use crate::database::write_alone;
use crate::model::Key;
use crate::model::api::{
    BatchWriteItemRequest, CallContext, PutItemRequest, TableWrites, WriteRequest,
};
use crate::model::error::RemoteCause;
use crate::model::limits::BATCH_WRITE_REQUESTS_MAX;

/// The time that a write waits for others.
const LINGER: Duration = Duration::from_millis(20);
/// The limit of requests under way.
const REQUESTS_MAX: usize = 16;
/// The limit of the items in one batch, in bytes.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The limits of writes that are acknowledged before they end.
const QUEUED_MAX: usize = 4096;
const QUEUED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The time after which an idle thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// A table and the key of an item.
pub type ItemPlace = (TableName, Key);

/// The request of a queued write.
#[derive(Debug, Clone)]
pub enum QueuedRequest {
    Plain(WriteRequest),
    /// With a condition, so a request of its own.
    Put(Box<PutItemRequest>),
}

/// The function that gets the outcome of a write.
type OnEnd = Box<dyn FnOnce(Result<(), Error>) + Send>;

struct QueuedWrite {
    place: ItemPlace,
    request: QueuedRequest,
    bytes: usize,
    number: u64,
    since: Instant,
    on_end: OnEnd,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<QueuedWrite>,
    /// The items with a write under way.
    busy: HashSet<ItemPlace>,
    /// The numbers of the writes that have not ended, and their bytes.
    open: BTreeSet<u64>,
    bytes: usize,
    last_number: u64,
    /// The requests under way.
    requests: usize,
    /// The callers that wait for the end of all writes.
    settling: usize,
    has_thread: bool,
    /// True if the service refuses batches: each write is sent alone.
    is_single: bool,
}

struct QueueShared {
    service: Arc<dyn Database>,
    state: Mutex<QueueState>,
    changed: Condvar,
    gatherer: ThreadPool,
    workers: ThreadPool,
}

/// The queue; see the module.
pub struct WriteQueue(Arc<QueueShared>);

impl WriteQueue {
    pub fn new(service: Arc<dyn Database>) -> Self {
        Self(Arc::new(QueueShared {
            service,
            state: Mutex::default(),
            changed: Condvar::new(),
            gatherer: ThreadPool::new("ddbfs-gather", 1, SpawnFailure::RunInline),
            workers: ThreadPool::new("ddbfs-batches", REQUESTS_MAX, SpawnFailure::RunInline),
        }))
    }

    /// True if no further write may be acknowledged before it ends.
    pub fn is_full(&self) -> bool {
        let state = self.0.state.lock();
        state.open.len() >= QUEUED_MAX || state.bytes >= QUEUED_BYTES_MAX
    }

    /// True if one of these items has a write that has not ended.
    pub fn has_any(&self, mut places: impl Iterator<Item = ItemPlace>) -> bool {
        let state = self.0.state.lock();
        !state.open.is_empty()
            && places.any(|place| {
                state.busy.contains(&place) || state.waiting.iter().any(|one| one.place == place)
            })
    }

    /// Adds a write; `on_end` gets its outcome, on a thread of the queue.
    pub fn push(
        &self,
        place: ItemPlace,
        request: QueuedRequest,
        on_end: impl FnOnce(Result<(), Error>) + Send + 'static,
    ) {
        let bytes = match &request {
            QueuedRequest::Plain(WriteRequest::Put(item) | WriteRequest::Delete(item)) => {
                item.size()
            }
            QueuedRequest::Put(put) => put.item.size(),
        };
        let mut state = self.0.state.lock();
        state.last_number += 1;
        let number = state.last_number;
        state.open.insert(number);
        state.bytes += bytes;
        state.waiting.push_back(QueuedWrite {
            place,
            request,
            bytes,
            number,
            since: Instant::now(),
            on_end: Box::new(on_end),
        });
        let must_start = !std::mem::replace(&mut state.has_thread, true);
        drop(state);
        self.0.changed.notify_all();
        if must_start {
            let shared = Arc::clone(&self.0);
            // Without a thread, this one sends what is here.
            self.0.gatherer.run(Box::new(move || shared.gather()));
        }
    }

    /// Waits until all writes that are here now have ended.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn settle(&self, caller: &CancelToken) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let last = state.last_number;
        let is_settled = |state: &QueueState| state.open.first().is_none_or(|open| *open > last);
        if is_settled(&state) {
            return Ok(());
        }
        state.settling += 1;
        self.0.changed.notify_all();
        let mut ended = Ok(());
        while !is_settled(&state) {
            self.0.changed.wait_for(&mut state, POLL_INTERVAL);
            if !caller.is_waiting() {
                ended = Err(Error::Interrupted);
                break;
            }
        }
        state.settling -= 1;
        ended
    }
}

impl QueueState {
    /// Returns how long the gathering thread waits before it sends; `None` if it waits for a change.
    fn delay(&self) -> Option<Duration> {
        let first = self.waiting.front()?;
        if self.requests >= REQUESTS_MAX {
            return None;
        }
        // A put with a condition waits for no others.
        let is_due = self.settling > 0
            || self.waiting.len() >= BATCH_WRITE_REQUESTS_MAX
            || matches!(first.request, QueuedRequest::Put(_));
        let waited = first.since.elapsed();
        Some(if is_due {
            Duration::ZERO
        } else {
            LINGER.saturating_sub(waited)
        })
    }

    /// Takes the writes of the next request: of each item the first only, and none of an item with
    /// a write under way.
    fn take_batch(&mut self) -> Vec<QueuedWrite> {
        let (mut batch, mut passed, mut bytes) = (Vec::new(), HashSet::new(), 0);
        let count_max = if self.is_single {
            1
        } else {
            BATCH_WRITE_REQUESTS_MAX
        };
        let mut at = 0;
        while batch.len() < count_max
            && let Some(one) = self.waiting.get(at)
        {
            let is_plain = matches!(one.request, QueuedRequest::Plain(_));
            let fits = batch.is_empty() || (is_plain && bytes + one.bytes <= BATCH_BYTES_MAX);
            if !fits || self.busy.contains(&one.place) || passed.contains(&one.place) {
                passed.insert(one.place.clone());
                at += 1;
                continue;
            }
            bytes += one.bytes;
            // The place is busy from here on, so a later write of the item stays.
            self.busy.insert(one.place.clone());
            batch.extend(self.waiting.remove(at));
            if !is_plain {
                break;
            }
        }
        self.requests += usize::from(!batch.is_empty());
        batch
    }
}

impl QueueShared {
    /// Sends batches until there are none for a while.
    fn gather(self: &Arc<Self>) {
        let mut state = self.state.lock();
        loop {
            match state.delay() {
                Some(Duration::ZERO) => {
                    let batch = state.take_batch();
                    if batch.is_empty() {
                        // All waiting items have a write under way, whose end notifies.
                        self.changed.wait_for(&mut state, POLL_INTERVAL);
                        continue;
                    }
                    drop(state);
                    let shared = Arc::clone(self);
                    self.workers.run(Box::new(move || shared.send(batch)));
                    state = self.state.lock();
                }
                Some(delay) => drop(self.changed.wait_for(&mut state, delay)),
                None => {
                    let waited = self.changed.wait_for(&mut state, IDLE_TIMEOUT);
                    if waited.timed_out() && state.open.is_empty() {
                        state.has_thread = false;
                        return;
                    }
                }
            }
        }
    }

    /// Sends a batch until each of its writes has ended.
    fn send(&self, mut left: Vec<QueuedWrite>) {
        let mut patience = ThrottleBackoff::default();
        while left.len() > 1 {
            let before = left.len();
            left = match self.service.batch_write_item(batch_request(&left)) {
                Ok(response) => {
                    let again: Vec<WriteRequest> =
                        response.unprocessed_items.into_iter().flatten().collect();
                    let (again, done): (Vec<_>, Vec<_>) = left
                        .into_iter()
                        .partition(|one| again.iter().any(|write| one.is_write(write)));
                    done.into_iter().for_each(|one| self.end(one, Ok(())));
                    again
                }
                Err(error) if error.is_throttled() => left,
                Err(error) if may_be_of_one(&error) => {
                    self.state.lock().is_single |= is_refused(&error);
                    break;
                }
                Err(error) => {
                    log::warn!("a batch of {} writes failed: {error}", left.len());
                    left.into_iter()
                        .for_each(|one| self.end(one, Err(error.clone())));
                    Vec::new()
                }
            };
            if !patience
                .wait_for_rest(&CancelToken::Never, before, left.len())
                .unwrap_or(false)
            {
                break;
            }
        }
        // Alone a write has the service's own words.
        for one in left {
            let outcome = self.send_one(&one);
            self.end(one, outcome);
        }
        self.release();
    }

    fn send_one(&self, one: &QueuedWrite) -> Result<(), Error> {
        match one.request.clone() {
            QueuedRequest::Plain(write) => {
                let context = CallContext::default();
                write_alone(&*self.service, context, &one.place.0, write).map(drop)
            }
            QueuedRequest::Put(request) => self.service.put_item(*request).map(drop),
        }
    }

    fn end(&self, one: QueuedWrite, outcome: Result<(), Error>) {
        // Before it counts as ended: a caller that waits for it finds the outcome.
        (one.on_end)(outcome);
        let mut state = self.state.lock();
        state.busy.remove(&one.place);
        state.open.remove(&one.number);
        state.bytes = state.bytes.saturating_sub(one.bytes);
        drop(state);
        self.changed.notify_all();
    }

    fn release(&self) {
        self.state.lock().requests -= 1;
        self.changed.notify_all();
    }
}

impl QueuedWrite {
    /// True if the write is probably this one. The key's attribute names are not at hand here: a
    /// match of any attribute is enough, as a match too many only repeats a write.
    fn is_write(&self, write: &WriteRequest) -> bool {
        let (WriteRequest::Put(item) | WriteRequest::Delete(item)) = write;
        let has = |wanted: &AttributeValue| item.0.values().any(|value| value == wanted);
        let key = &self.place.1;
        has(&key.partition) && key.sort.as_ref().is_none_or(has)
    }
}

/// Returns the request of plain writes.
fn batch_request(batch: &[QueuedWrite]) -> BatchWriteItemRequest {
    let mut request_items: Vec<TableWrites> = Vec::new();
    for one in batch {
        let QueuedRequest::Plain(write) = &one.request else {
            debug_assert!(false, "a condition in a batch");
            continue;
        };
        let table_name = &one.place.0;
        let of_table = request_items
            .iter_mut()
            .find(|of| of.table_name == *table_name);
        match of_table {
            Some(of) => of.requests.push(write.clone()),
            None => request_items.push(TableWrites {
                table_name: table_name.clone(),
                requests: vec![write.clone()],
            }),
        }
    }
    BatchWriteItemRequest {
        request_items,
        ..BatchWriteItemRequest::default()
    }
}

/// True if the service takes no batches from us.
fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Remote(error)
        if matches!(error.cause(), RemoteCause::Denied | RemoteCause::Unsupported))
}

/// True if one write of a batch may be at fault, or the permission for batches is missing.
fn may_be_of_one(error: &Error) -> bool {
    match error {
        Error::Remote(error) => (400..500).contains(&error.status),
        Error::Budget(_) | Error::Store(_) | Error::Interrupted => false,
        _ => true,
    }
}
