//! The beginning and the end of every call of the kernel. A call that fails is recorded for
//! `.ddb/errors/last`, unless the operation has recorded a better report itself; each call is
//! recorded in `.ddb/accesslog` and `.ddb/slowlog.ndjson` (`mount/call_log.rs`). Without a reader a
//! quick call costs two looks at the clock.

use super::View;
use crate::fs::{
    mount::{
        ExplainLookup,
        call_log::CallRecord,
        error_log::{FailedCall, FailedLookup},
    },
    node::special::ReadCost,
    open::prelude::*,
    write::WriteFailure,
};
use crate::protocol::slow_log::SLOW_CALL;
use std::time::Instant;

/// A call that has begun.
#[derive(Debug)]
pub struct TimedCall {
    pub view: View,
    operation: &'static str,
    ino: u64,
    /// The name in the directory `ino` that the call is about.
    name: Option<Box<[u8]>>,
    started: Instant,
    /// The number of failures that were kept when it began.
    failures_before: u64,
}

impl View {
    /// Begins a call on an inode, or on a name in it.
    #[must_use]
    pub fn begin(
        &self,
        caller: Caller,
        operation: &'static str,
        ino: u64,
        name: Option<&[u8]>,
    ) -> TimedCall {
        TimedCall {
            view: self.with_caller(caller),
            operation,
            ino,
            name: name.map(Box::from),
            started: Instant::now(),
            failures_before: self.mount().error_log.recorded_count(),
        }
    }
}

impl TimedCall {
    /// Ends the call and returns its outcome.
    pub fn end<T>(self, outcome: Result<T>) -> Result<T> {
        let took = self.started.elapsed();
        if let Err(error) = &outcome {
            self.record_failure(error);
        }
        let calls = &self.view.mount().call_log;
        if took < SLOW_CALL && !calls.has_readers() {
            return outcome;
        }
        let node = self.view.inodes.get(self.ino);
        // A call that waits is not slow, and a log of reading the log would have no end.
        if matches!(node.as_deref(), Some(Node::Special(special)) if special.cost == ReadCost::Blocking)
        {
            return outcome;
        }
        let path = self.path(node.as_deref());
        let result = outcome
            .as_ref()
            .err()
            .map_or_else(|| "OK".to_owned(), FsError::errno_name);
        calls.record(CallRecord {
            time_ms: now_ms(),
            pid: self.view.caller().pid,
            operation: self.operation,
            path,
            result,
            took,
            is_look: self.is_look(node.as_deref()),
        });
        outcome
    }

    /// True if the call is only a look at tables: its file is, or the one that it names.
    fn is_look(&self, node: Option<&Node>) -> bool {
        let name = self.name.as_deref().zip(node);
        let named = name.and_then(|(name, node)| self.view.host.resolve(node, name).ok());
        named.as_ref().or(node).is_some_and(Node::is_look)
    }

    fn path(&self, node: Option<&Node>) -> String {
        match (node, &self.name) {
            (Some(node), Some(name)) => self.view.child_path(node, name),
            (Some(node), None) => self.view.mount().display_path(node),
            (None, _) => "(removed)".to_owned(),
        }
    }

    /// Returns the explanation of a call on a removed file or directory. A shell that stands in a
    /// removed directory has its name, which may be that of a new one by now.
    fn explain_removed(&self) -> String {
        let (what, hint) = match self.operation {
            "opendir" | "readdir" | "mkdir" | "create" => (
                "this directory was removed while a program stands in it or has it open",
                "cd \"$PWD\" enters the one that was made again under its name",
            ),
            _ => (
                "this file was removed while a program has it open",
                "open it by its path again",
            ),
        };
        format!("  {what}\n  hint: {hint}\n")
    }

    /// Keeps a failure for `.ddb/errors/last`. A failure that programs provoke to see if a call
    /// works hides no failure of their own.
    fn record_failure(&self, error: &FsError) {
        let (view, thread) = (&self.view, self.view.caller().pid);
        let is_remarkable = error.is_logged();
        let operation = match self.operation {
            "flush" => "close",
            operation => operation,
        };
        // The error of a LOOKUP is for `View::record_missed`.
        if error.is_quiet()
            || (self.operation == "lookup" && !is_remarkable)
            || view.mount().error_log.has_new(thread, self.failures_before)
        {
            return;
        }
        let node = view.inodes.get(self.ino);
        let path = self.path(node.as_deref());
        let explanation = match (&node, error) {
            (None, FsError::NotFound) => self.explain_removed(),
            _ => error.explanation(),
        };
        if is_remarkable {
            let failure = WriteFailure {
                error: error.clone(),
                report: explanation,
            };
            view.host.record(operation, path, failure);
            return;
        }
        let failed = FailedCall::new(view.caller(), operation, path, error, explanation);
        let name = String::from_utf8_lossy(self.name.as_deref().unwrap_or_default()).into_owned();
        let missed = FailedLookup {
            parent: self.ino,
            name,
            time_ms: failed.time_ms,
            thread,
            explain: ExplainLookup(Arc::new(move |_| Some(failed.clone()))),
        };
        view.mount()
            .error_log
            .record_lookup(view.mount().last_responses.session(thread), missed);
    }
}
