//! For whom a thread works: who waits long for a service asks whether the answer is still wanted.

use std::cell::Cell;

/// A thread that waits for what this one does, and how to find out whether it still does.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    pub thread: u32,
    pub is_waiting: fn(u32) -> bool,
}

thread_local! {
    static CALLER: Cell<Option<Caller>> = const { Cell::new(None) };
}

/// Gives this thread back whom it worked for.
struct Restore(Option<Caller>);

impl Drop for Restore {
    fn drop(&mut self) {
        CALLER.set(self.0);
    }
}

/// This thread works for that caller from now on.
pub fn set(caller: Caller) {
    CALLER.set(Some(caller));
}

/// Works for a caller; `None`: for nobody who would give up.
pub fn work_for<T>(caller: Option<Caller>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CALLER.replace(caller));
    work()
}

/// Whom this thread works for.
#[must_use]
pub fn caller() -> Option<Caller> {
    CALLER.get()
}

/// Is what this thread does still wanted?
#[must_use]
pub fn is_waiting() -> bool {
    CALLER.get().is_none_or(|caller| (caller.is_waiting)(caller.thread))
}
