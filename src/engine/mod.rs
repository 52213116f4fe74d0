//! The embedded engine: DynamoDB's data model on an ordered key-value store (`crate::store`): catalog,
//! operations, index maintenance, counters, background work. `crate::database::local` is its caller.
//!
//! # Layers
//!
//! Imports point only downward in this list; modules in one paragraph do not import each other.
//! `tests/tidy` checks it.
//!
//! ```text
//! open             opening: the store's format, work left by an earlier process, the threads
//! ops/             the operations, one file for each family
//! check/           consistency check: everything derived, recomputed and compared
//!
//! background/      background rounds: expiry, indexes being made or removed, splits of partitions
//! jobs/            copies in batches: backups, restores, exports, imports
//! statements/      common parts of the PartiQL operations
//!
//! write/           the change of one item: conditions, updates; then base, collections, indexes, counters, features
//!
//! index_life/      indexes that UpdateTable makes and drops, online
//!
//! index_lag        simulated eventual consistency: global indexes that show writes late
//! table_states     simulated delays of tables in CREATING and DELETING
//!
//! history          undo log: old images, for copies as of an earlier moment
//! idempotency      client request tokens of transactions
//! index_write      writes the entries of one index
//! purge            removal of dropped tables in the background
//! read/            Query and Scan pages
//! streams/         change data capture: records of changes
//! time_to_live     items that expire
//! trash            deleted items kept as files
//!
//! runtime/         the running engine: shared state, transactions, views, threads
//!
//! meter/           consumed capacity and outcome of operations, in memory
//! throttle         a simulator of throttling, with token buckets
//!
//! account/         backups, exports, imports, background jobs as records
//! index            the entries of an item in an index, and their changes
//! partitions/      a model of the service's partitions
//!
//! catalog/         tables as plain data: definitions, states, ids; their stored form and a cache
//!
//! base/            keys of the store, stored forms and their versions, counters, capacity units
//! prelude          common names of base, catalog and the layers below the engine
//! ```
//!
//! The module of a feature has its part of a write or a read; its later work is in `background` or
//! `jobs`; its operations are in `ops`. A feature knows only the features below it.

pub mod account;
mod background;
pub(crate) mod base;
pub(crate) mod catalog;
pub mod check;
mod history;
mod idempotency;
pub(crate) mod index;
pub(crate) mod index_lag;
pub(crate) mod index_life;
mod index_write;
mod jobs;
pub(crate) mod meter;
mod open;
pub(crate) mod ops;
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
pub mod trash;
pub(crate) mod write;

pub use crate::model::clock;
pub use base::keys;
pub use runtime::{
    BACKGROUND_PERIOD, BatchRowSink, Completion, Engine, EngineOptions, RowSink, test_hooks,
};
