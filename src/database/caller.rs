//! For whom a service elsewhere is asked, and whether the answer is still wanted. A database is asked for one by a handle of its own:
//! [`Database::for_caller`](super::Database::for_caller).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::model::Error;

/// How often it is asked, while a service is waited for, whether the answer is still wanted.
pub const SLICE: Duration = Duration::from_millis(100);

/// How often all that waited were told to give up.
#[derive(Debug, Clone, Default)]
pub struct Releases(Arc<AtomicU64>);

impl Releases {
    /// All that wait give up; not who comes from now on.
    pub fn release(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread that waits from now on.
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

/// For whom something is done, and how to find out whether it is still wanted.
#[derive(Debug, Clone, Default)]
pub enum Caller {
    /// It is wanted as long as it takes.
    #[default]
    Patient,
    /// A thread, of another process too, until the next release.
    Thread {
        id: u32,
        is_waiting: fn(u32) -> bool,
        since: u64,
        releases: Releases,
    },
    /// A command, until this is set.
    Command(Arc<AtomicBool>),
}

impl Caller {
    /// Is what is done still wanted?
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Patient => true,
            // Relaxed: they order nothing.
            Self::Thread {
                id,
                is_waiting,
                since,
                releases,
            } => releases.0.load(Ordering::Relaxed) == *since && is_waiting(*id),
            Self::Command(is_stopped) => !is_stopped.load(Ordering::Relaxed),
        }
    }

    /// Waits for a message while it is wanted; `None` when it never comes, as its sender is gone.
    ///
    /// # Errors
    /// [`Error::Interrupted`]
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

    /// Sleeps while that is wanted.
    ///
    /// # Errors
    /// [`Error::Interrupted`]
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

/// Pauses of one who looks again and again, each longer than the one before.
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

    /// The next pause, while it is wanted.
    ///
    /// # Errors
    /// [`Error::Interrupted`]
    pub fn wait(&mut self, caller: &Caller) -> Result<(), Error> {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        caller.sleep(pause)
    }
}
