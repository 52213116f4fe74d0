//! Where requests run that take long or much memory: on threads of their own, a few at a time, so that the threads of the connections
//! are always there for the others.
//!
//! A request waits for its turn before anything is made of it. What it will need at most is known from the length of its body alone.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::body::BODY_BYTES_MAX;
use crate::codec::json::document::REQUEST_BYTES_MAX;
use crate::protocol::{Handler, Length, Operation};

/// A request with a body of at most this many bytes that reads or writes single items runs where its connection is.
pub const SHORT_BODY_BYTES: usize = 32 * 1024;
/// Memory for a request and what is made of it, in lengths of its body; a tree is at most four, the values more.
const BODY_FACTOR: usize = 8;
/// An inflated body is at most this many times the one that was sent: deflate's bound.
const INFLATED_FACTOR: usize = 1032;
/// An item of 400 KB as a tree of values and as text, at most: a list of empty strings takes 32 bytes and 9 characters for each of its own.
pub const ITEM_BYTES: usize = 16 * 1024 * 1024;
/// A page of a megabyte and an item: its text, and an item as values.
const PAGE_BYTES: usize = 28 * 1024 * 1024;
/// The text of the items of a BatchGetItem, and an item as values.
const ROWS_BYTES: usize = 44 * 1024 * 1024;
/// Threads at work at a time, for each processor.
const PER_PROCESSOR: usize = 4;
/// Turns for long requests.
#[derive(Debug)]
pub struct LongRequests {
    turns: Arc<Semaphore>,
}

impl Default for LongRequests {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self { turns: Arc::new(Semaphore::new(PER_PROCESSOR * processors)) }
    }
}

impl LongRequests {
    /// Does such a request run where its connection is?
    #[must_use]
    pub fn is_short(operation: Option<&Operation>, body: &[u8], is_coded: bool) -> bool {
        let length = operation.map_or(Length::Short, |operation| operation.length);
        !is_coded
            && body.len() <= SHORT_BODY_BYTES
            && match length {
                Length::Short => true,
                Length::LongWithFilter => !may_have(body, b"Filter"),
                Length::LongByRows | Length::Long => false,
            }
    }

    /// Runs `work` on a thread of its own when it is its turn; `None` when it panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        // Given back by the work, not by who waits for it: a client that leaves ends the waiting only.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}

/// Has the body a member with that in its name, as far as its bytes tell? An escape may hide one.
fn may_have(body: &[u8], part: &[u8]) -> bool {
    memchr::memchr(b'\\', body).is_some() || memchr::memmem::find(body, part).is_some()
}

/// What a request with such a body may need, the body not included.
#[must_use]
pub fn bytes_of(body_bytes: usize, is_coded: bool) -> usize {
    let text = if is_coded { body_bytes.saturating_mul(INFLATED_FACTOR).min(BODY_BYTES_MAX) } else { body_bytes };
    text.saturating_mul(BODY_FACTOR).min(REQUEST_BYTES_MAX)
}

/// What a request may need until its answer is made: what is made of it, what it reads, and its answer.
#[must_use]
pub fn bytes_needed(operation: Option<&Operation>, body: &[u8], is_coded: bool) -> usize {
    let read = match operation.map(|operation| (operation.length, operation.handler)) {
        None => 0,
        Some((Length::Long, _)) => REQUEST_BYTES_MAX,
        Some((Length::LongByRows, _)) => ROWS_BYTES,
        Some((Length::LongWithFilter, _)) => PAGE_BYTES,
        Some((Length::Short, Handler::Read(_))) => ITEM_BYTES,
        // An item is only answered to who asks for it; a body that is compressed may ask.
        Some((Length::Short, _)) if is_coded || may_have(body, b"ReturnValues") => ITEM_BYTES,
        Some((Length::Short, _)) => 0,
    };
    // No request is to take more, whatever it is.
    (bytes_of(body.len(), is_coded) + read).min(REQUEST_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_filter_is_read_where_its_connection_is() {
        let check = |name: &str, body: &str, expected| {
            assert_eq!(LongRequests::is_short(crate::protocol::find(name), body.as_bytes(), false), expected, "{name} {body}");
        };
        check("Query", r#"{"TableName":"T"}"#, true);
        check("Query", r#"{"FilterExpression":"a = b"}"#, false);
        check("Query", r#"{"\u0046ilterExpression":"a = b"}"#, false);
        check("Scan", r#"{"ScanFilter":{}}"#, false);
        check("Scan", "{}", true);
        check("BatchGetItem", "{}", false);
        check("GetItem", "{}", true);
        check("GetItem", &"x".repeat(SHORT_BODY_BYTES + 1), false);
    }

    #[test]
    fn what_is_reserved_is_what_an_operation_may_read_and_answer() {
        let check = |name: &str, body: &str, expected| {
            assert_eq!(
                bytes_needed(crate::protocol::find(name), body.as_bytes(), false),
                BODY_FACTOR * body.len() + expected,
                "{name}"
            );
        };
        check("GetItem", "{}", ITEM_BYTES);
        check("Query", "{}", PAGE_BYTES);
        check("BatchGetItem", "{}", ROWS_BYTES);
        check("PutItem", "{}", 0);
        check("PutItem", r#"{"ReturnValues":"ALL_OLD"}"#, ITEM_BYTES);
        check("TransactWriteItems", r#"{"Return\u0056alues":0}"#, ITEM_BYTES);
        assert_eq!(bytes_needed(crate::protocol::find("Scan"), &[b' '; BODY_BYTES_MAX], false), REQUEST_BYTES_MAX);
    }

    #[test]
    fn what_a_request_may_need_is_known_from_its_length() {
        let mib = 1024 * 1024;
        let check = |body, is_coded, expected| assert_eq!(bytes_of(body, is_coded), expected, "{body} {is_coded}");
        check(1000, false, 8000);
        check(mib, false, 8 * mib);
        check(BODY_BYTES_MAX, false, REQUEST_BYTES_MAX);
        check(1000, true, 8 * 1_032_000);
        check(16_700, true, REQUEST_BYTES_MAX);
        check(usize::MAX, true, REQUEST_BYTES_MAX);
    }
}
