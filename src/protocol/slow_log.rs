//! The log of slow calls and requests, `.ddb/slowlog.ndjson`: a ring buffer of lines of JSON. A
//! mount logs its own calls, and the HTTP API beside it its requests, with a [`RequestTrace`] each.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::codec::json::document::Json;
use crate::codec::wire::UnitCounter;
use crate::codec::{calendar, sanitize};
use crate::model::clock::{Clock as _, SystemClock};

/// The duration from which a call is slow.
pub const SLOW_CALL: Duration = Duration::from_millis(100);
/// The maximum number of slow calls kept.
const LINES_MAX: usize = 1_000;
/// The characters kept of a table or index: those of the longest ARN. A client can send longer ones.
const NAME_CHARS_MAX: usize = 1_024;

/// The last slow calls.
#[derive(Debug, Default)]
pub struct SlowLog(Mutex<VecDeque<String>>);

impl SlowLog {
    /// Adds a line; it replaces the oldest if the log is full.
    pub fn push(&self, line: &Value) {
        let line = sanitize::json(&format!("{line}\n"));
        let mut lines = self.0.lock();
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Returns the lines, the oldest first.
    #[must_use]
    pub fn lines(&self) -> String {
        self.0.lock().iter().map(String::as_str).collect()
    }

    /// Forgets the slow calls.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// One request: its start, the table and the index that it names, and the units that it consumes.
#[derive(Debug)]
pub struct RequestTrace {
    started: Instant,
    names: OnceLock<[Option<String>; 2]>,
    pub units: UnitCounter,
}

impl RequestTrace {
    /// Begins a request.
    #[must_use]
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            names: OnceLock::new(),
            units: UnitCounter::counting(),
        }
    }

    /// Notes the table and the index of the request: of several tables the first.
    pub fn note_names(&self, request: Json<'_>) {
        let kept = |name: &str| name.chars().take(NAME_CHARS_MAX).collect::<String>();
        let first_key = |member| request.get(member)?.as_object()?.keys().next();
        let table = request
            .get("TableName")
            .and_then(Json::as_str)
            .or_else(|| first_key("RequestItems"));
        let index = request.get("IndexName").and_then(Json::as_str);
        // It is called once.
        let _ = self.names.set([table.map(kept), index.map(kept)]);
    }

    /// Logs the request if it was slow. `result` is `OK` or the name of the exception.
    pub fn end(&self, log: &SlowLog, operation: &str, result: &str) {
        let took = self.started.elapsed();
        if took < SLOW_CALL {
            return;
        }
        let [table, index] = self.names.get().cloned().unwrap_or_default();
        log.push(&json!({
            "time": calendar::iso(SystemClock.now_ms()),
            "operation": operation,
            "table": table,
            "index": index,
            "units": self.units.sum(),
            "result": result,
            "us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json::document::Document;

    #[test]
    fn the_last_slow_calls_are_kept() {
        let log = SlowLog::default();
        (0..LINES_MAX + 5).for_each(|number| log.push(&json!(number)));
        let lines = log.lines();
        assert_eq!(
            (lines.lines().count(), lines.lines().next()),
            (LINES_MAX, Some("5"))
        );
        log.clear();
        assert_eq!(log.lines(), "");
    }

    #[test]
    fn a_request_is_told_by_its_table_and_index_in_bounded_memory() {
        let check = |body: &str, expected: [Option<&str>; 2]| {
            let trace = RequestTrace::start();
            trace.note_names(Document::parse(body.as_bytes().to_vec()).unwrap().root());
            let names = trace.names.get().unwrap().each_ref();
            assert_eq!(names.map(Option::as_deref), expected, "{body}");
        };
        check(
            r#"{"TableName":"T","IndexName":"i"}"#,
            [Some("T"), Some("i")],
        );
        check(r#"{"RequestItems":{"A":{},"B":{}}}"#, [Some("A"), None]);
        check(r#"{"TableName":7,"RequestItems":[]}"#, [None, None]);
        let long = "x".repeat(5_000);
        check(
            &format!(r#"{{"TableName":"{long}"}}"#),
            [Some(&long[..NAME_CHARS_MAX]), None],
        );
    }
}
