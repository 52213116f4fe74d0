//! The engine on one store.

use std::{
    sync::Weak,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    shared::{Shared, Signal},
    view::View,
};
use crate::engine::{
    meter::{Outcome, sums::count_operation},
    prelude::*,
};
use crate::model::{
    api::CommitObserver,
    layout::{CollectionWarning, MeteredOperation, ThrottleWarning},
};
use crate::store::StoreInfo;

/// The engine on one store.
#[derive(Debug)]
pub struct Engine {
    /// Before `shared`: it ends first.
    pub(in crate::engine) background: Option<Background>,
    pub(in crate::engine) shared: Arc<Shared>,
}

impl Engine {
    /// A consistent view of the last commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View<'_>, Error> {
        Ok(self.shared.view()?)
    }

    /// Changes whenever any content may have changed, through any front end or process.
    #[must_use]
    pub fn commit_id(&self) -> u64 {
        self.shared.store.commit_id()
    }

    /// Sleeps until [`Engine::commit_id`] is another than `after`, at most for `timeout`; the id then.
    ///
    /// # Errors
    /// Those of the store.
    pub fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error> {
        Ok(self.shared.store.wait_for_commit(after, timeout)?)
    }

    /// Lets an observer hear of everything that is written from now on. On return, whatever it did not hear of is seen by who reads.
    ///
    /// # Errors
    /// Those of the store; then it hears of nothing.
    pub fn observe(&self, observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        self.shared.observers.add(observer);
        // Jobs run in order: those before this one may have begun when there was nobody to hear of them.
        self.shared
            .submit_and_wait(|_| Ok(()))
            .inspect_err(|_| self.unobserve(observer))
    }

    /// The observer hears of nothing more but what is being told already.
    pub fn unobserve(&self, observer: &Arc<dyn CommitObserver>) {
        self.shared.observers.remove(observer);
    }

    #[must_use]
    pub fn store_info(&self) -> StoreInfo {
        self.shared.store.info()
    }

    /// A table's entry as of the last commit, without a view while the catalog is known not to have changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, Error> {
        let commit = self.commit_id();
        if let Some(entry) = self.shared.catalog.table_at(commit, name) {
            return Ok(entry);
        }
        self.view()?.table(name)
    }

    /// The last warnings of item collections near their limit, oldest first.
    #[must_use]
    pub fn collection_warnings(&self) -> Vec<CollectionWarning> {
        self.shared.collection_warnings.all()
    }

    /// The last warnings of throttled requests, oldest first.
    #[must_use]
    pub fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        self.shared.throttle_warnings.all()
    }
}

// Measures operations for the meters.

/// Measures one operation from its beginning to [`Timer::end`].
#[derive(Debug)]
pub struct Timer {
    shared: Arc<Shared>,
    operation: MeteredOperation,
    started: Instant,
}

impl Engine {
    /// Begins to measure an operation.
    #[must_use]
    pub fn timer(&self, operation: MeteredOperation) -> Timer {
        Timer {
            shared: Arc::clone(&self.shared),
            operation,
            started: Instant::now(),
        }
    }
}

impl Timer {
    /// Sets how long it took so far: what was done before it is measured now.
    #[must_use]
    pub fn after(self, took: Duration) -> Self {
        let now = Instant::now();
        Self {
            started: now.checked_sub(took).unwrap_or(now),
            ..self
        }
    }

    /// The outcome as it is, counted for each table that the operation names.
    pub fn end<'t, T>(
        self,
        tables: impl IntoIterator<Item = &'t TableName>,
        outcome: Result<T, Error>,
        returned: impl Fn(&T) -> Option<u64>,
    ) -> Result<T, Error> {
        self.count(
            tables,
            outcome.as_ref().err(),
            outcome.as_ref().ok().and_then(returned),
        );
        outcome
    }

    /// Counts, for each table that the operation names, that it ended, with this failure or with so many items.
    pub fn count<'t>(
        self,
        tables: impl IntoIterator<Item = &'t TableName>,
        failure: Option<&Error>,
        returned: Option<u64>,
    ) {
        let kind = failure.map_or(Outcome::Success, Outcome::of);
        // CloudWatch counts them for the account alone, not by table.
        if kind == Outcome::UserError {
            return self.shared.meter.user_error();
        }
        let latency_ms = self.started.elapsed().as_secs_f64() * 1e3;
        let now_ms = self.shared.now_ms();
        for table in tables {
            let meter = self.shared.meter.table(table);
            count_operation(
                meter.lock().counts(now_ms),
                self.operation,
                kind,
                (latency_ms, returned),
            );
        }
    }
}

// The background threads: each wakes up every while and makes its round.

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
    pub fn start(
        shared: &Arc<Shared>,
        period: Duration,
        all: &[(&str, Round)],
    ) -> Result<Self, StoreError> {
        let background = Self {
            signal: Arc::clone(&shared.signal),
            threads: Mutex::default(),
        };
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
        let Some(shared) = shared.upgrade() else {
            return;
        };
        wait = match round(&shared) {
            Ok(next) => next.map_or(period, |next| next.min(period)),
            Err(error) => {
                log::debug!("background work stopped until the next round: {error}");
                period
            }
        };
    }
}
