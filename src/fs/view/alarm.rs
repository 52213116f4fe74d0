//! What wakes the keeper, and what it holds.

use std::thread::JoinHandle;

use parking_lot::Condvar;

use crate::fs::open::prelude::*;

/// The keeper's thread and what wakes it. `deleting` and `stop` are each taken before the lock of the deferred
/// deletes, and never one under the other.
#[derive(Debug, Default)]
pub struct Keeper {
    pub wake: Condvar,
    pub stop: Mutex<bool>,
    pub thread: Mutex<Option<JoinHandle<()>>>,
    /// Held from taking a due delete until it is queued. Whoever takes an item back takes this first, so that its put is queued
    /// behind the delete or the delete is not queued at all.
    pub deleting: Mutex<()>,
}
