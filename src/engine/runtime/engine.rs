//! The handle of an open engine: [`Engine`] gives views, registers observers, runs background
//! rounds and measures operations. The operations themselves are methods of it in `engine::ops`.

use std::{
    sync::Weak,
    time::{Duration, Instant},
};

use super::{
    shared::{EngineShared, Signal},
    view::ReadView,
};
use crate::engine::{
    meter::{OperationOutcome, access::Access, sums::count_operation},
    prelude::*,
};
use crate::expr::normal_form::RequestPart;
use crate::model::{
    api::{CommitObserver, Consumption},
    metrics::{CollectionWarning, MeteredOperation, ThrottleWarning},
};
use crate::store::{StoreInfo, worker::Worker};

/// The engine on one store.
#[derive(Debug)]
pub struct Engine {
    /// The background threads. Declared before `shared`: fields are dropped in order, and the threads
    /// must end first.
    pub(in crate::engine) background: Option<Background>,
    pub(in crate::engine) shared: Arc<EngineShared>,
}

impl Engine {
    /// Opens a consistent view of the last commit.
    pub fn view(&self) -> Result<ReadView<'_>, Error> {
        Ok(self.shared.view()?)
    }

    /// Returns the id of the last commit, which changes with every change of content, through any
    /// front end or process.
    #[must_use]
    pub fn commit_id(&self) -> u64 {
        self.shared.store.commit_id()
    }

    /// Sleeps until [`Engine::commit_id`] differs from `after`, at most for `timeout`; returns the
    /// id.
    pub fn wait_for_commit(&self, after: u64, timeout: std::time::Duration) -> Result<u64, Error> {
        Ok(self.shared.store.wait_for_commit(after, timeout)?)
    }

    /// Registers an observer of every write from now on. On return, every write that it is not
    /// notified of is visible to readers.
    ///
    /// # Errors
    /// Fails with errors of the store; the observer is not registered then.
    pub fn observe(&self, observer: &Arc<dyn CommitObserver>) -> Result<(), Error> {
        self.shared.observers.add(observer);
        // Jobs run in order: a job before this one may have begun without observers.
        self.shared
            .submit_and_wait(|_| Ok(()))
            .inspect_err(|_| self.unobserve(observer))
    }

    /// Unregisters an observer; a notification in progress continues.
    pub fn unobserve(&self, observer: &Arc<dyn CommitObserver>) {
        self.shared.observers.remove(observer);
    }

    #[must_use]
    pub fn store_info(&self) -> StoreInfo {
        self.shared.store.info()
    }

    /// Returns a table's entry as of the last commit; opens no view while the catalog is known to
    /// be unchanged.
    pub fn table(&self, name: &TableName) -> Result<Option<Arc<TableEntry>>, Error> {
        let commit = self.commit_id();
        if let Some(entry) = self.shared.catalog.cached_table(commit, name) {
            return Ok(entry);
        }
        self.view()?.table(name)
    }

    /// Returns the last warnings of item collections near their limit, oldest first.
    #[must_use]
    pub fn collection_warnings(&self) -> Vec<CollectionWarning> {
        self.shared.collection_warnings.all()
    }

    /// Returns the last warnings of throttled requests, oldest first.
    #[must_use]
    pub fn throttle_warnings(&self) -> Vec<ThrottleWarning> {
        self.shared.throttle_warnings.all()
    }
}

// The measurement of operations for the meters.

/// A timer of one operation, from its start to [`Timer::count`].
#[derive(Debug)]
pub struct Timer {
    shared: Arc<EngineShared>,
    operation: MeteredOperation,
    /// The request on each of its tables.
    accesses: Vec<Access>,
    started: Instant,
}

impl Engine {
    /// Starts to measure an operation of these parts.
    #[must_use]
    pub fn timer(&self, operation: MeteredOperation, parts: &[RequestPart<'_>]) -> Timer {
        let started = Instant::now();
        Timer {
            shared: Arc::clone(&self.shared),
            operation,
            accesses: self.accesses(operation, parts),
            started,
        }
    }

    fn accesses(&self, operation: MeteredOperation, parts: &[RequestPart<'_>]) -> Vec<Access> {
        self.shared
            .meter
            .forms
            .accesses(operation.name(), parts, |name| self.known_table(name))
    }

    fn known_table(&self, name: &TableName) -> Option<Arc<TableEntry>> {
        self.table(name).ok().flatten()
    }

    /// Counts the read of an entry by its key that no operation made: the read of a file.
    pub fn count_get(&self, part: &RequestPart<'_>, units: f64) {
        let now_ms = self.shared.now_ms();
        self.shared
            .meter
            .forms
            .count_get(part, units, now_ms, |name| self.known_table(name));
    }
}

impl Timer {
    /// Counts the outcome for each table that the operation names, and returns it unchanged.
    pub fn finish<T>(
        self,
        outcome: Result<T, Error>,
        consumed: impl Fn(&T) -> Consumption,
    ) -> Result<T, Error> {
        self.count(outcome.as_ref().map(consumed));
        outcome
    }

    /// Counts the end of the operation for each table that it names: what it consumed, or its
    /// failure.
    pub fn count(&self, outcome: Result<Consumption, &Error>) {
        self.count_at(self.started.elapsed(), outcome);
    }

    /// Counts the end of the operation, which took this long, however much later it is counted.
    pub fn count_at(&self, took: Duration, outcome: Result<Consumption, &Error>) {
        let (kind, consumed) = match outcome {
            Ok(consumed) => (OperationOutcome::Success, consumed),
            Err(error) => (OperationOutcome::of(error), Consumption::default()),
        };
        let meter = &self.shared.meter;
        // CloudWatch counts user errors for the account, not by table.
        if kind == OperationOutcome::UserError {
            return meter.count_user_error();
        }
        let latency_ms = took.as_secs_f64() * 1e3;
        let now_ms = self.shared.now_ms();
        let returns_items = matches!(
            self.operation,
            MeteredOperation::Query | MeteredOperation::Scan | MeteredOperation::ExecuteStatement
        );
        let returned = returns_items.then(|| consumed.returned.iter().sum());
        for access in &self.accesses {
            let table = meter.table(&access.table);
            let mut sums = table.lock();
            count_operation(
                sums.counts(now_ms),
                self.operation,
                kind,
                latency_ms,
                returned,
            );
        }
        meter
            .forms
            .count(&self.accesses, now_ms, Some(latency_ms), kind, &consumed);
    }
}

// The background threads: each wakes up at intervals and runs its round.

/// The running background threads.
#[derive(Debug)]
pub struct Background {
    signal: Arc<Signal>,
    threads: Mutex<Vec<Worker>>,
}

/// The work of a thread, passed in by the layer above; returns the delay until there is more work,
/// if that is known.
pub type Round = fn(&Arc<EngineShared>) -> Result<Option<Duration>, Error>;

impl Background {
    /// Starts a thread for each round, under its name.
    ///
    /// # Errors
    /// Fails with `Io` if a thread cannot be started.
    pub fn start(
        shared: &Arc<EngineShared>,
        period: Duration,
        all: &[(&str, Round)],
    ) -> Result<Self, StoreError> {
        let background = Self {
            signal: Arc::clone(&shared.signal),
            threads: Mutex::default(),
        };
        for &(name, round) in all {
            // Weak: the engine's own thread must not keep a store open after all other users have
            // closed it.
            let (weak, signal) = (Arc::downgrade(shared), Arc::clone(&background.signal));
            let thread = Worker::start(name, move || run_rounds(&weak, &signal, period, round))?;
            background.threads.lock().push(thread);
        }
        Ok(background)
    }

    /// Ends the threads and joins them. Never called on such a thread, which owns no engine; and
    /// the threads wait for nothing that could be waiting here.
    pub fn end(&self) {
        self.signal.end();
        self.threads.lock().clear();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

fn run_rounds(shared: &Weak<EngineShared>, signal: &Signal, period: Duration, round: Round) {
    // The first round runs at once: an earlier process may have left work.
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
