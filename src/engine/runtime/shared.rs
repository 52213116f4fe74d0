//! What operations, background threads and the jobs they submit have in common.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use parking_lot::Condvar;

use super::{batch::BatchState, observers::Observers, options::EngineOptions, warnings::Warnings};
use crate::engine::{
    catalog::cache::{CatalogCache, Watched},
    meter::Meter,
    partitions::{SplitRounds, content::Views},
    prelude::*,
    throttle::Throttle,
};
use crate::model::layout::{CollectionWarning, ThrottleWarning};
use crate::store::Store;

/// What operations and the jobs they submit have in common.
pub struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: EngineOptions,
    pub(crate) catalog: CatalogCache,
    pub(crate) batch: Arc<BatchState>,
    /// Tables with time to live.
    pub(crate) expiring_tables: Watched,
    /// Tables that come or go, with indexes that are being made or removed, or that lag.
    pub(crate) busy_tables: Watched,
    pub(crate) signal: Arc<Signal>,
    pub(crate) pieces: Pieces,
    pub(super) observers: Observers,
    /// When the next backup of a deleted table may be over.
    pub(crate) system_backups_due: Due,
    /// When the next parked file may be over.
    pub(crate) parked_due: Due,
    /// When counts are looked through for old ones.
    pub(crate) counted_due: Due,
    pub(crate) meter: Meter,
    pub(crate) split_rounds: SplitRounds,
    pub(crate) throttle: Option<Throttle>,
    pub(crate) collection_warnings: Warnings<CollectionWarning>,
    pub(super) throttle_warnings: Warnings<ThrottleWarning>,
    /// When it was opened, milliseconds since the epoch.
    pub(crate) started_ms: u64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// By the clock of the options.
    pub(crate) fn now_ms(&self) -> u64 {
        self.options.clock.now_ms()
    }

    /// On a store that the engine's hook is given to.
    pub(in crate::engine) fn new(store: Arc<dyn Store>, options: EngineOptions) -> Self {
        let batch = Arc::new(BatchState::default());
        // Before any job: its counters are written by the hook.
        store.set_hook(Arc::<BatchState>::clone(&batch));
        let started_ms = options.clock.now_ms();
        let throttle = options.throttle.map(Throttle::new);
        Self {
            store,
            options,
            catalog: CatalogCache::default(),
            batch,
            expiring_tables: Watched::new(|table| table.expiry_list().is_some()),
            busy_tables: Watched::new(TableEntry::has_background_work),
            signal: Arc::default(),
            pieces: Pieces::default(),
            observers: Observers::default(),
            system_backups_due: Due::default(),
            parked_due: Due::default(),
            counted_due: Due::default(),
            meter: Meter::default(),
            split_rounds: SplitRounds::default(),
            throttle,
            collection_warnings: Warnings::default(),
            throttle_warnings: Warnings::default(),
            started_ms,
        }
    }

    /// A view of the last commit for each step of a walk through what lies in partitions.
    pub(in crate::engine) fn views(&self) -> Box<Views<'_>> {
        Box::new(|step| Ok(step(&*self.store.snapshot()?)?))
    }
}

/// When something is looked at next, milliseconds since the epoch; at first at once.
#[derive(Debug, Default)]
pub struct Due(AtomicU64);

impl Due {
    /// Is it time? Then it is not again until [`Self::no_later_than`] says so: what comes meanwhile makes it earlier.
    pub fn begins(&self, now_ms: u64) -> bool {
        let is_time = now_ms >= self.0.load(Ordering::Acquire);
        if is_time {
            self.0.store(u64::MAX, Ordering::Release);
        }
        is_time
    }

    /// At that time at the latest.
    pub fn no_later_than(&self, ms: u64) {
        self.0.fetch_min(ms, Ordering::AcqRel);
    }
}

// What wakes the background threads, and ends them.

/// Says that the engine ends, or that there is something to do before the next round.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<Requested>,
    changed: Condvar,
    /// Beside `end`, which waits for the lock: asked between the steps of a round.
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

    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.state.lock().end = true;
        self.changed.notify_all();
    }

    /// Waits for the next round, `seen` being how many were asked for when the last began; false at the end.
    pub(super) fn wait(&self, period: Duration, seen: &mut u64) -> bool {
        let mut state = self.state.lock();
        // Rounds are counted, not flagged: one that was asked for during a round is not lost, and each thread sees it.
        if state.rounds == *seen && !state.end {
            self.changed.wait_for(&mut state, period);
        }
        *seen = state.rounds;
        !state.end
    }
}

// How large the pieces are in which things are removed.

/// Keys removed in one transaction: long enough to be quick, short enough for other writers not to wait.
const KEYS_PER_PIECE_MAX: usize = 5_000;

/// How many keys are removed in one transaction: half as many after each that found no room for the pages that it writes anew, some
/// more after each that went through.
#[derive(Debug)]
pub struct Pieces(AtomicUsize);

impl Default for Pieces {
    fn default() -> Self {
        Self(AtomicUsize::new(KEYS_PER_PIECE_MAX))
    }
}

impl Pieces {
    pub fn keys(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn grow(&self) {
        let keys = self.keys();
        self.0.store(
            (keys + keys / 8 + 1).min(KEYS_PER_PIECE_MAX),
            Ordering::Relaxed,
        );
    }

    /// Whether a smaller piece than the last can be tried.
    pub fn halve(&self) -> bool {
        let keys = self.keys();
        self.0.store((keys / 2).max(1), Ordering::Relaxed);
        keys > 1
    }
}
