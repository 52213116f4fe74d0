//! Runs a request of the protocol without blocking a connection's thread longer than it works.
//!
//! Requests on single items run where they are called: they are short and never wait for a writer.
//! Writes wait for the commit without a thread, unless there is no other writer: then their own
//! thread commits. Long reads and large requests run on a thread of [`LongRequests`], a few at a
//! time, so that the threads of the connections stay available.
//!
//! A request waits for its turn before it is parsed. Its maximal need of memory is known from its
//! body alone: [`crate::protocol::memory`].

use std::sync::Arc;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::block_in_place;

use crate::codec::json::document::Document;
use crate::database::Database;
use crate::model::api::operation::Way;
use crate::model::api::{CallContext, CommitInline};
use crate::protocol::memory::may_have;
use crate::protocol::operation::{Finish, closed};
use crate::protocol::{Answered, Context, Failure, Length, Operation};

/// A started request: the body of its answer, or the channel on which it will come.
#[allow(missing_debug_implementations)]
pub enum Begun {
    Done(Vec<u8>),
    Waits(oneshot::Receiver<Finish>),
}

/// Starts one request. `host` is the client's name of this server; `may_wait` is true if no other
/// connection needs this thread.
///
/// # Errors
/// The failure of the request or its operation.
pub fn begin(
    operation: &Operation,
    json: Document,
    database: &Arc<dyn Database>,
    host: &str,
    may_wait: bool,
) -> Result<Begun, Failure> {
    // A client that asks for the endpoint must get this server.
    let operation = if operation.name == "DescribeEndpoints" {
        *operation
    } else {
        operation.on(&**database)
    };
    let context = Context {
        operation: operation.name,
        database: database.as_ref(),
        host,
    };
    let (sender, mut receiver) = oneshot::channel();
    // A dropped receiver means that the client is gone.
    let by = match operation.way {
        Way::Writes if may_wait => CallContext::default().waited(),
        // The runtime moves the other connections away from this thread.
        Way::Writes => CallContext {
            commit_inline: Some(CommitInline::Within(|commit| block_in_place(commit))),
            ..CallContext::default()
        },
        Way::Reads | Way::Controls | Way::Passes => CallContext::default(),
    };
    let start = || {
        (operation.handler)(
            json,
            &context,
            Answered::new(by, move |finish| drop(sender.send(finish))),
        )
    };
    match operation.way {
        Way::Controls | Way::Passes if !may_wait => block_in_place(start),
        _ => start(),
    }?;
    match receiver.try_recv() {
        Ok(finish) => finish().map(Begun::Done),
        Err(TryRecvError::Empty) => Ok(Begun::Waits(receiver)),
        Err(TryRecvError::Closed) => Err(closed()),
    }
}

impl Begun {
    /// Waits for the body of the answer.
    ///
    /// # Errors
    /// The failure of the operation, or of its thread.
    pub async fn ended(self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Done(body) => Ok(body),
            Self::Waits(receiver) => receiver
                .await
                .map_or_else(|_| Err(closed()), |finish| finish()),
        }
    }
}

/// The length in bytes up to which the body of a single-item request lets it run on its
/// connection's thread.
const SHORT_BODY_BYTES: usize = 32 * 1024;
/// The threads for long requests, for each processor.
const PER_PROCESSOR: usize = 4;
/// The turns of long requests.
#[derive(Debug)]
pub struct LongRequests {
    turns: Arc<Semaphore>,
}

impl Default for LongRequests {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            turns: Arc::new(Semaphore::new(PER_PROCESSOR * processors)),
        }
    }
}

impl LongRequests {
    /// True if such a request runs on its connection's thread.
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

    /// Runs `work` on a thread of its own when it is its turn; `None` if it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // The work releases the turn, not its waiter: a client that leaves ends the wait only.
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
            assert_eq!(
                LongRequests::is_short(crate::protocol::find(name), body.as_bytes(), false),
                expected,
                "{name} {body}"
            );
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
