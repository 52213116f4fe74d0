//! The embedded engine: catalog, operations (one file each), index maintenance, counters.
//!
//! # Layers
//!
//! Imports point only downward in this list; what stands in one paragraph stands side by side. `tests/tidy` holds it.
//!
//! ```text
//! open             the beginning: the store's format, what an earlier process left undone, the threads
//! ops/             one file for each operation
//! check/           everything derived, recomputed and compared
//!
//! background/      rounds beside the requests: expiry, indexes that come and go, splits of partitions
//! jobs/            copies in pieces: backups, restores, exports, imports
//! statements/      what the operations of PartiQL share
//!
//! write/           one item's change: conditions, updates; then base, collections, indexes, counters, what features make of it
//!
//! index_life/      indexes that UpdateTable makes and drops, online
//!
//! index_lag        global indexes that show writes late
//! table_states     tables that take their time to come and go
//!
//! history          old images, for copies as of an earlier moment
//! index_write      the entries of one index, written
//! parked           files that were items
//! purge            removal of dropped tables in the background
//! read/            Query and Scan pages
//! streams/         records of changes
//! time_to_live     items that expire
//! tokens           client request tokens of transactions
//!
//! runtime/         the running engine: what operations share, transactions, views, threads
//!
//! meter/           what operations consumed and how they ended, in memory
//! throttle         a simulator of throttling
//!
//! account/         backups, exports, imports, background jobs as records
//! index            which entries an item has, and what a change of it does to them
//! partitions/      a model of the service's partitions
//!
//! catalog/         tables as plain data: definitions, states, ids; their stored form and a cache
//!
//! base/            keys of the store, stored forms and their versions, counters, capacity units
//! prelude          what many files name, of base, catalog and the layers below the engine
//! ```
//!
//! A feature is in the room of its name what it adds to a write or a read; what it does by itself, later, is in `background` or `jobs`;
//! what a client asks of it is in `ops`. None of the features knows another unless it stands above it.

pub mod account;
mod background;
pub(crate) mod base;
pub(crate) mod catalog;
pub mod check;
mod history;
pub(crate) mod index;
pub(crate) mod index_lag;
pub(crate) mod index_life;
mod index_write;
mod jobs;
pub(crate) mod meter;
mod open;
pub(crate) mod ops;
pub mod parked;
pub(crate) mod partitions;
mod prelude;
mod purge;
pub(crate) mod read;
pub(crate) mod runtime;
mod statements;
pub mod streams;
mod table_states;
pub mod throttle;
pub(crate) mod time_to_live;
mod tokens;
pub(crate) mod write;

pub use crate::model::clock;
pub use base::keys;
pub use runtime::{BACKGROUND_PERIOD, BatchRows, Done, Engine, EngineOptions, Rows, hold};
