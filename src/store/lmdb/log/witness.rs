//! For tests, which run beside each other: what the logs of a test's own thread wrote and synced, in its order.

use std::cell::RefCell;

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Of the first or the second file.
#[derive(Debug, Clone)]
pub enum Event {
    /// From an offset on.
    Wrote(usize, usize, Vec<u8>),
    Synced(usize),
}

pub fn saw(event: Event) {
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// What was seen since the last call.
pub fn take() -> Vec<Event> {
    EVENTS.take()
}
