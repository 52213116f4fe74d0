//! What comes into the engine from outside.

use std::{path::PathBuf, time::Duration};

use super::hold::Hold;
use crate::codec::metrics::prices;
use crate::engine::{prelude::*, throttle::ThrottleOptions};
use crate::model::{
    clock::{Clock, SystemClock},
    layout::PartitionLimits,
    limits::COLLECTION_BYTES_MAX,
    prices::PriceTable,
};

/// Default of [`EngineOptions::background_period`].
pub const BACKGROUND_PERIOD: Duration = Duration::from_secs(1);

/// Default of [`EngineOptions::index_step_items`]: other writers are not to wait.
const INDEX_STEP_ITEMS: usize = 100;

/// What comes in from outside: time, chance, limits that tests lower.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub clock: Arc<dyn Clock>,
    /// Source of all ids that look random.
    pub seed: u64,
    /// See [`COLLECTION_BYTES_MAX`].
    pub collection_bytes_max: u64,
    /// How often the background thread looks for items that expired and records that are too old; `None` is no thread, and
    /// [`crate::engine::Engine::run_background_work`] does it.
    pub background_period: Option<Duration>,
    /// Nothing is written but by requests: what an earlier process left undone stays, nothing is done in the background, and what is read is
    /// not counted. So a store that is only looked at stays as it is.
    pub looks_only: bool,
    /// How long time to live is ENABLING or DISABLING at least (the service: up to an hour).
    pub ttl_transition_ms: u64,
    /// How long time to live may not be changed again (the service: 30 to 60 minutes).
    pub ttl_interval_ms: u64,
    /// How long a table is CREATING and DELETING (the service: some seconds).
    pub table_delay_ms: u64,
    /// How long the allocation of resources for a new index takes (the service: half a minute).
    pub index_allocation_ms: u64,
    /// How long global indexes lag behind their table (the service: a fraction of a second). 0 changes them with their table.
    pub gsi_delay_ms: u64,
    /// Items looked at in one step of a backfill.
    pub index_step_items: usize,
    /// Parts of the life of indexes that are held, for tests.
    pub index_hold: Arc<Hold>,
    /// The directory that stands for S3, each bucket a directory in it; `None` refuses exports and imports.
    pub buckets: Option<PathBuf>,
    /// From which size on a collection is warned of; `None` is four fifths of the limit.
    pub collection_warning_bytes: Option<u64>,
    /// What costs are told by.
    pub prices: Arc<PriceTable>,
    /// What a partition of the model gives.
    pub partition_limits: PartitionLimits,
    /// Refuses what asks for more than the service would give; `None` gives everything.
    pub throttle: Option<ThrottleOptions>,
}

impl Default for EngineOptions {
    /// The machine's clock and a seed of its own.
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
            looks_only: false,
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
