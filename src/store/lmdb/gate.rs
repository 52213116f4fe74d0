//! Lets transactions in, and all of them out when the map has to change.
//!
//! A thread may be inside several times (a visitor that takes a second snapshot, a job that takes one). A plain read lock would
//! deadlock then as soon as somebody waits to change the map, and a recursive one never lets that somebody in under steady load.
//! So a thread's first entry queues fairly, and its further ones do not.

use std::cell::Cell;
use std::ops::Deref;
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long a change of the map waits for open transactions. They are short; longer means a thread that waits for us.
const EXCLUSIVE_WAIT_MAX: Duration = Duration::from_secs(10);

thread_local! {
    /// Entries of this thread, into any gate. A fact of the thread, as a read lock and a transaction of LMDB are: no call hands it on.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// Guards what transactions need.
#[derive(Debug)]
pub(super) struct Gate<T> {
    lock: RwLock<T>,
}

impl<T> Gate<T> {
    pub fn new(inner: T) -> Self {
        Self {
            lock: RwLock::new(inner),
        }
    }

    /// Waits while somebody changes or is about to change the inner value.
    pub fn enter(&self) -> Pass<'_, T> {
        let entered = ENTERED.get();
        // `read` queues behind who waits to be alone, `read_recursive` passes him.
        let guard = if entered == 0 {
            self.lock.read()
        } else {
            self.lock.read_recursive()
        };
        ENTERED.set(entered + 1);
        Pass { guard }
    }

    /// Whether this thread is inside of any gate.
    pub fn is_inside() -> bool {
        ENTERED.get() > 0
    }

    /// Alone inside; `None` when this thread is inside already or others do not leave.
    pub fn exclusive(&self) -> Option<RwLockWriteGuard<'_, T>> {
        if Self::is_inside() {
            None
        } else {
            self.lock.try_write_for(EXCLUSIVE_WAIT_MAX)
        }
    }
}

/// Being inside. Stays on its thread, as the guard does.
#[derive(Debug)]
pub(super) struct Pass<'g, T> {
    guard: RwLockReadGuard<'g, T>,
}

impl<T> Deref for Pass<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> Drop for Pass<'_, T> {
    fn drop(&mut self) {
        ENTERED.set(ENTERED.get().saturating_sub(1));
    }
}
