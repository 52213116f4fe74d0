//! How far a copy or comparison is, shared by its threads.

use crate::database::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::database::caller::{self, Caller};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Items read and, by a copy, put.
    pub items: u64,
    /// Read units of what was read.
    pub read_units: f64,
    /// Write units of what was put.
    pub write_units: f64,
    /// Items that the other side does not take.
    pub rejected: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.read_units += other.read_units;
        self.write_units += other.write_units;
        self.rejected += other.rejected;
    }
}

/// Counts of all threads, and whether they are to end.
pub struct Tally {
    counts: Mutex<Counts>,
    /// Set by a signal, and by a thread that failed: all end, and give up what they wait for.
    stop: Arc<AtomicBool>,
    watch: Box<dyn Fn(&Counts) + Send + Sync>,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.counts.lock().fmt(f)
    }
}

impl Tally {
    /// `watch` hears of every page; `stop` may be set at any time.
    pub fn new(stop: Arc<AtomicBool>, watch: impl Fn(&Counts) + Send + Sync + 'static) -> Self {
        Self { counts: Mutex::default(), stop, watch: Box::new(watch) }
    }

    pub fn add(&self, more: &Counts) {
        let now = {
            let mut counts = self.counts.lock();
            counts.add(more);
            *counts
        };
        (self.watch)(&now);
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.counts.lock()
    }

    /// Is each thread to end?
    #[must_use]
    pub fn ends(&self) -> bool {
        // Relaxed: it orders nothing.
        self.stop.load(Ordering::Relaxed)
    }

    /// Works for this: on one thread of several, the others end too when it fails.
    ///
    /// # Errors
    /// Those of the work.
    pub fn work<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let caller = Caller::Command(Arc::clone(&self.stop));
        caller::work_for(Some(caller), work).inspect_err(|_| self.stop.store(true, Ordering::Relaxed))
    }
}

/// How often a throttled request is repeated without anything done.
const ROUNDS_MAX: u32 = 12;
const DELAY_MIN: Duration = Duration::from_millis(25);
const DELAY_MAX: Duration = Duration::from_secs(5);

/// Waits of one who was throttled, each longer than the one before.
#[derive(Debug, Default)]
pub struct Patience(u32);

impl Patience {
    /// Sleeps, unless it has done so in vain too often; whether to try again.
    ///
    /// # Errors
    /// [`Error::Interrupted`]
    pub fn wait(&mut self) -> Result<bool, Error> {
        if self.0 >= ROUNDS_MAX {
            return Ok(false);
        }
        caller::sleep((DELAY_MIN * 2_u32.pow(self.0)).min(DELAY_MAX))?;
        self.0 += 1;
        Ok(true)
    }

    /// Something was done.
    pub fn renew(&mut self) {
        self.0 = 0;
    }
}

/// Was there no capacity left?
#[must_use]
pub fn is_throttled(error: &Error) -> bool {
    matches!(error.exception(), "ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded")
}

/// Calls until it is not throttled, or for long enough.
///
/// # Errors
/// Those of the call; [`Error::Interrupted`]
pub fn patiently<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let mut patience = Patience::default();
    loop {
        match call() {
            Err(error) if is_throttled(&error) && patience.wait()? => {}
            ended => return ended,
        }
    }
}
