//! Where requests run that take long or much memory: on threads of their own, a few at a time, so that the threads of the connections
//! are always there for the others.
//!
//! A request waits for its turn before anything is made of it. What it will need at most is known from its body alone: [`crate::protocol::memory`].

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::protocol::memory::may_have;
use crate::protocol::{Length, Operation};

/// A request with a body of at most this many bytes that reads or writes single items runs where its connection is.
pub const SHORT_BODY_BYTES: usize = 32 * 1024;
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
}
