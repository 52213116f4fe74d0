//! The connections at a time, at most [`CONNECTIONS_MAX`]: the longest idle one gives way to a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::timeouts::Phase;

/// Connections at a time. When as many are at work, more wait to be served.
pub const CONNECTIONS_MAX: usize = 1024;
/// Who sent nothing for a shorter time may have a request on its way.
const IDLE_MIN: Duration = Duration::from_millis(250);
/// After this time without a free slot it is looked again who is idle.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Who is connected.
#[derive(Debug)]
pub struct Connections {
    slots: Arc<Semaphore>,
    connected: Mutex<HashMap<u64, Connected>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Connected {
    phase: Phase,
    /// One of those who are served, not somebody who is to be told that he is not.
    is_served: bool,
    dismissed: Arc<Notify>,
}

/// One connection's place, given back when dropped.
#[derive(Debug)]
pub struct Slot {
    connections: Arc<Connections>,
    id: u64,
    pub phase: Phase,
    dismissed: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    #[must_use]
    pub fn new() -> Arc<Self> {
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Arc::new(Self { slots, connected: Mutex::default(), next: AtomicU64::new(0) })
    }

    /// A place for a connection, once there is one.
    pub async fn slot(self: &Arc<Self>, is_served: bool) -> Option<Slot> {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
                break permit;
            }
            self.dismiss_longest_idle();
            let free = Arc::clone(&self.slots).acquire_owned();
            if let Ok(permit) = tokio::time::timeout(LOOK_AGAIN, free).await {
                break permit.ok()?;
            }
        };
        // Relaxed: an id is only to be another's never.
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (phase, dismissed) = (Phase::default(), Arc::default());
        let slot =
            Slot { connections: Arc::clone(self), id, phase: phase.clone(), dismissed: Arc::clone(&dismissed), _permit: permit };
        self.connected.lock().insert(id, Connected { phase, is_served, dismissed });
        Some(slot)
    }

    /// Whether there is one connection at most.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.slots.available_permits() >= CONNECTIONS_MAX - 1
    }

    /// Who is not served goes first.
    fn dismiss_longest_idle(&self) {
        let connected = self.connected.lock();
        let idle =
            connected.values().filter_map(|one| one.phase.idle_time().filter(|time| *time >= IDLE_MIN).map(|time| (one, time)));
        if let Some((one, _)) = idle.max_by_key(|(one, time)| (!one.is_served, *time)) {
            one.dismissed.notify_one();
        }
    }

    /// Returns when nobody is connected.
    pub async fn gone(&self) {
        // An error is a semaphore that is closed, which nobody does.
        let _ = self.slots.acquire_many(u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX)).await;
    }
}

impl Slot {
    /// Returns when the connection is to give way.
    pub async fn dismissed(&self) {
        self.dismissed.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Before the permit, which is given back after this: so there are never more entries than slots.
        self.connections.connected.lock().remove(&self.id);
    }
}
