//! A condition variable on which threads wait for the next commit.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The threads that wait for a commit of one store.
#[derive(Debug, Default)]
pub(super) struct CommitSignal {
    lock: Mutex<()>,
    condvar: Condvar,
}

impl CommitSignal {
    /// Wakes every waiting thread. Called after the commit is visible.
    pub fn notify(&self) {
        // Taken so that no thread is between its check of the commit id and its sleep.
        drop(self.lock.lock());
        self.condvar.notify_all();
    }

    /// Waits until `current` differs from `after`, at most for `timeout`, and returns the current
    /// value.
    pub fn wait(&self, current: impl Fn() -> u64, after: u64, timeout: Duration) -> u64 {
        let deadline = Instant::now().checked_add(timeout);
        let mut guard = self.lock.lock();
        loop {
            let id = current();
            if id != after {
                return id;
            }
            match deadline {
                Some(deadline) if self.condvar.wait_until(&mut guard, deadline).timed_out() => {
                    return current();
                }
                Some(_) => {}
                None => self.condvar.wait(&mut guard),
            }
        }
    }
}
