//! What `.ddb/last/` shows: the answer to the last call of the reader's own session, as the API would have given it, and what it consumed.
//!
//! Sessions are those of `.ddb/errors/last`. Memory is bounded: the answers of the sessions that called last.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;

use super::text::pretty;
use crate::codec::json::document::Document;
use crate::codec::wire::{self, Reporting};
use crate::fs::process::{Caller, session_of};
use crate::model::api::{DeleteItemResponse, PutItemResponse, ReturnConsumedCapacity, UpdateItemResponse};
use crate::model::{Error, TableName};
use crate::protocol::{self, Failure};

/// Answers of all sessions together; the oldest are dropped.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const SESSIONS_MAX: usize = 1_000;
/// How long a process is taken to be of the session that it was of: looking costs more than a short write may.
const SESSION_KNOWN: Duration = Duration::from_secs(1);
const PROCESSES_MAX: usize = 256;

#[derive(Debug, Default)]
struct Answers {
    answers: HashMap<u32, Arc<Vec<u8>>>,
    /// Sessions, the one that called longest ago first.
    order: VecDeque<u32>,
    bytes: usize,
    /// (session, when it was looked up) by process.
    processes: HashMap<u32, (u32, Instant)>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct LastAnswers {
    state: Mutex<Answers>,
}

impl LastAnswers {
    /// Keeps the answer to a call of a session: one JSON object with a newline.
    pub fn keep(&self, session: u32, answer: Arc<Vec<u8>>) {
        let mut state = self.state.lock();
        state.drop_answer(session);
        state.bytes += answer.len();
        state.answers.insert(session, answer);
        state.order.push_back(session);
        while state.order.len() > SESSIONS_MAX || (state.bytes > BYTES_MAX && state.order.len() > 1) {
            let Some(oldest) = state.order.front().copied() else { return };
            state.drop_answer(oldest);
        }
    }

    /// Keeps how an item's file was written or removed: the answer of that operation with its capacity, or the error's body.
    pub fn keep_write(&self, session: u32, operation: &str, outcome: Result<Vec<u8>, &Error>) {
        let mut answer = outcome.unwrap_or_else(|error| Failure::from(error.clone()).error_body(protocol::find(operation)).json());
        answer.push(b'\n');
        self.keep(session, Arc::new(answer));
    }

    /// The session of a process that calls.
    pub fn session(&self, process: u32) -> u32 {
        let now = Instant::now();
        if let Some((session, since)) = self.state.lock().processes.get(&process)
            && now.duration_since(*since) < SESSION_KNOWN
        {
            return *session;
        }
        // Without the lock: it reads /proc. Two may look at once, and find the same.
        let session = session_of(process);
        let mut state = self.state.lock();
        if state.processes.len() >= PROCESSES_MAX {
            state.processes.clear();
        }
        state.processes.insert(process, (session, now));
        session
    }

    /// The answer that a caller's session had last.
    pub fn of(&self, caller: Caller) -> Arc<Vec<u8>> {
        let session = session_of(caller.pid);
        self.state.lock().answers.get(&session).cloned().unwrap_or_default()
    }
}

impl Answers {
    fn drop_answer(&mut self, session: u32) {
        if let Some(old) = self.answers.remove(&session) {
            self.bytes -= old.len();
            self.order.retain(|known| *known != session);
        }
    }
}

fn reporting(table: &TableName) -> Reporting {
    Reporting { table: table.to_string(), detail: ReturnConsumedCapacity::Indexes }
}

/// PutItem's answer, capacity included.
#[must_use]
pub fn of_put(table: &TableName, response: &PutItemResponse) -> Vec<u8> {
    let mut out = Vec::new();
    wire::put_item::response(response, &reporting(table), &mut out);
    out
}

/// UpdateItem's answer, capacity included.
#[must_use]
pub fn of_update(table: &TableName, response: &UpdateItemResponse) -> Vec<u8> {
    let mut out = Vec::new();
    wire::update_item::response(response, &reporting(table), &mut out);
    out
}

/// DeleteItem's answer, capacity included.
#[must_use]
pub fn of_delete(table: &TableName, response: &DeleteItemResponse) -> Vec<u8> {
    let mut out = Vec::new();
    wire::delete_item::response(response, &reporting(table), &mut out);
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
        assert_eq!((answer(2_999), answer(7), last.state.lock().bytes), (None, Some(10), 10));
    }

    #[test]
    fn capacity_is_what_the_answer_says() {
        let check = |answer: &str, expected: Option<Value>| assert_eq!(capacity(answer.as_bytes()), expected, "{answer}");
        check(r#"{"ConsumedCapacity":{"CapacityUnits":1.0}}"#, Some(serde_json::json!({"CapacityUnits": 1.0})));
        check("{}\n", None);
        check("", None);
    }
}
