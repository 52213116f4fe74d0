//! The state that operations, background threads and their jobs on the writer thread share: store,
//! options, catalog cache, meters, throttle, and the signal to end.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use parking_lot::Condvar;

use super::{batch::BatchState, observers::Observers, options::EngineOptions, warnings::Warnings};
use crate::engine::{
    catalog::cache::{CatalogCache, TableWatchList},
    meter::EngineMeter,
    partitions::{SplitState, content::SourceContent},
    prelude::*,
    throttle::Throttle,
};
use crate::model::metrics::{CollectionWarning, ThrottleWarning};
use crate::store::Store;

/// The state shared by operations and the jobs they submit.
pub struct EngineShared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: EngineOptions,
    pub(crate) catalog: CatalogCache,
    pub(crate) batch: Arc<BatchState>,
    /// Tables with time to live.
    pub(crate) expiring_tables: TableWatchList,
    /// Tables being created or deleted, with indexes being made or removed, or with lag.
    pub(crate) busy_tables: TableWatchList,
    pub(crate) signal: Arc<Signal>,
    pub(crate) batch_size: BatchSize,
    pub(super) observers: Observers,
    /// The time at which the next backup of a deleted table may expire.
    pub(crate) system_backups_due: DueTime,
    /// The time at which the next file in the trash may expire.
    pub(crate) trash_due: DueTime,
    /// The time at which the stored counts are next searched for old ones.
    pub(crate) prune_due: DueTime,
    pub(crate) meter: EngineMeter,
    pub(crate) split_rounds: SplitState,
    pub(crate) throttle: Option<Throttle>,
    pub(crate) collection_warnings: Warnings<CollectionWarning>,
    pub(super) throttle_warnings: Warnings<ThrottleWarning>,
    /// The time at which the engine was opened, in milliseconds since the epoch.
    pub(crate) started_ms: u64,
}

opaque_debug!(EngineShared);

impl EngineShared {
    /// Returns the time by the clock of the options.
    pub(crate) fn now_ms(&self) -> u64 {
        self.options.clock.now_ms()
    }

    /// Creates the state on a store and sets the store's hook.
    pub(in crate::engine) fn new(store: Arc<dyn Store>, options: EngineOptions) -> Self {
        let batch = Arc::new(BatchState::default());
        // Before any job: the hook writes the counters.
        store.set_hook(Arc::<BatchState>::clone(&batch));
        let started_ms = options.clock.now_ms();
        let throttle = options.throttle.map(Throttle::new);
        Self {
            store,
            options,
            catalog: CatalogCache::default(),
            batch,
            expiring_tables: TableWatchList::new(|table| table.expiry_list().is_some()),
            busy_tables: TableWatchList::new(TableEntry::has_background_work),
            signal: Arc::default(),
            batch_size: BatchSize::default(),
            observers: Observers::default(),
            system_backups_due: DueTime::default(),
            trash_due: DueTime::default(),
            prune_due: DueTime::default(),
            meter: EngineMeter::default(),
            split_rounds: SplitState::default(),
            throttle,
            collection_warnings: Warnings::default(),
            throttle_warnings: Warnings::default(),
            started_ms,
        }
    }

    pub(in crate::engine) fn content<'c>(
        &'c self,
        table: &'c TableEntry,
        source: SourceId,
    ) -> SourceContent<'c> {
        SourceContent {
            store: &*self.store,
            table,
            source,
        }
    }
}

/// The time of the next check of something, in milliseconds since the epoch; the first check is due
/// at once.
#[derive(Debug, Default)]
pub struct DueTime(AtomicU64);

impl DueTime {
    /// True if the check is due. It is not due again until [`Self::no_later_than`] sets a time,
    /// also while the check runs.
    pub fn take_due(&self, now_ms: u64) -> bool {
        let is_time = now_ms >= self.0.load(Ordering::Acquire);
        if is_time {
            self.0.store(u64::MAX, Ordering::Release);
        }
        is_time
    }

    /// Makes the next check due at `ms` at the latest.
    pub fn no_later_than(&self, ms: u64) {
        self.0.fetch_min(ms, Ordering::AcqRel);
    }
}

// The signal that wakes the background threads and ends them.

/// A signal that the engine ends, or that there is work before the next round.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
    /// Beside `end`, which needs the lock: read between the steps of a round.
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct SignalState {
    /// The number of rounds requested so far.
    rounds: u64,
    end: bool,
}

impl Signal {
    /// Requests a round of each thread now.
    pub fn wake(&self) {
        self.state.lock().rounds += 1;
        self.changed.notify_all();
    }

    /// True if the engine is ending.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.state.lock().end = true;
        self.changed.notify_all();
    }

    /// Waits for the next round; `seen` is the number of rounds requested when the last one began.
    /// Returns false at the end.
    pub(super) fn wait(&self, period: Duration, seen: &mut u64) -> bool {
        let mut state = self.state.lock();
        // Rounds are counted, not flagged: a round requested during a round is not lost, and each
        // thread sees it.
        if state.rounds == *seen && !state.end {
            self.changed.wait_for(&mut state, period);
        }
        *seen = state.rounds;
        !state.end
    }
}

// The size of the batches in which keys are removed.

/// The greatest number of keys removed in one transaction: large enough to be quick, small enough
/// for other writers not to wait.
const KEYS_PER_BATCH_MAX: usize = 5_000;

/// The number of keys removed in one transaction: halved after each transaction that found the disk
/// full for the pages it copies, and grown after each that succeeded.
#[derive(Debug)]
pub struct BatchSize(AtomicUsize);

impl Default for BatchSize {
    fn default() -> Self {
        Self(AtomicUsize::new(KEYS_PER_BATCH_MAX))
    }
}

impl BatchSize {
    pub fn keys(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn grow(&self) {
        let keys = self.keys();
        self.0.store(
            (keys + keys / 8 + 1).min(KEYS_PER_BATCH_MAX),
            Ordering::Relaxed,
        );
    }

    /// Halves the batch; returns true if it was not at its smallest.
    pub fn halve(&self) -> bool {
        let keys = self.keys();
        self.0.store((keys / 2).max(1), Ordering::Relaxed);
        keys > 1
    }
}
