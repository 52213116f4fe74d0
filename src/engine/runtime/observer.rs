//! Who must know of every change before its writer does: a mount whose kernel keeps what it was told.
//!
//! [`super::witness`] hears of what one operation wrote; an observer of all, also of what time to live deletes, with the tables that are
//! gone. It is told after the commit and is given the rest of the operation, which tells who waits, to be called now or later.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use super::engine::Engine;
use crate::model::api::Version;
use crate::model::{Error, Key, TableName};

/// An item that was written.
#[derive(Debug)]
pub struct Written {
    pub table: TableName,
    pub key: Key,
    /// What it is now of, which it may have been before; `None`: it is gone.
    pub version: Option<Version>,
}

/// What a commit changed, for one operation.
#[derive(Debug)]
pub struct Committed {
    pub items: Vec<Written>,
    /// Gone, or going: nothing of them can be read any more.
    pub tables: Vec<TableName>,
    pub patience: Patience,
}

/// The rest of an operation.
pub type Then = Box<dyn FnOnce() + Send>;

/// Hears of commits. Must not block.
pub trait Observer: Send + Sync {
    /// This is committed. `then` is to be called once, by whom and when the observer likes.
    fn committed(&self, committed: &Arc<Committed>, then: Then);
}

/// How long who waits for an operation may be let wait for its observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Patience {
    /// As long as it takes: it holds nothing that an observer may wait for.
    #[default]
    Long,
    /// A moment: it may hold something.
    Short,
    /// Not at all: it does hold something.
    None,
    /// Not at all, and there is nothing to wait for: the kernel knows of the change, which it asked for, and of its effects.
    Settled,
}

thread_local! {
    static PATIENCE: Cell<Patience> = const { Cell::new(Patience::Long) };
}

/// Gives this thread back the patience it had.
struct Restore(Patience);

impl Drop for Restore {
    fn drop(&mut self) {
        PATIENCE.set(self.0);
    }
}

/// Starts operations of that patience; what they start themselves when they are done is of the same.
pub fn with_patience<T>(patience: Patience, start: impl FnOnce() -> T) -> T {
    let _restore = Restore(PATIENCE.replace(patience));
    start()
}

/// That of what this thread starts.
#[must_use]
pub fn patience() -> Patience {
    PATIENCE.get()
}

/// The observers there are. Without any, a look at a flag is all that a write costs.
#[derive(Default)]
pub(super) struct Observers {
    any: AtomicBool,
    list: RwLock<Vec<Arc<dyn Observer>>>,
}

impl Observers {
    pub fn any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<dyn Observer>>)) {
        let mut list = self.list.write();
        change(&mut list);
        self.any.store(!list.is_empty(), Ordering::SeqCst);
    }

    /// Tells one after the other, then calls `then`.
    pub fn tell(&self, committed: Committed, then: Then) {
        let (list, committed) = (self.list.read().clone(), Arc::new(committed));
        let all = list.into_iter().fold(then, |then, observer| {
            let committed = Arc::clone(&committed);
            Box::new(move || observer.committed(&committed, then))
        });
        all();
    }
}

impl Engine {
    /// Lets an observer hear of everything that is written from now on. On return, whatever it did not hear of is seen by who reads.
    ///
    /// # Errors
    /// Those of the store; then it hears of nothing.
    pub fn observe(&self, observer: &Arc<dyn Observer>) -> Result<(), Error> {
        self.shared.observers.change(|list| list.push(Arc::clone(observer)));
        // Jobs run in order: those before this one may have begun when there was nobody to hear of them.
        self.shared.submit_and_wait(|_| Ok(())).inspect_err(|_| self.unobserve(observer))
    }

    /// The observer hears of nothing more but what is being told already.
    pub fn unobserve(&self, observer: &Arc<dyn Observer>) {
        self.shared.observers.change(|list| list.retain(|of| !Arc::ptr_eq(of, observer)));
    }
}
