//! A recorder of disk writes for tests: the writes and syncs of the logs of the test's own thread,
//! in order (tests run concurrently). `tests/disk` makes the possible contents after a power cut of
//! them.

use std::cell::RefCell;

thread_local! {
    static EVENTS: RefCell<Vec<LogEvent>> = const { RefCell::new(Vec::new()) };
}

/// A write or sync of the first or the second file.
#[derive(Debug, Clone)]
pub enum LogEvent {
    /// The file, the offset and the bytes.
    Write(usize, usize, Vec<u8>),
    Sync(usize),
}

pub fn record(event: LogEvent) {
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// Returns the events since the last call.
pub fn take() -> Vec<LogEvent> {
    EVENTS.take()
}
