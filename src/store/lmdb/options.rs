//! How to open the store.

use crate::store::Durability;

/// Address space for the map of a new store, not disk: the file grows with its content.
const MAP_BYTES_DEFAULT: usize = 1 << 30;

/// How to open a [`LmdbStore`](super::LmdbStore).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LmdbOptions {
    /// `Relaxed` writes the data pages to disk at each commit but not the meta page (LMDB's NOMETASYNC). That saves one of two
    /// syncs, keeps every write over kill -9, and bounds what a power cut may lose to the last transactions, within half a
    /// second; the store always opens again in a consistent state. NOSYNC would be faster and does not hold that promise.
    pub durability: Durability,
    /// Bytes of the first map. It doubles when full.
    pub map_bytes: usize,
    /// Whether the writer thread asks for real-time scheduling, so that next to CPU-bound work a commit does not wait for a
    /// scheduler's tick (0.1 ms becomes 4 to 8). Nothing is lost where that is not allowed.
    pub real_time: bool,
}

impl Default for LmdbOptions {
    fn default() -> Self {
        Self { durability: Durability::Durable, map_bytes: MAP_BYTES_DEFAULT, real_time: true }
    }
}
