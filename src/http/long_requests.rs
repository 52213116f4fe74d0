//! Where requests run that take long or much memory: on threads of their own, a few at a time, so that the threads of the connections
//! are always there for the others.
//!
//! A request waits for its turn before anything is made of it. What it will need at most is known from the length of its body alone.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::body::{BODY_BYTES_MAX, BodyError};
use crate::codec::json::document::REQUEST_BYTES_MAX;
use crate::protocol::{Length, Operation};
use crate::store::heap;

/// A request with a body of at most this many bytes that reads or writes single items runs where its connection is.
pub const SHORT_BODY_BYTES: usize = 32 * 1024;
/// Memory for a request and what is made of it, in lengths of its body; a tree is at most four, the values more.
const BODY_FACTOR: usize = 8;
/// An inflated body is at most this many times the one that was sent: deflate's bound.
const INFLATED_FACTOR: usize = 1032;
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// Threads at work at a time, for each processor.
const PER_PROCESSOR: usize = 4;
/// The unit in which memory is counted.
const KIB: usize = 1024;

/// Turns and memory for long requests.
#[derive(Debug)]
pub struct LongRequests {
    turns: Arc<Semaphore>,
    /// In KiB.
    memory: Arc<Semaphore>,
    memory_max: usize,
}

/// Memory that was taken for a request. Given back when dropped.
#[derive(Debug)]
pub struct Memory {
    bytes: usize,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        heap::freed(self.bytes);
    }
}

impl LongRequests {
    /// `bytes_max` for all long requests together.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        // In KiB, as a semaphore gives at most 2^32 permits at a time.
        let memory_max = (bytes_max / KIB).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let turns = Arc::new(Semaphore::new(PER_PROCESSOR * processors));
        Self { turns, memory: Arc::new(Semaphore::new(memory_max)), memory_max }
    }

    /// Does such a request run where its connection is?
    #[must_use]
    pub fn is_short(operation: Option<&Operation>, body: &[u8], is_coded: bool) -> bool {
        let length = operation.map_or(Length::Short, |operation| operation.length);
        !is_coded
            && body.len() <= SHORT_BODY_BYTES
            && match length {
                Length::Short => true,
                Length::LongWithFilter => !may_filter(body),
                Length::Long => false,
            }
    }

    /// Waits for the memory that a request with such a body needs.
    ///
    /// # Errors
    /// [`BodyError::Busy`] when that takes more than a minute.
    pub async fn memory(&self, body_bytes: usize, is_coded: bool) -> Result<Memory, BodyError> {
        let bytes = bytes_of(body_bytes, is_coded);
        // It is here for what it reads: its tree is too small to be counted.
        if body_bytes <= SHORT_BODY_BYTES && !is_coded {
            return Ok(Memory { bytes, _permit: None });
        }
        // Never more than there is, for which it would wait in vain.
        let permits = u32::try_from((bytes / KIB).min(self.memory_max)).unwrap_or(u32::MAX);
        let taken = timeout(PATIENCE, Arc::clone(&self.memory).acquire_many_owned(permits)).await;
        let permit = taken.ok().and_then(Result::ok).ok_or(BodyError::Busy)?;
        Ok(Memory { bytes, _permit: Some(permit) })
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

/// Has the body a member with `Filter` in its name, as far as its bytes tell? An escape may hide one.
fn may_filter(body: &[u8]) -> bool {
    memchr::memchr(b'\\', body).is_some() || memchr::memmem::find(body, b"Filter").is_some()
}

/// What a request with such a body may need, the body not included.
fn bytes_of(body_bytes: usize, is_coded: bool) -> usize {
    let text = if is_coded { body_bytes.saturating_mul(INFLATED_FACTOR).min(BODY_BYTES_MAX) } else { body_bytes };
    text.saturating_mul(BODY_FACTOR).min(REQUEST_BYTES_MAX)
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
    fn what_a_request_may_need_is_known_from_its_length() {
        let mib = 1024 * KIB;
        let check = |body, is_coded, expected| assert_eq!(bytes_of(body, is_coded), expected, "{body} {is_coded}");
        check(1000, false, 8000);
        check(mib, false, 8 * mib);
        check(BODY_BYTES_MAX, false, REQUEST_BYTES_MAX);
        check(1000, true, 8 * 1_032_000);
        check(16_700, true, REQUEST_BYTES_MAX);
        check(usize::MAX, true, REQUEST_BYTES_MAX);
    }
}
