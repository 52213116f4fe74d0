//! How large the pieces are in which things are removed.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Keys removed in one transaction: long enough to be quick, short enough for other writers not to wait.
const KEYS_PER_PIECE_MAX: usize = 5_000;

/// How many keys are removed in one transaction: half as many after each that found no room for the pages that it writes anew, some
/// more after each that went through.
#[derive(Debug)]
pub struct Pieces(AtomicUsize);

impl Default for Pieces {
    fn default() -> Self {
        Self(AtomicUsize::new(KEYS_PER_PIECE_MAX))
    }
}

impl Pieces {
    pub fn keys(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn grow(&self) {
        let keys = self.keys();
        self.0.store((keys + keys / 8 + 1).min(KEYS_PER_PIECE_MAX), Ordering::Relaxed);
    }

    /// Whether a smaller piece than the last can be tried.
    pub fn halve(&self) -> bool {
        let keys = self.keys();
        self.0.store((keys / 2).max(1), Ordering::Relaxed);
        keys > 1
    }
}
