//! The engine's own work beside its requests: items whose time is over, stream records older than a day; indexes that are made or
//! removed.
//!
//! A thread for each kind wakes up every while and looks; it writes only when there is something to do. Several processes on one data
//! directory may all do it: everything is decided again inside the write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::ops::recovery::system_backups;
use super::transaction::Transaction;
use super::{Shared, index_life, parked, partitions, streams, time_to_live};
use crate::model::Error;
use crate::model::error::StoreError;

/// How often the end is looked for while a write is waited for.
const PATIENCE: Duration = Duration::from_millis(20);

/// Says that the engine ends, or that there is something to do before the next round.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<Requested>,
    changed: Condvar,
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct Requested {
    /// Rounds asked for so far.
    rounds: u64,
    end: bool,
}

impl Signal {
    /// Asks for a round of each thread now.
    pub fn wake(&self) {
        self.state.lock().rounds += 1;
        self.changed.notify_all();
    }

    /// Does the engine end?
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.state.lock().end = true;
        self.changed.notify_all();
    }

    /// Waits for the next round, `seen` being how many were asked for when the last began; false at the end.
    fn wait(&self, period: Duration, seen: &mut u64) -> bool {
        let mut state = self.state.lock();
        if state.rounds == *seen && !state.end {
            self.changed.wait_for(&mut state, period);
        }
        *seen = state.rounds;
        !state.end
    }
}

/// The threads.
#[derive(Debug)]
pub struct Background {
    signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a thread does each time; how long until there is more to do, if that is known.
type Round = fn(&Arc<Shared>) -> Result<Option<Duration>, Error>;

const ROUNDS: [(&str, Round); 2] = [("engine-background", housekeeping), ("engine-indexes", index_life::worker::round)];

impl Background {
    /// Starts them.
    ///
    /// # Errors
    /// `Io` when there can be no thread.
    pub fn start(shared: &Arc<Shared>, period: Duration) -> Result<Self, StoreError> {
        let background = Self { signal: Arc::clone(&shared.signal), threads: Mutex::default() };
        for (name, round) in ROUNDS {
            let (weak, signal) = (Arc::downgrade(shared), Arc::clone(&background.signal));
            let thread = std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || rounds(&weak, &signal, period, round))
                .map_err(|error| StoreError::Io(format!("no background thread: {error}")))?;
            background.threads.lock().push(thread);
        }
        Ok(background)
    }

    /// Ends them, and waits for that. Never called by such a thread, which owns no engine; and they wait for nobody who could be
    /// waiting here.
    pub fn end(&self) {
        self.signal.end();
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                log::error!("a background thread of the engine ended by a panic");
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

fn rounds(shared: &Weak<Shared>, signal: &Signal, period: Duration, round: Round) {
    // The first at once: an earlier process may have left something.
    let (mut wait, mut seen) = (Duration::ZERO, 0);
    while signal.wait(wait, &mut seen) {
        let Some(shared) = shared.upgrade() else { return };
        wait = match round(&shared) {
            Ok(next) => next.map_or(period, |next| next.min(period)),
            Err(error) => {
                log::debug!("background work stopped until the next round: {error}");
                period
            }
        };
    }
}

/// Does what there is to do for all threads.
///
/// # Errors
/// Those of the store.
pub fn round(shared: &Arc<Shared>) -> Result<(), Error> {
    ROUNDS.iter().try_for_each(|(_, round)| round(shared).map(drop))
}

fn housekeeping(shared: &Arc<Shared>) -> Result<Option<Duration>, Error> {
    time_to_live::sweep::sweep(shared)?;
    streams::trim::trim(shared)?;
    system_backups::expire(shared)?;
    parked::expire(shared)?;
    partitions::upkeep::round(shared)?;
    Ok(None)
}

impl Shared {
    /// As [`Shared::submit_and_wait`], but gives up waiting when the engine ends.
    pub(crate) fn submit_in_background<T, F>(self: &Arc<Self>, run: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let done = Box::new(move |outcome| {
            // Nobody listens when the engine ended meanwhile.
            let _ = sender.send(outcome);
        });
        self.submit(run, done);
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if !self.signal.is_ending() => {}
                Err(_) => return Err(Error::Store(StoreError::Closed)),
            }
        }
    }
}
