//! What may have changed, counted: own writes, and time that passes.

use crate::database::prelude::*;
use crate::model::clock::Clock;
use parking_lot::Condvar;

/// Counts own writes, and moments: what was read a while ago may be another without anybody telling.
#[derive(Debug)]
pub struct Commits {
    own: Mutex<u64>,
    wrote: Condvar,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
}

impl Commits {
    pub fn new(ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { own: Mutex::new(0), wrote: Condvar::new(), ttl_ms, clock }
    }

    /// Own writes so far and moments since the epoch.
    pub fn id(&self) -> u64 {
        *self.own.lock() + self.clock.now_ms() / self.ttl_ms
    }

    /// Own writes so far.
    pub fn own(&self) -> u64 {
        *self.own.lock()
    }

    pub fn add(&self) {
        *self.own.lock() += 1;
        self.wrote.notify_all();
    }

    /// Sleeps until the id is another than `after`, at most for `timeout`.
    pub fn wait(&self, after: u64, timeout: Duration) -> u64 {
        let mut own = self.own.lock();
        let now_ms = self.clock.now_ms();
        if *own + now_ms / self.ttl_ms == after {
            let rest = Duration::from_millis(self.ttl_ms - now_ms % self.ttl_ms);
            self.wrote.wait_for(&mut own, rest.min(timeout));
        }
        *own + self.clock.now_ms() / self.ttl_ms
    }
}
