//! Who asked for a write may hear which items it changed, whatever the operation: a batch, a transaction, a statement of PartiQL.
//!
//! The witness belongs to the thread that starts an operation ([`testify`]), so that neither requests nor responses carry it. What is
//! started there remembers it; it is told after the commit, on the writer thread, before who waits for the operation.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::api::Version;
use crate::model::{Key, TableName};

/// Hears of the items that an operation wrote.
pub trait Witness: Send + Sync {
    /// The item is now of that version, which it may have been before; `None`: it is gone. Must not block.
    fn wrote(&self, table: &TableName, key: &Key, version: Option<Version>);
}

thread_local! {
    static WITNESS: RefCell<Option<Arc<dyn Witness>>> = const { RefCell::new(None) };
}

/// Gives this thread back the witness it had.
struct Restore(Option<Arc<dyn Witness>>);

impl Drop for Restore {
    fn drop(&mut self) {
        WITNESS.replace(self.0.take());
    }
}

/// Starts operations that `witness` hears of.
pub fn testify<T>(witness: Arc<dyn Witness>, start: impl FnOnce() -> T) -> T {
    let _restore = Restore(WITNESS.replace(Some(witness)));
    start()
}

/// Starts operations that are no writes of their own: who started this one tells its witness what became of it.
pub fn instead<T>(start: impl FnOnce(Option<Arc<dyn Witness>>) -> T) -> T {
    let witness = WITNESS.take();
    let _restore = Restore(witness.clone());
    start(witness)
}

/// The one of what this thread starts.
pub(super) fn current() -> Option<Arc<dyn Witness>> {
    WITNESS.with_borrow(Clone::clone)
}
