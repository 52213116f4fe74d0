//! The embedded engine: catalog, operations (one file each), index maintenance, counters.
//!
//! ```text
//! keys.rs         the keys of the store
//! catalog.rs      tables: definitions, ids, cache
//! control_json.rs what control operations keep of a table
//! counters.rs     counters of sources and item collections
//! account.rs      backups, exports, imports, background jobs as records
//! history.rs      old images, for copies as of an earlier moment
//! index_lag/      global indexes that show writes late
//! index_life/     indexes that UpdateTable makes and drops, online
//! index_write.rs  the entries of one index, written
//! jobs.rs         copies in pieces: backups, restores, what exports read
//! batch.rs        what a transaction gathers: counters, versions
//! transaction.rs  an operation's change as a job of the writer thread
//! view.rs         a consistent read
//! item_key.rs     checks of keys in items and Key parameters
//! index.rs        which entries an item has, and what a change of it does to them
//! guard.rs        conditions of writes
//! update.rs       updates of one item
//! write.rs        one item's change: base, collections, indexes, counters
//! witness.rs      who hears which items an operation wrote
//! meter/          what operations consumed and how they ended, in memory
//! partitions/     a model of the service's partitions
//! throttle.rs     a simulator of throttling
//! capacity.rs     capacity units
//! read/           Query and Scan pages
//! ops/            one file for each operation
//! statements/     what the operations of PartiQL share
//! streams/        records of changes
//! time_to_live/   items that expire
//! background.rs   the threads for these
//! watched.rs      which tables need them
//! table_states.rs tables that take their time to come and go
//! tokens.rs       client request tokens of transactions
//! parked.rs       files that were items
//! purge.rs        removal of dropped tables in the background
//! check.rs        everything derived, recomputed and compared
//! ```

pub mod account;
pub mod background;
pub mod batch;
pub mod capacity;
pub mod catalog;
pub mod catalog_json;
pub mod check;
pub mod clock;
pub mod collection_warning;
pub mod control_json;
pub mod counters;
pub mod guard;
pub mod history;
pub mod index;
pub mod index_lag;
pub mod index_life;
pub mod index_write;
pub mod item_key;
pub mod jobs;
pub mod keys;
pub mod meter;
pub mod ops;
pub mod parked;
pub mod partitions;
pub mod purge;
pub mod read;
pub mod statements;
pub mod streams;
pub mod table_states;
pub mod throttle;
pub mod time_to_live;
pub mod tokens;
pub mod transaction;
pub mod update;
pub mod view;
pub mod watched;
pub mod witness;
pub mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::codec::metrics::prices;
use crate::model::Error;
use crate::model::error::StoreError;
use crate::model::layout::PartitionLimits;
use crate::model::prices::PriceTable;
use crate::store::{Store, StoreInfo};

pub use crate::codec::row::{BatchRows, Rows};
pub use crate::model::api::Done;
use background::Background;
use batch::BatchState;
use catalog::CatalogCache;
use clock::{Clock, SystemClock};
use index_life::hold::Hold;
use keys::{Meta, StoreKey};
use throttle::{Throttle, ThrottleOptions};
use transaction::{Change, Transaction};
use view::View;
use watched::Watched;

/// Version of all stored formats together.
pub const FORMAT_VERSION: u8 = 1;

/// Default limit of an item collection of a table with local indexes (docs/dynamodb.md 9.7).
pub const COLLECTION_BYTES_MAX: u64 = 10 * 1024 * 1024 * 1024;

/// Default of [`EngineOptions::background_period`].
pub const BACKGROUND_PERIOD: Duration = Duration::from_secs(1);

/// What comes in from outside: time, chance, limits that tests lower.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub clock: Arc<dyn Clock>,
    /// Source of all ids that look random.
    pub seed: u64,
    /// See [`COLLECTION_BYTES_MAX`].
    pub collection_bytes_max: u64,
    /// How often the background thread looks for items that expired and records that are too old; `None` is no thread, and
    /// [`Engine::run_background_work`] does it.
    pub background_period: Option<Duration>,
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
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
        Self {
            clock: Arc::new(SystemClock),
            seed,
            collection_bytes_max: COLLECTION_BYTES_MAX,
            background_period: Some(BACKGROUND_PERIOD),
            ttl_transition_ms: 0,
            ttl_interval_ms: 0,
            table_delay_ms: 0,
            index_allocation_ms: 0,
            gsi_delay_ms: 0,
            index_step_items: index_life::backfill::ITEMS_PER_STEP,
            index_hold: Arc::default(),
            buckets: None,
            collection_warning_bytes: None,
            prices: Arc::new(prices::built_in()),
            partition_limits: PartitionLimits::default(),
            throttle: None,
        }
    }
}

/// The engine on one store.
#[derive(Debug)]
pub struct Engine {
    /// Before `shared`: it ends first.
    background: Option<Background>,
    shared: Arc<Shared>,
}

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
    pub(crate) signal: Arc<background::Signal>,
    pub(crate) pieces: purge::Pieces,
    /// When the next backup of a deleted table may be over; 0 before that was looked up.
    pub(crate) system_backups_due_ms: AtomicU64,
    /// When parked files are looked at next for those whose time is over.
    pub(crate) parked_due_ms: AtomicU64,
    pub(crate) meter: meter::Meter,
    pub(crate) upkeep: partitions::Upkeep,
    pub(crate) throttle: Option<Throttle>,
    pub(crate) collection_warnings: collection_warning::CollectionWarnings,
    /// When it was opened, milliseconds since the epoch.
    pub(crate) started_ms: u64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Shared {
    /// Queues a change; `done` hears of it after the commit.
    pub(crate) fn submit<T, F>(self: &Arc<Self>, run: F, done: Done<T>)
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.store.submit(Box::new(Change {
            shared: Arc::clone(self),
            run,
            outcome: None,
            charges: meter::Charges::default(),
            is_removal: false,
            witness: witness::current(),
            written: Vec::new(),
            done,
        }));
    }

    /// Runs a change to its end.
    pub(crate) fn submit_and_wait<T, F>(self: &Arc<Self>, run: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let done = Box::new(move |outcome| {
            // The receiver waits below; it cannot be gone.
            let _ = sender.send(outcome);
        });
        self.submit(run, done);
        receiver.recv().unwrap_or(Err(Error::Store(StoreError::Closed)))
    }
}

impl Engine {
    /// Opens the engine on a store, a new one or one it wrote before, and goes on with what an earlier process left undone.
    ///
    /// # Errors
    /// `Format` when a newer version wrote the store; those of the store.
    pub fn open(store: Arc<dyn Store>, options: EngineOptions) -> Result<Self, Error> {
        let batch = Arc::new(BatchState::default());
        store.set_hook(Arc::<BatchState>::clone(&batch));
        let started_ms = options.clock.now_ms();
        let throttle = options.throttle.map(Throttle::new);
        let shared = Arc::new(Shared {
            store,
            options,
            catalog: CatalogCache::default(),
            batch,
            expiring_tables: Watched::new(time_to_live::is_on),
            busy_tables: Watched::new(index_life::has_work),
            signal: Arc::default(),
            pieces: purge::Pieces::default(),
            system_backups_due_ms: AtomicU64::new(0),
            parked_due_ms: AtomicU64::new(0),
            meter: meter::Meter::default(),
            upkeep: partitions::Upkeep::default(),
            throttle,
            collection_warnings: collection_warning::CollectionWarnings::default(),
            started_ms,
        });
        let mut engine = Self { background: None, shared };
        engine.check_format()?;
        purge::resume(&engine.shared)?;
        if let Some(period) = engine.shared.options.background_period {
            engine.background = Some(Background::start(&engine.shared, period)?);
        }
        tokens::resume(&engine.shared)?;
        jobs::resume(&engine.shared)?;
        Ok(engine)
    }

    fn check_format(&self) -> Result<(), Error> {
        let key = StoreKey::Meta(Meta::Format).encode();
        if let Some(bytes) = self.shared.store.snapshot()?.get(&key)? {
            return Ok(known_format(bytes)?);
        }
        self.shared.submit_and_wait(|transaction| {
            let key = StoreKey::Meta(Meta::Format).encode();
            match transaction.batch.get(&key)? {
                Some(bytes) => Ok(known_format(bytes)?),
                None => Ok(transaction.batch.put(&key, &[FORMAT_VERSION])?),
            }
        })
    }

    /// A consistent view of the last commit.
    ///
    /// # Errors
    /// Those of the store.
    pub fn view(&self) -> Result<View<'_>, Error> {
        Ok(View::new(&self.shared, self.shared.store.snapshot()?))
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

    #[must_use]
    pub fn store_info(&self) -> StoreInfo {
        self.shared.store.info()
    }

    /// Does what the background threads do, now and to the end: items whose time is over, stream records that are too old, indexes
    /// that are being made or removed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn run_background_work(&self) -> Result<(), Error> {
        background::round(&self.shared)
    }

    /// Runs what is queued to its end; the engine takes no writes after it.
    pub fn close(&self) {
        if let Some(background) = &self.background {
            background.end();
        }
        self.shared.store.close();
    }
}

fn known_format(bytes: &[u8]) -> Result<(), StoreError> {
    match bytes {
        [FORMAT_VERSION] => Ok(()),
        [other] => Err(StoreError::Format(*other)),
        _ => Err(StoreError::Corrupt("format version")),
    }
}
