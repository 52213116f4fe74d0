//! A reader-writer lock around the memory map: admits transactions, and excludes all of them while
//! `environment` changes the map.
//!
//! A thread may hold it several times (a visitor that takes a second snapshot, a job that takes
//! one). A plain read lock would then deadlock as soon as a thread waits to change the map, and a
//! recursive one never admits that thread under steady load. So a thread's first entry queues
//! fairly, and its further ones do not.

use std::cell::Cell;
use std::ops::Deref;
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The longest wait of a map change for open transactions. They are short; a longer one means a
/// thread that waits for this one.
const EXCLUSIVE_WAIT_MAX: Duration = Duration::from_secs(10);

thread_local! {
    /// The number of entries of this thread, into any lock. It belongs to the thread, as a read
    /// lock and a transaction of LMDB do, so no call passes it on.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// A reader-writer lock around the values that transactions need.
#[derive(Debug)]
pub(super) struct MapLock<T> {
    lock: RwLock<T>,
}

impl<T> MapLock<T> {
    pub fn new(inner: T) -> Self {
        Self {
            lock: RwLock::new(inner),
        }
    }

    /// Enters; waits while a thread changes or is about to change the inner value.
    pub fn read(&self) -> MapGuard<'_, T> {
        let entered = ENTERED.get();
        // `read` queues behind a waiting writer, `read_recursive` passes it.
        let guard = if entered == 0 {
            self.lock.read()
        } else {
            self.lock.read_recursive()
        };
        ENTERED.set(entered + 1);
        MapGuard { guard }
    }

    /// True if this thread has entered any lock.
    pub fn is_held() -> bool {
        ENTERED.get() > 0
    }

    /// Enters exclusively; `None` if this thread has entered already or others do not leave.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        // With an entry of its own the thread would wait for itself.
        if Self::is_held() {
            None
        } else {
            self.lock.try_write_for(EXCLUSIVE_WAIT_MAX)
        }
    }
}

/// A shared entry, left on drop. Not `Send`: the count of entries belongs to the thread.
#[derive(Debug)]
pub(super) struct MapGuard<'g, T> {
    guard: RwLockReadGuard<'g, T>,
}

impl<T> Deref for MapGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> Drop for MapGuard<'_, T> {
    fn drop(&mut self) {
        debug_assert!(ENTERED.get() > 0, "a thread leaves that is not inside");
        ENTERED.set(ENTERED.get().saturating_sub(1));
    }
}
