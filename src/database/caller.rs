//! Cancellation: the caller of a remote service, and a check if the caller still waits for the
//! answer. [`Database::for_caller`](super::Database::for_caller) returns a handle for one caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::model::Error;

/// The interval at which a wait for a service checks if the caller still waits.
pub const SLICE: Duration = Duration::from_millis(100);

/// A counter of requests to cancel all waits; a wait ends when it changes.
#[derive(Debug, Clone, Default)]
pub struct Releases(Arc<AtomicU64>);

impl Releases {
    /// Cancels all present waits, and none that begins later.
    pub fn release(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a caller for a thread that waits from now on.
    #[must_use]
    pub fn caller(&self, id: u32, is_waiting: fn(u32) -> bool) -> Caller {
        Caller::Thread {
            id,
            is_waiting,
            since: self.0.load(Ordering::Relaxed),
            releases: self.clone(),
        }
    }
}

/// The caller of a request, with the check if it still waits.
#[derive(Debug, Clone, Default)]
pub enum Caller {
    /// A caller that waits as long as the request takes.
    #[default]
    Patient,
    /// A thread, possibly of another process, until the next cancellation of all waits.
    Thread {
        id: u32,
        is_waiting: fn(u32) -> bool,
        since: u64,
        releases: Releases,
    },
    /// A command, until the flag is set.
    Command(Arc<AtomicBool>),
}

impl Caller {
    /// True if the caller still waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Patient => true,
            // Relaxed: the flags order nothing else.
            Self::Thread {
                id,
                is_waiting,
                since,
                releases,
            } => releases.0.load(Ordering::Relaxed) == *since && is_waiting(*id),
            Self::Command(is_stopped) => !is_stopped.load(Ordering::Relaxed),
        }
    }

    /// Waits for a message while the caller waits; returns `None` if the sender is gone.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn receive<T>(&self, message: &Receiver<T>) -> Result<Option<T>, Error> {
        loop {
            match message.recv_timeout(SLICE) {
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
            std::thread::sleep(left.min(SLICE));
        }
        Err(Error::Interrupted)
    }
}

/// An exponential backoff: each pause is twice as long as the one before, up to a maximum.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
    max: Duration,
}

impl Pauses {
    #[must_use]
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { next: first, max }
    }

    /// Sleeps for the next pause while the caller waits.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller has stopped waiting.
    pub fn wait(&mut self, caller: &Caller) -> Result<(), Error> {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        caller.sleep(pause)
    }
}
