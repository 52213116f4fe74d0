//! Says in the log that a service throttles.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::message::Request;
use super::place::Place;
use super::repeat::Why;

/// So often at most.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Says in the log that the service throttles, not each time.
#[derive(Debug, Default)]
pub struct Throttling {
    said: Mutex<Said>,
    repeats: AtomicU64,
}

#[derive(Debug, Default)]
struct Said {
    at: Option<Instant>,
    /// Since then.
    count: u64,
}

impl Throttling {
    /// Requests that were throttled and are asked again, so far.
    pub fn repeats(&self) -> u64 {
        self.repeats.load(Ordering::Relaxed)
    }

    /// One more, if that is why it is asked again.
    pub fn count(&self, why: &Why) {
        self.repeats.fetch_add(u64::from(why.throttled().is_some()), Ordering::Relaxed);
    }

    /// A request is tried again; says so if it was throttled.
    pub fn say(&self, place: &Place, request: &Request, why: &Why) {
        let Some(exception) = why.throttled() else { return };
        let mut said = self.said.lock();
        said.count += 1;
        if said.at.is_some_and(|at| at.elapsed() < SAID_EVERY) {
            return;
        }
        let count = std::mem::take(&mut said.count);
        said.at = Some(Instant::now());
        drop(said);
        log::warn!(
            "{place} throttles ({} times since this was said last): {exception} to {}; it is asked again",
            count,
            request.operation
        );
    }
}
