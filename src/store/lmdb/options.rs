//! How to open the store.

use std::time::Duration;

use crate::store::{Durability, KEEP};

/// Address space for the map of a new store, not disk: the file grows with its content.
const MAP_BYTES_DEFAULT: usize = 1 << 30;

/// Commits of a second or two between checkpoints.
const LOG_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;

/// How to open a [`LmdbStore`](super::LmdbStore).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LmdbOptions {
    /// What a write survives once it is acknowledged.
    pub durability: Durability,
    /// Bytes of the first map. It doubles when full.
    pub map_bytes: usize,
    /// Bytes of a generation of the log, of which there are two; less on a small disk. A quarter of it makes a checkpoint due.
    pub log_bytes: u64,
    /// Whether the writer thread asks for real-time scheduling, so that next to CPU-bound work a commit does not wait for a
    /// scheduler's tick (0.1 ms becomes 4 to 8). Nothing is lost where that is not allowed.
    pub real_time: bool,
    /// Nothing is meant to be written: a mount that keeps what it read is not disturbed before the first write all the same.
    pub looks_only: bool,
    /// Whether damaged files are opened as far as they are whole, with a copy of them kept in a directory beside.
    pub salvage: bool,
    /// How long processes that share the directory wait for each other.
    pub lease: LeaseLimits,
}

/// How long processes wait for the one that keeps what it reads, and that one for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// From the end of a killed keeper to the first write: [`KEEP`] where a keeper is the mount.
    pub keep: Duration,
    /// How long a keeper may take to give way.
    pub admission: Duration,
    /// Between two looks whether a process is alone. Nobody tells it, and nothing is lost but some speed.
    pub look_period: Duration,
    /// A system that tells of a touched file within this tells of all.
    pub hearing: Duration,
}

impl Default for LeaseLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            keep: KEEP,
            admission: seconds(10),
            look_period: Duration::from_millis(500),
            hearing: seconds(2),
        }
    }
}

impl Default for LmdbOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            map_bytes: MAP_BYTES_DEFAULT,
            log_bytes: LOG_BYTES_DEFAULT,
            real_time: true,
            looks_only: false,
            salvage: false,
            lease: LeaseLimits::default(),
        }
    }
}
