//! A remote service as a mount browses it: the reads of a filesystem are answered by operations of
//! the API alone, so that any [`Database`] will do (docs/remote.md describes the mapping).
//!
//! ```text
//! look.rs        impl Browse              listing.rs  listings, prefetch of pages and folders, scan limits
//! operations.rs  impl Database            writes.rs   own writes: conditions, and their effect on the cache
//! pages.rs       cache of items, single flight, count of own writes
//! tables.rs      cache of definitions     walks.rs    pages of listings under way, their scan cost
//! source.rs      keys, reads as requests  readers.rs  detection of sequential readers
//! beside.rs      local state of the mount
//! ```
//! No lock is held over a request.

mod beside;
mod listing;
mod look;
mod operations;
mod pages;
mod readers;
mod source;
mod tables;
mod walks;
mod writes;

use crate::database::prelude::*;
use beside::Beside;
use pages::{Commits, Pages};
use readers::{Readers, Siblings};
use tables::{Asker, Tables};
use walks::{Tolls, Walks};

use crate::database::caller::Caller;
use crate::database::layout::Layout;
use crate::model::clock::{Clock, SystemClock};
use std::ops::Deref;

/// The default size of the item cache, in bytes.
const HELD_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
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
    /// True if pages, files and folders are prefetched.
    pub reads_ahead: bool,
    pub held_bytes: usize,
    pub clock: Arc<dyn Clock>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            ttl: TTL_DEFAULT,
            scan_limit: SCAN_LIMIT_DEFAULT,
            tables: Vec::new(),
            is_writable: false,
            reads_ahead: true,
            held_bytes: HELD_BYTES_DEFAULT,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A remote service as a `Database` and `Browse`, for one caller; see the module.
pub struct RemoteDatabase {
    shared: Arc<Shared>,
    /// The service, with waits that the caller can cancel.
    service: Arc<dyn Database>,
    caller: Caller,
    layout: Option<Arc<dyn Layout>>,
}

/// The state that the handles of different callers share.
pub struct Shared {
    /// The service for prefetches, which no caller waits for.
    service_ahead: Arc<dyn Database>,
    options: RemoteOptions,
    tables: Arc<Tables>,
    pages: Arc<Pages>,
    walks: Walks,
    tolls: Tolls,
    readers: Readers,
    siblings: Siblings,
    beside: Arc<Beside>,
    commits: Arc<Commits>,
}

impl Deref for RemoteDatabase {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl std::fmt::Debug for RemoteDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteDatabase")
            .field("shared", &self.shared)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RemoteDatabase {
    /// Creates a view of a service.
    #[must_use]
    pub fn new(service: Arc<dyn Database>, options: RemoteOptions) -> Self {
        let clock = || Arc::clone(&options.clock);
        let commits = Arc::new(Commits::new(options.ttl, clock()));
        let shared = Shared {
            tables: Arc::new(Tables::new(
                options.tables.clone(),
                options.ttl,
                clock(),
                Arc::clone(&commits),
            )),
            pages: Arc::new(Pages::new(options.ttl, options.held_bytes, clock())),
            walks: Walks::default(),
            tolls: Tolls::default(),
            readers: Readers::default(),
            siblings: Siblings::default(),
            beside: Arc::default(),
            commits,
            // A prefetch has no caller, so nothing cancels it.
            service_ahead: Arc::clone(&service),
            options,
        };
        Self {
            shared: Arc::new(shared),
            service,
            caller: Caller::default(),
            layout: None,
        }
    }

    /// Returns a handle with waits that the caller can cancel.
    fn called_by(&self, caller: &Caller) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            service: self
                .service
                .for_caller(caller)
                .unwrap_or_else(|| Arc::clone(&self.service)),
            caller: caller.clone(),
            layout: self.layout.as_ref().map(|layout| {
                layout
                    .for_caller(caller)
                    .unwrap_or_else(|| Arc::clone(layout))
            }),
        }
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            service: &*self.service,
            caller: &self.caller,
        }
    }

    /// Sets the source of metrics and spending.
    #[must_use]
    pub fn with_layout(self, layout: Arc<dyn Layout>) -> Self {
        Self {
            layout: Some(layout),
            ..self
        }
    }
}
