//! Who must know of every change before its writer does: a mount whose kernel keeps what it was told.
//!
//! [`super::witness`] hears of what one operation wrote; an observer of all, also of what time to live deletes, with the tables that are
//! gone. It is told after the commit and is given the rest of the operation, which tells who waits, to be called now or later.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::model::api::Version;
use crate::model::{Key, TableName};

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

    pub fn add(&self, observer: &Arc<dyn Observer>) {
        self.change(|list| list.push(Arc::clone(observer)));
    }

    pub fn remove(&self, observer: &Arc<dyn Observer>) {
        self.change(|list| list.retain(|of| !Arc::ptr_eq(of, observer)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Says who it is, and holds back the rest of what it is told.
    struct Named(&'static str, parking_lot::Mutex<Vec<Then>>);

    impl Observer for Named {
        fn committed(&self, committed: &Arc<Committed>, then: Then) {
            assert_eq!(committed.patience, Patience::Short, "{}", self.0);
            self.1.lock().push(then);
        }
    }

    #[test]
    fn who_waits_is_told_when_every_observer_has_let_it_be() {
        let (observers, told) = (Observers::default(), Arc::<AtomicBool>::default());
        let named = ["one", "two"].map(|name| Arc::new(Named(name, parking_lot::Mutex::default())));
        let both: Vec<Arc<dyn Observer>> = named.iter().map(|one| Arc::<Named>::clone(one) as _).collect();
        both.iter().for_each(|one| observers.add(one));
        let committed = Committed { items: Vec::new(), tables: Vec::new(), patience: Patience::Short };
        let of_then = Arc::clone(&told);
        observers.tell(committed, Box::new(move || of_then.store(true, Ordering::SeqCst)));
        // In whatever order: each has it once.
        for _ in 0..2 {
            assert!(!told.load(Ordering::SeqCst));
            let then = named.iter().find_map(|one| one.1.lock().pop()).unwrap();
            then();
        }
        assert!(told.load(Ordering::SeqCst));
        both.iter().for_each(|one| observers.remove(one));
        assert!(!observers.any());
    }

    #[test]
    fn patience_is_the_threads_and_ends_with_what_it_was_for() {
        assert_eq!(patience(), Patience::Long);
        with_patience(Patience::None, || {
            with_patience(Patience::Short, || assert_eq!(patience(), Patience::Short));
            assert_eq!(patience(), Patience::None);
            std::thread::spawn(|| assert_eq!(patience(), Patience::Long)).join().unwrap();
        });
        assert_eq!(patience(), Patience::Long);
    }
}
