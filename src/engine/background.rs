//! The engine's own work beside its requests: items whose time is over, stream records older than a day.
//!
//! One thread wakes up every while and looks; it writes only when there is something to do. Several processes on one data
//! directory may all do it: everything is decided again inside the write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::transaction::Transaction;
use super::{Shared, streams, time_to_live};
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
    round: bool,
    end: bool,
}

impl Signal {
    /// Asks for a round now.
    pub fn wake(&self) {
        self.state.lock().round = true;
        self.changed.notify_all();
    }

    fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.state.lock().end = true;
        self.changed.notify_all();
    }

    /// Waits for the next round; false at the end.
    fn wait(&self, period: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.round && !state.end {
            self.changed.wait_for(&mut state, period);
        }
        state.round = false;
        !state.end
    }
}

/// The thread.
#[derive(Debug)]
pub struct Background {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts it.
    ///
    /// # Errors
    /// `Io` when there can be no thread.
    pub fn start(shared: &Arc<Shared>, period: Duration) -> Result<Self, StoreError> {
        let signal = Arc::clone(&shared.signal);
        let (weak, of_thread) = (Arc::downgrade(shared), Arc::clone(&signal));
        let thread = std::thread::Builder::new()
            .name("engine-background".to_owned())
            .spawn(move || rounds(&weak, &of_thread, period))
            .map_err(|error| StoreError::Io(format!("no background thread: {error}")))?;
        Ok(Self { signal, thread: Mutex::new(Some(thread)) })
    }

    /// Ends it, and waits for that. Never called by the thread itself, which owns no engine; and the thread waits for nobody who
    /// could be waiting here.
    pub fn end(&self) {
        self.signal.end();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            log::error!("the background thread of the engine ended by a panic");
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

fn rounds(shared: &Weak<Shared>, signal: &Signal, period: Duration) {
    while signal.wait(period) {
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = round(&shared) {
            log::debug!("background work stopped until the next round: {error}");
        }
    }
}

/// Does what there is to do.
///
/// # Errors
/// Those of the store.
pub fn round(shared: &Arc<Shared>) -> Result<(), Error> {
    time_to_live::sweep::sweep(shared)?;
    streams::trim::trim(shared)
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
                Err(RecvTimeoutError::Timeout) if !self.signal.is_ending.load(Ordering::SeqCst) => {}
                Err(_) => return Err(Error::Store(StoreError::Closed)),
            }
        }
    }
}
