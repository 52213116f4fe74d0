//! The options of opening a store: durability, sizes, lease.

use std::time::Duration;

use crate::store::Durability;

/// Address space for the map of a new store, not disk space: the file grows with its content.
const MAP_BYTES_DEFAULT: usize = 1 << 30;

/// Bytes of a log generation: a second or two of commits between checkpoints.
const LOG_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;

/// The options of opening a [`LmdbStore`](super::LmdbStore).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LmdbOptions {
    /// The failures that an acknowledged write survives.
    pub durability: Durability,
    /// Bytes of the first map. It doubles when full.
    pub map_bytes: usize,
    /// Bytes of a generation of the log, of which there are two; less on a small disk. A checkpoint
    /// is due after a quarter of it.
    pub log_bytes: u64,
    /// True if the writer thread asks for real-time scheduling, so that next to CPU-bound work a
    /// commit does not wait for a scheduler's tick (0.1 ms becomes 4 to 8). It has no effect if not
    /// allowed.
    pub real_time: bool,
    /// True if the process will probably only read: it does not take the lease from a mount before
    /// its first write.
    pub passive: bool,
    /// True if damaged files are opened as far as they are whole, with a copy of them kept in a
    /// directory beside.
    pub salvage: bool,
    /// The time limits of processes that share the directory.
    pub lease: LeaseLimits,
}

/// The time limits of the lease, for its holder and for the processes that ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// The time that a holder may take to give way.
    pub acquire_wait: Duration,
    /// The time between two checks whether a process is alone. A delay costs some speed only.
    pub poll_period: Duration,
    /// A system that reports a touched file within this time is trusted to report all.
    pub watch_wait: Duration,
}

impl Default for LeaseLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            acquire_wait: seconds(10),
            poll_period: Duration::from_millis(500),
            watch_wait: seconds(2),
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
            passive: false,
            salvage: false,
            lease: LeaseLimits::default(),
        }
    }
}
