//! What `.ddb/accesslog` and `.ddb/slowlog.ndjson` show: every call as it ends, for who reads it at that time; the last ones that took long.
//!
//! What `.ddb/last/` shows: the answer to the last call of the reader's own session, as the API would have given it, and what it consumed.
//! Sessions are those of `.ddb/errors/last`. Memory is bounded: the answers of the sessions that called last.

use std::{collections::VecDeque, sync::Weak};

use super::texts::pretty;
use crate::codec::{
    calendar,
    json::document::Document,
    shown::{self, is_shown},
    wire::{self, Declared},
};
use crate::fs::{
    prelude::*,
    process::session_of,
    recent::{Seldom, Weighed},
};
use crate::model::api::ReturnConsumedCapacity;
use crate::protocol::{self, Failure};

/// A call that takes as long is slow.
pub const SLOW: Duration = Duration::from_millis(100);
/// Slow calls kept.
const SLOW_MAX: usize = 1_000;
/// Lines that wait for a reader of the log who is slower than the calls.
pub const AHEAD_BYTES_MAX: usize = 1024 * 1024;

/// A call that has ended.
#[derive(Debug)]
pub struct Ended {
    pub time_ms: u64,
    pub pid: u32,
    pub operation: &'static str,
    pub path: String,
    /// `OK` or the errno's name.
    pub result: &'static str,
    pub took: Duration,
}

impl Ended {
    /// Time, process, operation, path, result, microseconds; tabs between.
    fn line(&self) -> String {
        let path: String = self
            .path
            .chars()
            .flat_map(|c| {
                if is_shown(c) {
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

    fn json(&self) -> String {
        let line = json!({
            "time": calendar::iso(self.time_ms),
            "pid": self.pid,
            "operation": self.operation,
            "path": self.path,
            "result": self.result,
            "us": u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
        });
        shown::json(&format!("{line}\n"))
    }
}

/// Lines for one reader of the access log.
#[derive(Debug, Default)]
pub struct Ahead {
    lines: Mutex<(Vec<u8>, u64)>,
}

impl Ahead {
    fn add(&self, line: &str) {
        let mut lines = self.lines.lock();
        if lines.0.len() + line.len() > AHEAD_BYTES_MAX {
            lines.1 += 1;
        } else {
            lines.0.extend_from_slice(line.as_bytes());
        }
    }

    /// The next lines, or a part of one.
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

/// The calls that have ended.
#[derive(Debug, Default)]
pub struct Calls {
    /// Readers of the access log.
    readers: Seldom<Vec<Weak<Ahead>>>,
    slow: Mutex<VecDeque<Ended>>,
}

impl Calls {
    /// Does anybody read the access log?
    pub fn is_watched(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Begins to keep lines for a reader, until that is dropped.
    pub fn watch(&self) -> Arc<Ahead> {
        let ahead = Arc::new(Ahead::default());
        self.readers
            .change(|readers| readers.push(Arc::downgrade(&ahead)));
        ahead
    }

    /// A call has ended.
    pub fn note(&self, ended: Ended) {
        if self.is_watched() {
            // Made once for all readers, and not at all without any.
            let line = ended.line();
            self.readers.change(|readers| {
                readers.retain(|reader| reader.upgrade().map(|ahead| ahead.add(&line)).is_some())
            });
        }
        if ended.took >= SLOW {
            let mut slow = self.slow.lock();
            if slow.len() == SLOW_MAX {
                slow.pop_front();
            }
            slow.push_back(ended);
        }
    }

    /// The slow calls, the oldest first, a line of JSON each.
    pub fn slow_lines(&self) -> String {
        self.slow.lock().iter().map(Ended::json).collect()
    }

    /// Forgets the slow calls.
    pub fn clear(&self) {
        self.slow.lock().clear();
    }
}

/// Answers of all sessions together; the oldest are dropped.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const SESSIONS_MAX: usize = 1_000;
/// How long a process is taken to be of the session that it was of: looking costs more than a short write may.
const SESSION_KNOWN_MS: u64 = 1_000;
const PROCESSES_MAX: usize = 256;

#[derive(Debug, Default)]
struct Answers {
    /// By session.
    answers: Weighed<u32, Arc<Vec<u8>>, SESSIONS_MAX, BYTES_MAX>,
    /// The session of a process.
    processes: Recent<u32, u32, PROCESSES_MAX, SESSION_KNOWN_MS>,
}

/// The answers of `.ddb/last/`.
#[derive(Debug, Default)]
pub struct LastAnswers {
    state: Mutex<Answers>,
}

impl LastAnswers {
    /// Keeps the answer to a call of a session: one JSON object with a newline.
    pub fn keep(&self, session: u32, answer: Arc<Vec<u8>>) {
        let bytes = answer.len();
        self.state.lock().answers.keep(session, answer, bytes);
    }

    /// Keeps how an item's file was written or removed: the answer of that operation with its capacity, or the error's body.
    pub fn keep_write(&self, session: u32, operation: &str, outcome: Result<Vec<u8>, &Error>) {
        let mut answer = outcome.unwrap_or_else(|error| {
            Failure::from(error.clone())
                .error_body(protocol::find(operation))
                .json()
        });
        answer.push(b'\n');
        self.keep(session, Arc::new(answer));
    }

    /// The session of a process that calls.
    pub fn session(&self, process: u32) -> u32 {
        let now_ms = now_ms();
        let known = self.state.lock().processes.get(&process, now_ms).copied();
        known.unwrap_or_else(|| {
            // Without the lock: it reads /proc. Two may look at once, and find the same.
            let session = session_of(process);
            self.state.lock().processes.keep(process, session, now_ms);
            session
        })
    }

    /// The answer that a caller's session had last.
    pub fn of(&self, caller: Caller) -> Arc<Vec<u8>> {
        let session = session_of(caller.pid);
        self.state
            .lock()
            .answers
            .get(&session)
            .cloned()
            .unwrap_or_default()
    }

    /// What that answer says that was consumed, as JSON; nothing when it says nothing.
    pub fn capacity_of(&self, caller: Caller) -> Vec<u8> {
        capacity(&self.of(caller))
            .map(|units| pretty(&units))
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

/// The answer to the write of an item, capacity included.
#[must_use]
pub fn of_write(table: &TableName, response: &impl Declared) -> Vec<u8> {
    let mut out = Vec::new();
    wire::write(
        response,
        &wire::Context::of_table(table.as_str(), ReturnConsumedCapacity::Indexes),
        &mut out,
    );
    out
}

#[cfg(test)]
mod calls_tests {
    use super::*;

    fn ended(path: &str, took: Duration) -> Ended {
        Ended {
            time_ms: 0,
            pid: 7,
            operation: "read",
            path: path.to_owned(),
            result: "OK",
            took,
        }
    }

    #[test]
    fn a_reader_gets_each_call_and_hears_of_those_left_out() {
        let calls = Calls::default();
        calls.note(ended("before", Duration::ZERO));
        let ahead = calls.watch();
        assert!(calls.is_watched() && ahead.take(10).is_none());
        calls.note(ended("a\tb", Duration::from_micros(12)));
        let line = "1970-01-01T00:00:00.000Z\t7\tread\ta\\tb\tOK\t12\n";
        assert_eq!(
            ahead
                .take(usize::MAX)
                .map(|text| String::from_utf8(text).unwrap())
                .as_deref(),
            Some(line)
        );
        (0..30_000).for_each(|_| calls.note(ended("x", Duration::ZERO)));
        let taken = ahead.take(usize::MAX).unwrap().len();
        assert!(taken <= AHEAD_BYTES_MAX);
        assert!(ahead.take(usize::MAX).unwrap().starts_with(b"# "));
        calls.note(ended("\u{1b}]0;x\u{9b}\u{202e}", SLOW));
        let text = ahead.take(usize::MAX).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("\t\\u{1b}]0;x\\u{9b}\\u{202e}\t")
        );
        assert!(
            calls
                .slow_lines()
                .contains(r#""path":"\u001b]0;x\u009b\u202e""#),
            "{}",
            calls.slow_lines()
        );
        drop(ahead);
        calls.note(ended("x", Duration::ZERO));
        assert!(!calls.is_watched());
    }

    #[test]
    fn the_last_slow_calls_are_kept() {
        let calls = Calls::default();
        calls.note(ended("quick", SLOW - Duration::from_millis(1)));
        (0..SLOW_MAX + 5).for_each(|number| calls.note(ended(&number.to_string(), SLOW)));
        let slow = calls.slow.lock();
        assert_eq!(
            (slow.len(), slow.front().map(|ended| ended.path.as_str())),
            (SLOW_MAX, Some("5"))
        );
    }
}

#[cfg(test)]
mod last_tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let last = LastAnswers::default();
        for session in 0..3_000 {
            last.keep(session, Arc::new(vec![b'x'; 10]));
        }
        let answer = |session: u32| {
            last.state
                .lock()
                .answers
                .get(&session)
                .map(|answer| answer.len())
        };
        assert_eq!(
            (answer(1_999), answer(2_000), answer(2_999)),
            (None, Some(10), Some(10))
        );
        last.keep(2_999, Arc::new(vec![b'x'; BYTES_MAX]));
        assert_eq!((answer(2_998), answer(2_999)), (None, Some(BYTES_MAX)));
        last.keep(7, Arc::new(vec![b'x'; 10]));
        assert_eq!(
            (answer(2_999), answer(7), last.state.lock().answers.bytes()),
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
