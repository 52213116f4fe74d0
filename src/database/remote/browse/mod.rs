//! A remote service as a mount browses it: the reads of a filesystem are answered by operations of
//! the API alone, so that any [`Database`] will do (docs/remote.md describes the mapping).
//!
//! ```text
//! reads       impl Browse                      listing      listings, prefetch of pages and files, scan limits
//! operations  impl Database                    own_writes   own writes: conditions, and their effect on the cache
//! cache       cache of entries, single flight, count of own writes
//! tables      cache of definitions             walks        pages of listings under way, their scan cost
//! source      keys, reads as requests          prefetch     reads of names, threads that fetch ahead
//! local_state state of the mount in memory     snapshots    whole sources, for the walk of a program
//! write_queue gathers writes into batches      known        ranges of names whose items were all read
//! ```
//! No lock is held over a request.

mod cache;
mod known;
mod listing;
mod local_state;
mod operations;
mod own_writes;
mod prefetch;
mod reads;
mod snapshots;
mod source;
mod tables;
mod walks;
mod write_queue;

use crate::database::prelude::*;
use cache::{EntryCache, RemoteCommits};
use local_state::LocalState;
use prefetch::{FolderReads, fetch_threads};
use snapshots::Snapshots;
use tables::{ServiceHandle, TableCache};
use walks::{ScanCosts, SuspendedWalks};
use write_queue::WriteQueue;

use crate::database::cancel::CancelToken;
use crate::database::remote::budget::RemoteLayout;
use crate::database::thread_pool::ThreadPool;
use crate::model::clock::{Clock, SystemClock};
use std::ops::Deref;

/// The default size of the item cache, in bytes.
const CACHE_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// The default time to live of cached reads.
const TTL_DEFAULT: Duration = Duration::from_secs(1);
/// The default limit of read units for one listing or scan.
const SCAN_LIMIT_DEFAULT: f64 = 1000.0;

/// The settings of a remote database.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// The time to live of cached reads.
    pub ttl: Duration,
    /// The limit of read units for one listing or scan.
    pub scan_limit: f64,
    /// Patterns of the visible tables, in which `*` stands for any characters; all tables are
    /// visible if there are none.
    pub tables: Vec<String>,
    /// True if writes are allowed.
    pub is_writable: bool,
    pub cache_bytes: usize,
    pub clock: Arc<dyn Clock>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            ttl: TTL_DEFAULT,
            scan_limit: SCAN_LIMIT_DEFAULT,
            tables: Vec::new(),
            is_writable: false,
            cache_bytes: CACHE_BYTES_DEFAULT,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A remote service as a `Database` and `Browse`, for one caller; see the module.
pub struct RemoteDatabase {
    shared: Arc<RemoteShared>,
    /// The service, with waits that the caller can cancel.
    service: Arc<dyn Database>,
    caller: CancelToken,
    layout: Option<RemoteLayout>,
}

/// The state that the handles of different callers share.
pub struct RemoteShared {
    /// The service for prefetches, which no caller waits for.
    prefetch_service: Arc<dyn Database>,
    options: RemoteOptions,
    tables: Arc<TableCache>,
    cache: Arc<EntryCache>,
    walks: Mutex<SuspendedWalks>,
    scan_costs: ScanCosts,
    folder_reads: FolderReads,
    /// The threads that fetch pages and definitions ahead.
    fetches: Arc<ThreadPool>,
    snapshots: Snapshots,
    local_state: Arc<LocalState>,
    commits: Arc<RemoteCommits>,
    writes: WriteQueue,
}

impl Deref for RemoteDatabase {
    type Target = RemoteShared;

    fn deref(&self) -> &RemoteShared {
        &self.shared
    }
}

opaque_debug!(RemoteDatabase);

opaque_debug!(RemoteShared);

impl RemoteDatabase {
    /// Creates a view of a service.
    #[must_use]
    pub fn new(service: Arc<dyn Database>, options: RemoteOptions) -> Self {
        let clock = || Arc::clone(&options.clock);
        let commits = Arc::new(RemoteCommits::new(options.ttl, clock()));
        let fetches = fetch_threads();
        let shared = RemoteShared {
            tables: Arc::new(TableCache::new(
                options.tables.clone(),
                options.ttl,
                clock(),
                Arc::clone(&commits),
                Arc::clone(&service),
                Arc::clone(&fetches),
            )),
            cache: Arc::new(EntryCache::new(options.ttl, options.cache_bytes, clock())),
            walks: Mutex::default(),
            scan_costs: ScanCosts::default(),
            folder_reads: FolderReads::default(),
            snapshots: Snapshots::default(),
            local_state: Arc::default(),
            writes: WriteQueue::new(Arc::clone(&service)),
            commits,
            fetches,
            // A prefetch has no caller, so nothing cancels it.
            prefetch_service: Arc::clone(&service),
            options,
        };
        Self {
            shared: Arc::new(shared),
            service,
            caller: CancelToken::default(),
            layout: None,
        }
    }

    /// Returns a handle with waits that the caller can cancel.
    fn with_caller(&self, caller: &CancelToken) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            service: self
                .service
                .for_caller(caller)
                .unwrap_or_else(|| Arc::clone(&self.service)),
            caller: caller.clone(),
            layout: self.layout.as_ref().map(|of| of.for_caller(caller)),
        }
    }

    /// Waits for the writes that were acknowledged before they ended, so that a read by the service
    /// shows them.
    fn settle(&self) -> Result<(), Error> {
        self.writes.settle(&self.caller)
    }

    fn service_handle(&self) -> ServiceHandle<'_> {
        ServiceHandle {
            service: &*self.service,
            caller: &self.caller,
        }
    }

    /// Sets the source of metrics and spending.
    #[must_use]
    pub fn with_layout(self, layout: RemoteLayout) -> Self {
        Self {
            layout: Some(layout),
            ..self
        }
    }
}
