//! The table of concurrent connections, at most `CONNECTIONS_MAX`: the longest idle one is closed
//! for a new one. Each is closed if its peer is silent where it should send, or does not take its
//! answer: [`TimeoutStream`] wraps the socket and follows its [`ConnectionPhase`], a small state
//! machine. `server` accepts them.
//!
//! The reading side has four phases. A new connection and one that has begun a request head have
//! [`Timeouts::head`] for the head; between requests a kept-alive connection may idle for
//! [`Timeouts::idle`]; during a request the handler watches the body. New connections without a
//! byte and idle ones are closed for others when there are too many.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::store::budget::MemoryBudget;

/// The minimum rate of a body or an answer in bytes per second, after the first
/// [`Timeouts::silence`]: a peer that moves a byte now and then would hold a connection forever.
const RATE_MIN: u32 = 16 * 1024;
/// The minimum rate while others wait for memory that the slow peer holds.
const RATE_MIN_WANTED: u32 = 16 * RATE_MIN;

/// The time-outs of the server for a peer.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// The limit from the first byte of a request head to its last.
    pub head: Duration,
    /// The limit between two requests of a connection.
    pub idle: Duration,
    /// The limit without a byte of a body sent, or of an answer taken.
    pub silence: Duration,
    /// The limit for requests in progress when the server shuts down.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            head: seconds(5),
            idle: seconds(60),
            silence: seconds(10),
            shutdown: seconds(10),
        }
    }
}

impl Timeouts {
    /// Returns the time after which a peer is too slow if it has moved only `bytes` of a body or an
    /// answer. It is shorter while memory is wanted.
    #[must_use]
    pub fn allowed(&self, bytes: usize, is_wanted: bool) -> Duration {
        let seconds = bytes / if is_wanted { RATE_MIN_WANTED } else { RATE_MIN } as usize;
        self.silence + Duration::from_secs(seconds as u64)
    }
}

const HEAD: u8 = 0;
const IDLE: u8 = 1;
const REQUEST: u8 = 2;
/// Connected, without a byte sent yet.
const NEW: u8 = 3;

/// The origin of idle times.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The phase of a connection, shared with the handler of its requests.
#[derive(Debug, Clone)]
pub struct ConnectionPhase(Arc<PhaseState>);

#[derive(Debug)]
struct PhaseState {
    phase: AtomicU8,
    /// Microseconds after [`START`]: the beginning of the phase, if it is [`NEW`] or [`IDLE`].
    idle_since: AtomicU64,
}

fn now_us() -> u64 {
    u64::try_from(START.elapsed().as_micros()).unwrap_or(u64::MAX)
}

impl Default for ConnectionPhase {
    fn default() -> Self {
        Self(Arc::new(PhaseState {
            phase: AtomicU8::new(NEW),
            idle_since: AtomicU64::new(now_us()),
        }))
    }
}

impl ConnectionPhase {
    /// Returns how long the connection has been idle: the peer has sent nothing, and no answer is
    /// owed to it. `None` in other phases.
    #[must_use]
    fn idle_time(&self) -> Option<Duration> {
        let since =
            matches!(self.get(), NEW | IDLE).then(|| self.0.idle_since.load(Ordering::Acquire))?;
        Some(Duration::from_micros(now_us().saturating_sub(since)))
    }

    /// True if the peer has never sent a byte.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.get() == NEW
    }

    fn get(&self) -> u8 {
        self.0.phase.load(Ordering::Acquire)
    }

    /// Begins a head when bytes have come; returns true if they are the first after a pause.
    fn begin_head(&self) -> bool {
        let step = |from: u8| {
            self.0
                .phase
                .compare_exchange(from, HEAD, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
        };
        // The deadline of a new connection's head runs already.
        !step(NEW) && step(IDLE)
    }

    /// Begins a request, which ends when the returned guard is dropped.
    #[must_use]
    pub fn begin_request(&self) -> RequestGuard {
        self.0.phase.store(REQUEST, Ordering::Release);
        RequestGuard(self.clone())
    }
}

/// The guard of a request that is being handled or answered.
#[derive(Debug)]
pub struct RequestGuard(ConnectionPhase);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let state = &self.0.0;
        // Stored before the phase: a reader that sees the connection idle must not find the time of
        // the last pause.
        state.idle_since.store(now_us(), Ordering::Release);
        state.phase.store(IDLE, Ordering::Release);
    }
}

/// A TCP stream with deadlines.
#[derive(Debug)]
pub struct TimeoutStream {
    stream: TcpStream,
    phase: ConnectionPhase,
    timeouts: Timeouts,
    /// The phase of `read_deadline`: head or idle.
    deadline_phase: u8,
    read_deadline: Pin<Box<Sleep>>,
    write_deadline: Option<Pin<Box<Sleep>>>,
    /// The time since when the peer has unread bytes, and the bytes that it took since.
    backlog: Option<(Instant, usize)>,
    /// The memory of answers: a slow peer is dropped sooner while it is wanted.
    answers: MemoryBudget,
}

impl TimeoutStream {
    #[must_use]
    pub fn new(
        stream: TcpStream,
        phase: ConnectionPhase,
        timeouts: Timeouts,
        answers: MemoryBudget,
    ) -> Self {
        let read_deadline = Box::pin(sleep_until(Instant::now() + timeouts.head));
        Self {
            stream,
            phase,
            timeouts,
            deadline_phase: HEAD,
            read_deadline,
            write_deadline: None,
            backlog: None,
            answers,
        }
    }

    fn set_read_deadline(&mut self, phase: u8, timeout: Duration) {
        self.deadline_phase = phase;
        self.read_deadline.as_mut().reset(Instant::now() + timeout);
    }

    /// Polls the deadline of the phase, while nothing is there to read.
    fn poll_read_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.phase.get();
        if phase == REQUEST {
            return Poll::Pending;
        }
        // The first wait after an answer; until then the deadline is that of the answered request's
        // head.
        if phase == IDLE && self.deadline_phase != IDLE {
            self.set_read_deadline(IDLE, self.timeouts.idle);
        }
        ready!(self.read_deadline.as_mut().poll(cx));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    fn poll_write_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let now = Instant::now();
        let (since, taken) = *self.backlog.get_or_insert((now, 0));
        // The minimum rate also drops a peer that takes a byte now and then.
        let latest = (now + self.timeouts.silence)
            .min(since + self.timeouts.allowed(taken, self.answers.is_contended()));
        let deadline = self
            .write_deadline
            .get_or_insert_with(|| Box::pin(sleep_until(latest)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    fn poll_written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(outcome) = written {
            // Any progress restarts the time-out of the next bytes; the minimum rate counts on.
            self.write_deadline = None;
            if let (Some((_, taken)), Ok(bytes)) = (&mut self.backlog, &outcome) {
                *taken += bytes;
            }
            return Poll::Ready(outcome);
        }
        self.poll_write_deadline(cx).map(Err)
    }
}

impl AsyncRead for TimeoutStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if Pin::new(&mut this.stream).poll_read(cx, buf)?.is_pending() {
            return this.poll_read_deadline(cx).map(Err);
        }
        // The first bytes after a pause begin a head.
        if this.phase.begin_head() {
            this.set_read_deadline(HEAD, this.timeouts.head);
            this.backlog = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.poll_written(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.poll_written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// The limit of concurrent connections; further ones wait to be served.
const CONNECTIONS_MAX: usize = 1024;
/// The minimum idle time: a younger connection may have a request on its way.
const IDLE_MIN: Duration = Duration::from_millis(250);
/// The interval at which idle connections are looked for while no slot is free.
const EVICT_INTERVAL: Duration = Duration::from_millis(20);

/// The present connections.
#[derive(Debug)]
pub struct Connections {
    slots: Arc<Semaphore>,
    entries: Mutex<HashMap<u64, ConnectionEntry>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct ConnectionEntry {
    phase: ConnectionPhase,
    /// True if its requests are served; false if they only get a refusal.
    is_served: bool,
    evicted: Arc<Notify>,
}

/// The slot of one connection, released on drop.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    pub phase: ConnectionPhase,
    evicted: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    #[must_use]
    pub fn new() -> Arc<Self> {
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Arc::new(Self {
            slots,
            entries: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    /// Waits for a slot for a connection.
    pub async fn acquire(self: &Arc<Self>, is_served: bool) -> Option<ConnectionSlot> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
                break permit;
            }
            self.evict_longest_idle();
            let free = Arc::clone(&self.slots).acquire_owned();
            if let Ok(permit) = tokio::time::timeout(EVICT_INTERVAL, free).await {
                break permit.ok()?;
            }
        };
        // Relaxed: an id only has to be unique.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (phase, evicted) = (ConnectionPhase::default(), Arc::default());
        let slot = ConnectionSlot {
            connections: Arc::clone(self),
            id,
            phase: phase.clone(),
            evicted: Arc::clone(&evicted),
            _permit: permit,
        };
        self.entries.lock().insert(
            id,
            ConnectionEntry {
                phase,
                is_served,
                evicted,
            },
        );
        Some(slot)
    }

    /// True if there is at most one connection.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.slots.available_permits() >= CONNECTIONS_MAX - 1
    }

    /// Closes the longest idle connection; those that are not served go first.
    fn evict_longest_idle(&self) {
        let connected = self.entries.lock();
        let idle = connected.values().filter_map(|one| {
            one.phase
                .idle_time()
                .filter(|time| *time >= IDLE_MIN)
                .map(|time| (one, time))
        });
        if let Some((one, _)) = idle.max_by_key(|(one, time)| (!one.is_served, *time)) {
            one.evicted.notify_one();
        }
    }

    /// Waits until there are no connections.
    pub async fn all_closed(&self) {
        // An error would be a closed semaphore, and it is never closed.
        let _ = self
            .slots
            .acquire_many(u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX))
            .await;
    }
}

impl ConnectionSlot {
    /// Waits until the connection must be closed for another.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        // Removed before the permit is released, so that there are never more entries than slots.
        self.connections.entries.lock().remove(&self.id);
    }
}
