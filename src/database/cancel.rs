//! Cancellation tokens for waits on a remote service: a [`CancelToken`] tells if its caller still
//! waits for the answer. [`Database::for_caller`](super::Database::for_caller) returns a handle for
//! one caller. Also [`Backoff`], a sleep between polls that ends with the token,
//! and that of throttled requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::model::Error;

/// The interval at which a wait for a service checks if the caller still waits.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A counter of requests to cancel all waits; a wait ends when it changes.
#[derive(Debug, Clone, Default)]
pub struct CancelSource(Arc<AtomicU64>);

impl CancelSource {
    /// Cancels all present waits, and none that begins later.
    pub fn cancel_all(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a caller for a thread that waits from now on.
    #[must_use]
    pub fn token(
        &self,
        id: u32,
        is_waiting: fn(u32) -> bool,
        process_of: fn(u32) -> u32,
    ) -> CancelToken {
        CancelToken::Thread {
            id,
            is_waiting,
            process_of,
            since: self.0.load(Ordering::Relaxed),
            releases: self.clone(),
        }
    }
}

/// The caller of a request, with the check if it still waits.
#[derive(Debug, Clone, Default)]
pub enum CancelToken {
    /// A caller that waits as long as the request takes.
    #[default]
    Never,
    /// A thread, possibly of another process, until the next cancellation of all waits.
    Thread {
        id: u32,
        is_waiting: fn(u32) -> bool,
        process_of: fn(u32) -> u32,
        since: u64,
        releases: CancelSource,
    },
    /// A command, until the flag is set.
    Flag(Arc<AtomicBool>),
}

impl CancelToken {
    /// True if the caller still waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Never => true,
            // Relaxed: the flags order nothing else.
            Self::Thread {
                id,
                is_waiting,
                since,
                releases,
                ..
            } => releases.0.load(Ordering::Relaxed) == *since && is_waiting(*id),
            Self::Flag(is_stopped) => !is_stopped.load(Ordering::Relaxed),
        }
    }

    /// Returns the process of the thread; `None` if it is not known.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        match self {
            Self::Thread { id, process_of, .. } => Some(process_of(*id)).filter(|id| *id != 0),
            Self::Never | Self::Flag(_) => None,
        }
    }

    /// Waits for a message while the caller waits; returns `None` if the sender is gone.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn receive<T>(&self, message: &Receiver<T>) -> Result<Option<T>, Error> {
        loop {
            match message.recv_timeout(POLL_INTERVAL) {
                Ok(message) => return Ok(Some(message)),
                Err(RecvTimeoutError::Timeout) if self.is_waiting() => {}
                Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Sleeps while the caller waits.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn sleep(&self, time: Duration) -> Result<(), Error> {
        let begun = Instant::now();
        while self.is_waiting() {
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
        Err(Error::Interrupted)
    }
}

/// An exponential backoff: each pause is twice as long as the one before, up to a maximum.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    #[must_use]
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { next: first, max }
    }

    /// Sleeps for the next pause while the caller waits.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn wait(&mut self, caller: &CancelToken) -> Result<(), Error> {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        caller.sleep(pause)
    }
}

/// The limit of repetitions of a throttled request without progress: half a minute.
const RETRIES_MAX: u32 = 12;
const DELAY_MIN: Duration = Duration::from_millis(25);
const DELAY_MAX: Duration = Duration::from_secs(5);

/// The backoff of throttled requests.
#[derive(Debug)]
pub struct ThrottleBackoff {
    backoff: Backoff,
    retries: u32,
}

impl Default for ThrottleBackoff {
    fn default() -> Self {
        Self {
            backoff: Backoff::new(DELAY_MIN, DELAY_MAX),
            retries: 0,
        }
    }
}

impl ThrottleBackoff {
    /// Sleeps for the next pause; returns false if the limit of repetitions is reached.
    ///
    /// # Errors
    /// As [`Backoff::wait`].
    pub fn wait(&mut self, caller: &CancelToken) -> Result<bool, Error> {
        self.retries += 1;
        if self.retries > RETRIES_MAX {
            Ok(false)
        } else {
            self.backoff.wait(caller).map(|()| true)
        }
    }

    /// Waits before the `left` of `before` items are requested again, anew after progress; returns
    /// false if the limit of repetitions is reached.
    ///
    /// # Errors
    /// As [`Backoff::wait`].
    pub fn wait_for_rest(
        &mut self,
        caller: &CancelToken,
        before: usize,
        left: usize,
    ) -> Result<bool, Error> {
        if left < before {
            *self = Self::default();
        }
        Ok(left == 0 || self.wait(caller)?)
    }
}
