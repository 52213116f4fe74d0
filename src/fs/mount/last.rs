//! What `.ddb/last/` shows: the answer to the last call of the reader's own session, as the API would have given it, and what it consumed.
//!
//! Sessions are those of `.ddb/errors/last`. Memory is bounded: the answers of the sessions that called last.

use super::text::pretty;
use crate::codec::json::document::Document;
use crate::codec::wire::{self, Declared};
use crate::fs::prelude::*;
use crate::fs::{process::session_of, recent::Weighed};
use crate::model::api::ReturnConsumedCapacity;
use crate::protocol::{self, Failure};

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

/// See the module.
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
        let mut answer = outcome.unwrap_or_else(|error| Failure::from(error.clone()).error_body(protocol::find(operation)).json());
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
        self.state.lock().answers.get(&session).cloned().unwrap_or_default()
    }
}

/// The answer to the write of an item, capacity included.
#[must_use]
pub fn of_write(table: &TableName, response: &impl Declared) -> Vec<u8> {
    let mut out = Vec::new();
    wire::write(response, &wire::Context::of_table(table.as_str(), ReturnConsumedCapacity::Indexes), &mut out);
    out
}

/// What an answer says that was consumed, as JSON; nothing when it says nothing.
#[must_use]
pub fn capacity_text(answer: &[u8]) -> Vec<u8> {
    capacity(answer).map(|units| pretty(&units)).unwrap_or_default()
}

fn capacity(answer: &[u8]) -> Option<Value> {
    Some(Document::parse(answer.to_vec()).ok()?.root().get("ConsumedCapacity")?.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let last = LastAnswers::default();
        for session in 0..3_000 {
            last.keep(session, Arc::new(vec![b'x'; 10]));
        }
        let answer = |session: u32| last.state.lock().answers.get(&session).map(|answer| answer.len());
        assert_eq!((answer(1_999), answer(2_000), answer(2_999)), (None, Some(10), Some(10)));
        last.keep(2_999, Arc::new(vec![b'x'; BYTES_MAX]));
        assert_eq!((answer(2_998), answer(2_999)), (None, Some(BYTES_MAX)));
        last.keep(7, Arc::new(vec![b'x'; 10]));
        assert_eq!((answer(2_999), answer(7), last.state.lock().answers.bytes()), (None, Some(10), 10));
    }

    #[test]
    fn capacity_is_what_the_answer_says() {
        let check = |answer: &str, expected: Option<Value>| assert_eq!(capacity(answer.as_bytes()), expected, "{answer}");
        check(r#"{"ConsumedCapacity":{"CapacityUnits":1.0}}"#, Some(serde_json::json!({"CapacityUnits": 1.0})));
        check("{}\n", None);
        check("", None);
    }
}
