//! The background threads: each wakes up every while and makes its round.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use super::shared::Shared;
use super::signal::Signal;
use crate::model::Error;
use crate::model::error::StoreError;

/// The threads.
#[derive(Debug)]
pub struct Background {
    signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What a thread does each time, handed in from above; how long until there is more to do, if that is known.
pub type Round = fn(&Arc<Shared>) -> Result<Option<Duration>, Error>;

impl Background {
    /// Starts a thread for each round, under its name.
    ///
    /// # Errors
    /// `Io` when there can be no thread.
    pub fn start(shared: &Arc<Shared>, period: Duration, all: &[(&str, Round)]) -> Result<Self, StoreError> {
        let background = Self { signal: Arc::clone(&shared.signal), threads: Mutex::default() };
        for &(name, round) in all {
            // Weak: a thread of its own must not keep a store open that everybody else has let go.
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
