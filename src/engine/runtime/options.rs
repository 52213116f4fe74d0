//! The configuration of an engine: clock, seed, simulated delays, and limits that tests lower.

use std::{path::PathBuf, time::Duration};

use super::test_hooks::IndexHold;
use crate::codec::metrics::prices;
use crate::engine::{prelude::*, throttle::ThrottleOptions};
use crate::model::{
    clock::{Clock, SystemClock},
    limits::COLLECTION_BYTES_MAX,
    metrics::PartitionLimits,
    prices::PriceTable,
};

/// The default of [`EngineOptions::background_period`].
pub const BACKGROUND_PERIOD: Duration = Duration::from_secs(1);

/// The default of [`EngineOptions::index_step_items`], small so that other writers do not wait.
const INDEX_STEP_ITEMS: usize = 100;

/// The options of the engine: clock, seed, and limits that tests lower.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub clock: Arc<dyn Clock>,
    /// The seed of all ids that look random.
    pub seed: u64,
    /// The limit of an item collection, in bytes; see [`COLLECTION_BYTES_MAX`].
    pub collection_bytes_max: u64,
    /// The interval at which the background threads look for expired items and old records; `None`
    /// starts no threads, and the caller runs [`crate::engine::Engine::run_background_work`].
    pub background_period: Option<Duration>,
    /// True if only requests write: work left by an earlier process stays undone, nothing runs in
    /// the background, and reads are not counted. A store that is only inspected does not change.
    pub passive: bool,
    /// The shortest time for which time to live is ENABLING or DISABLING, in milliseconds (the
    /// service: up to an hour).
    pub ttl_transition_ms: u64,
    /// The time for which time to live may not be changed again, in milliseconds (the service: 30
    /// to 60 minutes).
    pub ttl_interval_ms: u64,
    /// The time for which a table is CREATING or DELETING, in milliseconds (the service: some
    /// seconds).
    pub table_delay_ms: u64,
    /// The time that the allocation of resources for a new index takes, in milliseconds (the
    /// service: half a minute).
    pub index_allocation_ms: u64,
    /// The lag of global indexes behind their table, in milliseconds (the service: a fraction of a
    /// second). 0 changes them with their table.
    pub gsi_delay_ms: u64,
    /// The number of items read in one step of a backfill.
    pub index_step_items: usize,
    /// The stages of indexes that are held, for tests.
    pub index_hold: Arc<IndexHold>,
    /// The directory that stands for S3, each bucket a directory in it; `None` refuses exports and
    /// imports.
    pub buckets: Option<PathBuf>,
    /// The size in bytes from which on a collection causes a warning; `None` is four fifths of the
    /// limit.
    pub collection_warning_bytes: Option<u64>,
    /// The prices from which costs are computed.
    pub prices: Arc<PriceTable>,
    /// The limits of a partition of the model.
    pub partition_limits: PartitionLimits,
    /// The simulation of throttling; `None` throttles nothing.
    pub throttle: Option<ThrottleOptions>,
}

impl Default for EngineOptions {
    /// Returns options with the machine's clock and a random seed.
    fn default() -> Self {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        Self {
            clock: Arc::new(SystemClock),
            seed,
            collection_bytes_max: COLLECTION_BYTES_MAX,
            background_period: Some(BACKGROUND_PERIOD),
            passive: false,
            ttl_transition_ms: 0,
            ttl_interval_ms: 0,
            table_delay_ms: 0,
            index_allocation_ms: 0,
            gsi_delay_ms: 0,
            index_step_items: INDEX_STEP_ITEMS,
            index_hold: Arc::default(),
            buckets: None,
            collection_warning_bytes: None,
            prices: Arc::new(prices::built_in()),
            partition_limits: PartitionLimits::default(),
            throttle: None,
        }
    }
}
