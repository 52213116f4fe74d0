//! A service elsewhere as a mount browses it: what a filesystem asks is answered by the operations of the API alone, so that any
//! [`Database`] will do (docs/remote.md says what means what).
//!
//! ```text
//! look.rs        impl Browse              listing.rs  listings, the next page and folder ahead, what they may cost
//! operations.rs  impl Database            writes.rs   own writes: conditions, and what they leave in the pages
//! pages.rs       items for a while, one request for one thing, own writes counted
//! tables.rs      definitions for a while  walks.rs    pages of listings under way, what they did cost
//! source.rs      keys, reads as requests  readers.rs  who reads files and lists folders in order
//! beside.rs      what only the mount knows
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

/// Bytes of items that are held.
const HELD_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// How long what was read is good.
const TTL_DEFAULT: Duration = Duration::from_secs(1);
/// Read units that one listing or scan may take.
const SCAN_LIMIT_DEFAULT: f64 = 1000.0;

/// How a service elsewhere is browsed.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// How long what was read is shown again without asking.
    pub ttl: Duration,
    /// Read units that one listing or scan may take.
    pub scan_limit: f64,
    /// Which tables are shown, `*` standing for any characters; all where there are none.
    pub tables: Vec<String>,
    /// Without it every write is refused.
    pub is_writable: bool,
    /// Is the next page of a listing asked for before it is needed?
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

/// See the module; as one caller asks it.
pub struct RemoteDatabase {
    shared: Arc<Shared>,
    /// Asked for the caller.
    service: Arc<dyn Database>,
    caller: Caller,
    layout: Option<Arc<dyn Layout>>,
}

/// What those share who ask for different callers.
pub struct Shared {
    /// Asked for what nobody waits for yet.
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
    /// Browses a service.
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

    /// The same for a caller who may give up.
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

    /// With what is known of units and partitions.
    #[must_use]
    pub fn with_layout(self, layout: Arc<dyn Layout>) -> Self {
        Self {
            layout: Some(layout),
            ..self
        }
    }
}
