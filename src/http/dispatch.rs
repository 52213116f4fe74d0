//! Runs a request of the protocol without holding a thread of the connections longer than it works.
//!
//! Requests on single items run where they are called: they are short and never wait for a writer. Writes wait for the commit without a
//! thread, unless nobody else writes: then their own thread makes it. What reads much or is large runs on a thread of [`LongRequests`], a few
//! at a time, so that the threads of the connections are always there for the others.
//!
//! A request waits for its turn before anything is made of it. What it will need at most is known from its body alone: [`crate::protocol::memory`].

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

/// A request that was run: its answer's body, or whom to wait for.
#[allow(missing_debug_implementations)]
pub enum Begun {
    Done(Vec<u8>),
    Waits(oneshot::Receiver<Finish>),
}

/// Runs one request. `host` is what the client calls this server; `may_wait`, whether no other connection needs this thread.
///
/// # Errors
/// What the request or its operation failed with.
pub fn begin(
    operation: &Operation,
    json: Document,
    (database, host): (&Arc<dyn Database>, &str),
    may_wait: bool,
) -> Result<Begun, Failure> {
    // A client that asks where the service is is to ask here again.
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
    // The receiver is gone when the client is: nobody to tell.
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
    /// The answer's body.
    ///
    /// # Errors
    /// What the operation failed with.
    pub async fn ended(self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Done(body) => Ok(body),
            Self::Waits(receiver) => receiver
                .await
                .map_or_else(|_| Err(closed()), |finish| finish()),
        }
    }
}

/// A request with a body of at most this many bytes that reads or writes single items runs where its connection is.
const SHORT_BODY_BYTES: usize = 32 * 1024;
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
        Self {
            turns: Arc::new(Semaphore::new(PER_PROCESSOR * processors)),
        }
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
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
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
