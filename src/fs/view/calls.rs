//! Tells `.ddb/accesslog` and `.ddb/slowlog.ndjson` of calls. Without a reader a quick call costs two looks at the clock.

use std::sync::Arc;
use std::time::Instant;

use super::View;
use crate::database::caller;
use crate::fs::FsError;
use crate::fs::mount::calls::{Ended, SLOW};
use crate::fs::node::Node;
use crate::fs::process::{Caller, has_signal};
use crate::fs::time::now_ms;

/// A call that has begun.
#[derive(Debug)]
pub struct TimedCall {
    view: Arc<View>,
    caller: Caller,
    operation: &'static str,
    ino: u64,
    /// Of something in the directory `ino`.
    name: Option<Box<[u8]>>,
    started: Instant,
}

impl View {
    /// A call on an inode, or on a name in it.
    #[must_use]
    pub fn begin(self: &Arc<Self>, caller: Caller, operation: &'static str, ino: u64, name: Option<&[u8]>) -> TimedCall {
        // What takes long elsewhere is given up with the caller.
        caller::set(caller::Caller::Thread { id: caller.pid, is_waiting: |thread| has_signal(thread) != Some(true) });
        TimedCall { view: Arc::clone(self), caller, operation, ino, name: name.map(Box::from), started: Instant::now() }
    }
}

impl TimedCall {
    /// It ended so; gives the outcome back.
    pub fn end<T>(self, outcome: Result<T, FsError>) -> Result<T, FsError> {
        let took = self.started.elapsed();
        let calls = &self.view.mount.calls;
        if took < SLOW && !calls.is_watched() {
            return outcome;
        }
        let node = self.view.inodes.get(self.ino);
        // Who waits is not slow, and a log of reading the log would have no end.
        if matches!(node.as_deref(), Some(Node::Special(special)) if special.waits()) {
            return outcome;
        }
        let path = match (&node, &self.name) {
            (Some(node), Some(name)) => self.view.child_path(node, name),
            (Some(node), None) => self.view.mount.path(node),
            (None, _) => "(gone)".to_owned(),
        };
        let result = outcome.as_ref().err().map_or("OK", |error| error.errno().name());
        calls.note(Ended { time_ms: now_ms(), pid: self.caller.pid, operation: self.operation, path, result, took });
        outcome
    }
}
