//! What operations, background threads and the jobs they submit have in common.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::batch::BatchState;
use super::observers::Observers;
use super::options::EngineOptions;
use super::pieces::Pieces;
use super::signal::Signal;
use super::warnings::Warnings;
use crate::engine::catalog::TableEntry;
use crate::engine::catalog::cache::CatalogCache;
use crate::engine::catalog::watched::Watched;
use crate::engine::meter::Meter;
use crate::engine::partitions::content::Views;
use crate::engine::partitions::rounds::SplitRounds;
use crate::engine::throttle::Throttle;
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
    /// When the next backup of a deleted table may be over; 0 before that was looked up.
    pub(crate) system_backups_due_ms: AtomicU64,
    /// When parked files are looked at next for those whose time is over.
    pub(crate) parked_due_ms: AtomicU64,
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
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
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
            system_backups_due_ms: AtomicU64::new(0),
            parked_due_ms: AtomicU64::new(0),
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
