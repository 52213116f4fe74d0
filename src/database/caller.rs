//! For whom a thread works: who waits long for a service asks whether the answer is still wanted.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::model::Error;

/// How often who waits is asked whether it still wants the answer.
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
        Caller::Thread { id, is_waiting, since: self.0.load(Ordering::Relaxed), releases: self.clone() }
    }
}

/// Who waits for what this thread does, and how to find out whether it still does.
#[derive(Debug, Clone)]
pub enum Caller {
    /// A thread, of another process too, until the next release.
    Thread { id: u32, is_waiting: fn(u32) -> bool, since: u64, releases: Releases },
    /// A command, until this is set.
    Command(Arc<AtomicBool>),
}

thread_local! {
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Gives this thread back whom it worked for.
struct Restore(Option<Caller>);

impl Drop for Restore {
    fn drop(&mut self) {
        CALLER.set(self.0.take());
    }
}

/// This thread works for that caller from now on.
pub fn set(caller: Caller) {
    CALLER.set(Some(caller));
}

/// Works for a caller; `None`: for nobody who would give up.
pub fn work_for<T>(caller: Option<Caller>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CALLER.replace(caller));
    work()
}

/// Whom this thread works for.
#[must_use]
pub fn caller() -> Option<Caller> {
    CALLER.with_borrow(Clone::clone)
}

/// Is what this thread does still wanted?
#[must_use]
pub fn is_waiting() -> bool {
    CALLER.with_borrow(|caller| match caller {
        None => true,
        // Relaxed: they order nothing.
        Some(Caller::Thread { id, is_waiting, since, releases }) => releases.0.load(Ordering::Relaxed) == *since && is_waiting(*id),
        Some(Caller::Command(is_stopped)) => !is_stopped.load(Ordering::Relaxed),
    })
}

/// Waits for a message while it is wanted; `None` when it never comes, as its sender is gone.
///
/// # Errors
/// [`Error::Interrupted`]
pub fn receive<T>(message: &Receiver<T>) -> Result<Option<T>, Error> {
    loop {
        match message.recv_timeout(SLICE) {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) if is_waiting() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
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
    pub fn wait(&mut self) -> Result<(), Error> {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        sleep(pause)
    }
}

/// Sleeps while that is wanted.
///
/// # Errors
/// [`Error::Interrupted`]
pub fn sleep(time: Duration) -> Result<(), Error> {
    let begun = Instant::now();
    while is_waiting() {
        let left = time.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(SLICE));
    }
    Err(Error::Interrupted)
}
