//! The observer pattern for commits: observers are notified of every change before its writer gets
//! the answer. The main one is a mount with a kernel cache to invalidate.
//!
//! A [`WriteListener`](crate::model::api::WriteListener) is notified of the writes of one
//! operation; an observer of all writes, including deletes by time to live, and of the tables and
//! indexes that are deleted. It is notified after the commit and is given the rest of the operation, which
//! answers the caller, to run now or later.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::engine::prelude::*;
use crate::model::api::{AfterCommit, CommitEvent, CommitObserver};

/// The registered observers. Without observers a write costs one load of a flag.
#[derive(Default)]
pub(super) struct Observers {
    has_any: AtomicBool,
    list: RwLock<Vec<Arc<dyn CommitObserver>>>,
}

impl Observers {
    pub fn any(&self) -> bool {
        self.has_any.load(Ordering::SeqCst)
    }

    pub fn add(&self, observer: &Arc<dyn CommitObserver>) {
        self.change(|list| list.push(Arc::clone(observer)));
    }

    pub fn remove(&self, observer: &Arc<dyn CommitObserver>) {
        self.change(|list| list.retain(|of| !Arc::ptr_eq(of, observer)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<dyn CommitObserver>>)) {
        let mut list = self.list.write();
        change(&mut list);
        self.has_any.store(!list.is_empty(), Ordering::SeqCst);
    }

    /// Notifies the observers one after the other, then calls `complete`.
    pub fn notify(&self, committed: CommitEvent, complete: AfterCommit) {
        let (list, committed) = (self.list.read().clone(), Arc::new(committed));
        let all = list.into_iter().fold(complete, |complete, observer| {
            let committed = Arc::clone(&committed);
            Box::new(move || observer.on_commit(&committed, complete))
        });
        all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::api::WaitPolicy;

    /// An observer that records its name and keeps the continuations it is given.
    struct Named(&'static str, parking_lot::Mutex<Vec<AfterCommit>>);

    impl CommitObserver for Named {
        fn on_commit(&self, committed: &Arc<CommitEvent>, complete: AfterCommit) {
            assert_eq!(committed.wait, WaitPolicy::Short, "{}", self.0);
            self.1.lock().push(complete);
        }
    }

    #[test]
    fn who_waits_is_told_when_every_observer_has_let_it_be() {
        let (observers, told) = (Observers::default(), Arc::<AtomicBool>::default());
        let named = ["one", "two"].map(|name| Arc::new(Named(name, parking_lot::Mutex::default())));
        let both: Vec<Arc<dyn CommitObserver>> = named
            .iter()
            .map(|one| Arc::<Named>::clone(one) as _)
            .collect();
        both.iter().for_each(|one| observers.add(one));
        let committed = CommitEvent {
            items: Vec::new(),
            ended: Vec::new(),
            wait: WaitPolicy::Short,
        };
        let of_then = Arc::clone(&told);
        observers.notify(
            committed,
            Box::new(move || of_then.store(true, Ordering::SeqCst)),
        );
        // The callbacks may run in any order: each observer has one.
        for _ in 0..2 {
            assert!(!told.load(Ordering::SeqCst));
            let then = named.iter().find_map(|one| one.1.lock().pop()).unwrap();
            then();
        }
        assert!(told.load(Ordering::SeqCst));
        both.iter().for_each(|one| observers.remove(one));
        assert!(!observers.any());
    }
}
