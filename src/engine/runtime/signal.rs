//! What wakes the background threads, and ends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Says that the engine ends, or that there is something to do before the next round.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<Requested>,
    changed: Condvar,
    /// Beside `end`, which waits for the lock: asked between the steps of a round.
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct Requested {
    /// Rounds asked for so far.
    rounds: u64,
    end: bool,
}

impl Signal {
    /// Asks for a round of each thread now.
    pub fn wake(&self) {
        self.state.lock().rounds += 1;
        self.changed.notify_all();
    }

    /// Does the engine end?
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.state.lock().end = true;
        self.changed.notify_all();
    }

    /// Waits for the next round, `seen` being how many were asked for when the last began; false at the end.
    pub(super) fn wait(&self, period: Duration, seen: &mut u64) -> bool {
        let mut state = self.state.lock();
        // Rounds are counted, not flagged: one that was asked for during a round is not lost, and each thread sees it.
        if state.rounds == *seen && !state.end {
            self.changed.wait_for(&mut state, period);
        }
        *seen = state.rounds;
        !state.end
    }
}
