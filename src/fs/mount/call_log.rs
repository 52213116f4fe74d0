//! The log of calls: `.ddb/accesslog` has every call as it ends, by a bounded queue for each
//! current reader; `.ddb/slowlog.ndjson` has the last slow ones (`protocol::slow_log`).
//! `view/timed_call.rs` measures the calls.
//!
//! `.ddb/last/`: the response to the last call of the reader's own session, as the API would have
//! returned it, and its consumption. Sessions are those of `.ddb/errors/last`. Memory is bounded:
//! the responses of the latest sessions are kept.

use std::sync::Weak;

use super::text_cache::pretty_json;
use crate::codec::{
    calendar,
    json::document::Document,
    sanitize::is_printable,
    wire::{self, Declared},
};
use crate::fs::{
    prelude::*,
    process::session_of,
    ttl_map::{FastEmpty, WeightedMap},
};
use crate::model::api::ReturnConsumedCapacity;
use crate::protocol::{
    self, RequestError,
    slow_log::{SLOW_CALL, SlowLog},
};

/// The maximum bytes of lines that wait for a slow reader of the log.
pub const QUEUE_BYTES_MAX: usize = 1024 * 1024;

/// A call that has ended.
#[derive(Debug)]
pub struct CallRecord {
    pub time_ms: u64,
    pub pid: u32,
    pub operation: &'static str,
    pub path: String,
    /// `OK` or the errno's name.
    pub result: String,
    pub took: Duration,
    /// True if the call only looks at tables: as free as it is, it is no slow call.
    pub is_look: bool,
}

impl CallRecord {
    /// Returns the line of the log: time, process, operation, path, result, microseconds; tabs
    /// between.
    fn line(&self) -> String {
        let path: String = self
            .path
            .chars()
            .flat_map(|c| {
                if is_printable(c) {
                    vec![c]
                } else {
                    c.escape_default().collect()
                }
            })
            .collect();
        let (time, micros) = (calendar::iso(self.time_ms), self.took.as_micros());
        format!(
            "{time}\t{}\t{}\t{path}\t{}\t{micros}\n",
            self.pid, self.operation, self.result
        )
    }

    fn json(&self) -> Value {
        json!({
            "time": calendar::iso(self.time_ms),
            "pid": self.pid,
            "operation": self.operation,
            "path": self.path,
            "result": self.result,
            "us": u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
        })
    }
}

/// A queue of lines for one reader of the access log.
#[derive(Debug, Default)]
pub struct LogQueue {
    lines: Mutex<(Vec<u8>, u64)>,
}

impl LogQueue {
    fn push(&self, line: &str) {
        let mut lines = self.lines.lock();
        if lines.0.len() + line.len() > QUEUE_BYTES_MAX {
            lines.1 += 1;
        } else {
            lines.0.extend_from_slice(line.as_bytes());
        }
    }

    /// Takes the next lines, or a part of one.
    pub fn take(&self, size: usize) -> Option<Vec<u8>> {
        let mut lines = self.lines.lock();
        let count = size.min(lines.0.len());
        let taken: Vec<u8> = lines.0.drain(..count).collect();
        if lines.0.is_empty() && lines.1 > 0 {
            let left_out = std::mem::take(&mut lines.1);
            lines.0.extend_from_slice(
                format!("# {left_out} calls left out: they came faster than they were read\n")
                    .as_bytes(),
            );
        }
        (!taken.is_empty()).then_some(taken)
    }
}

/// The log of calls that have ended.
#[derive(Debug, Default)]
pub struct CallLog {
    /// Queues of the readers of the access log.
    readers: FastEmpty<Vec<Weak<LogQueue>>>,
    /// The slow calls, and the slow requests of the HTTP API beside the mount.
    pub slow: Arc<SlowLog>,
}

impl CallLog {
    /// True if the access log has a reader.
    pub fn has_readers(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Adds a reader; its queue is filled until it is dropped.
    pub fn subscribe(&self) -> Arc<LogQueue> {
        let ahead = Arc::new(LogQueue::default());
        self.readers
            .update(|readers| readers.push(Arc::downgrade(&ahead)));
        ahead
    }

    /// Records a call that has ended.
    pub fn record(&self, call: CallRecord) {
        if self.has_readers() {
            // Made once for all readers, and not at all without any.
            let line = call.line();
            self.readers.update(|readers| {
                readers.retain(|reader| reader.upgrade().map(|ahead| ahead.push(&line)).is_some())
            });
        }
        if call.took >= SLOW_CALL && !call.is_look {
            self.slow.push(&call.json());
        }
    }
}

/// The maximum bytes of the responses of all sessions; the oldest are dropped.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const SESSIONS_MAX: usize = 1_000;
/// Time for which the session of a process is cached, in milliseconds: reading it costs more than a
/// short write.
const SESSION_TTL_MS: u64 = 1_000;
const PROCESSES_MAX: usize = 256;

#[derive(Debug, Default)]
struct ResponseCache {
    /// The last response of each session.
    responses: WeightedMap<u32, Arc<Vec<u8>>, SESSIONS_MAX, BYTES_MAX>,
    /// The session of each process.
    sessions: TtlMap<u32, u32, PROCESSES_MAX, SESSION_TTL_MS>,
}

/// The responses of `.ddb/last/`.
#[derive(Debug, Default)]
pub struct LastResponses {
    state: Mutex<ResponseCache>,
}

impl LastResponses {
    /// Keeps the response to a call of a session: one JSON object with a newline.
    pub fn record(&self, session: u32, answer: Arc<Vec<u8>>) {
        let bytes = answer.len();
        self.state.lock().responses.insert(session, answer, bytes);
    }

    /// Keeps the outcome of a write or removal of an item's file: the response of that operation
    /// with its capacity, or the error's body.
    pub fn record_write(&self, session: u32, operation: &str, outcome: Result<Vec<u8>, &Error>) {
        let mut answer = outcome.unwrap_or_else(|error| {
            RequestError::from(error.clone())
                .error_body(protocol::find(operation))
                .json()
        });
        answer.push(b'\n');
        self.record(session, Arc::new(answer));
    }

    /// Returns the session of a calling process.
    pub fn session(&self, process: u32) -> u32 {
        let now_ms = now_ms();
        let known = self.state.lock().sessions.get(&process, now_ms).copied();
        known.unwrap_or_else(|| {
            // Without the lock: it reads /proc. Two threads may look at once, and find the same.
            let session = session_of(process);
            self.state.lock().sessions.insert(process, session, now_ms);
            session
        })
    }

    /// Returns the last response to the caller's session; empty without one.
    pub fn get(&self, caller: Caller) -> Arc<Vec<u8>> {
        let session = session_of(caller.pid);
        self.state
            .lock()
            .responses
            .get(&session)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the consumed capacity of that response as JSON; empty when it has none.
    pub fn capacity_of(&self, caller: Caller) -> Vec<u8> {
        capacity(&self.get(caller))
            .map(|units| pretty_json(&units))
            .unwrap_or_default()
    }
}

fn capacity(answer: &[u8]) -> Option<Value> {
    Some(
        Document::parse(answer.to_vec())
            .ok()?
            .root()
            .get("ConsumedCapacity")?
            .to_value(),
    )
}

/// Returns the response to the write of an item, with its capacity.
#[must_use]
pub fn write_response(table: &TableName, response: &impl Declared) -> Vec<u8> {
    let mut out = Vec::new();
    wire::encode(
        response,
        &wire::Context::of_table(table.as_str(), ReturnConsumedCapacity::Indexes),
        &mut out,
    );
    out
}

#[cfg(test)]
mod calls_tests {
    use super::*;

    fn ended(path: &str, took: Duration) -> CallRecord {
        CallRecord {
            time_ms: 0,
            pid: 7,
            operation: "read",
            path: path.to_owned(),
            result: "OK".to_owned(),
            took,
            is_look: false,
        }
    }

    #[test]
    fn a_reader_gets_each_call_and_hears_of_those_left_out() {
        let calls = CallLog::default();
        calls.record(ended("before", Duration::ZERO));
        let ahead = calls.subscribe();
        assert!(calls.has_readers() && ahead.take(10).is_none());
        calls.record(ended("a\tb", Duration::from_micros(12)));
        let line = "1970-01-01T00:00:00.000Z\t7\tread\ta\\tb\tOK\t12\n";
        assert_eq!(
            ahead
                .take(usize::MAX)
                .map(|text| String::from_utf8(text).unwrap())
                .as_deref(),
            Some(line)
        );
        (0..30_000).for_each(|_| calls.record(ended("x", Duration::ZERO)));
        let taken = ahead.take(usize::MAX).unwrap().len();
        assert!(taken <= QUEUE_BYTES_MAX);
        assert!(ahead.take(usize::MAX).unwrap().starts_with(b"# "));
        calls.record(ended("\u{1b}]0;x\u{9b}\u{202e}", SLOW_CALL));
        let text = ahead.take(usize::MAX).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("\t\\u{1b}]0;x\\u{9b}\\u{202e}\t")
        );
        assert!(
            calls
                .slow
                .lines()
                .contains(r#""path":"\u001b]0;x\u009b\u202e""#),
            "{}",
            calls.slow.lines()
        );
        drop(ahead);
        calls.record(ended("x", Duration::ZERO));
        assert!(!calls.has_readers());
    }

    #[test]
    fn slow_calls_are_kept_and_looks_are_not() {
        let calls = CallLog::default();
        calls.record(ended("quick", SLOW_CALL - Duration::from_millis(1)));
        calls.record(CallRecord {
            is_look: true,
            ..ended("look", SLOW_CALL)
        });
        calls.record(ended("slow", SLOW_CALL));
        let lines = calls.slow.lines();
        assert!(
            lines.lines().count() == 1 && lines.contains(r#""path":"slow""#),
            "{lines}"
        );
    }
}

#[cfg(test)]
mod last_tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let last = LastResponses::default();
        for session in 0..3_000 {
            last.record(session, Arc::new(vec![b'x'; 10]));
        }
        let answer = |session: u32| {
            last.state
                .lock()
                .responses
                .get(&session)
                .map(|answer| answer.len())
        };
        assert_eq!(
            (answer(1_999), answer(2_000), answer(2_999)),
            (None, Some(10), Some(10))
        );
        last.record(2_999, Arc::new(vec![b'x'; BYTES_MAX]));
        assert_eq!((answer(2_998), answer(2_999)), (None, Some(BYTES_MAX)));
        last.record(7, Arc::new(vec![b'x'; 10]));
        assert_eq!(
            (
                answer(2_999),
                answer(7),
                last.state.lock().responses.bytes()
            ),
            (None, Some(10), 10)
        );
    }

    #[test]
    fn capacity_is_what_the_answer_says() {
        let check = |answer: &str, expected: Option<Value>| {
            assert_eq!(capacity(answer.as_bytes()), expected, "{answer}")
        };
        check(
            r#"{"ConsumedCapacity":{"CapacityUnits":1.0}}"#,
            Some(serde_json::json!({"CapacityUnits": 1.0})),
        );
        check("{}\n", None);
        check("", None);
    }
}
