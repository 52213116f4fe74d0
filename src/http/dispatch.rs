//! The dispatcher: runs a request of the protocol without blocking a connection's thread longer
//! than it works. `route` calls it with a checked request.
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
use crate::codec::wire::UnitCounter;
use crate::database::Database;
use crate::model::api::operation::OperationKind;
use crate::model::api::{CallContext, CommitInline};
use crate::protocol::memory::may_contain;
use crate::protocol::operation::{BodyFn, closed_error};
use crate::protocol::{
    Operation, OperationLength, RequestContext, RequestError, ResponseCompletion,
};

/// A started request: the body of its answer, or the channel on which it will come.
#[allow(missing_debug_implementations)]
pub enum StartedRequest {
    Done(Vec<u8>),
    Pending(oneshot::Receiver<BodyFn>),
}

/// Starts one request. `host` is the client's name of this server; `may_wait` is true if no other
/// connection needs this thread; `units` counts what the request consumes.
///
/// # Errors
/// The failure of the request or its operation.
pub fn start(
    operation: &Operation,
    json: Document,
    database: &Arc<dyn Database>,
    host: &str,
    may_wait: bool,
    units: &UnitCounter,
) -> Result<StartedRequest, RequestError> {
    // A client that asks for the endpoint must get this server.
    let operation = if operation.name == "DescribeEndpoints" {
        *operation
    } else {
        operation.for_database(&**database)
    };
    let context = RequestContext {
        operation: operation.name,
        database: database.as_ref(),
        host,
        units,
    };
    let (sender, mut receiver) = oneshot::channel();
    // A dropped receiver means that the client is gone.
    let by = match operation.kind {
        OperationKind::Write if may_wait => CallContext::default().blocking(),
        // The runtime moves the other connections away from this thread.
        OperationKind::Write => CallContext {
            commit_inline: Some(CommitInline::Within(|commit| block_in_place(commit))),
            ..CallContext::default()
        },
        OperationKind::Read | OperationKind::Control | OperationKind::PassThrough => {
            CallContext::default()
        }
    };
    let start = || {
        (operation.handler)(
            json,
            &context,
            ResponseCompletion::new(by, move |finish| drop(sender.send(finish))),
        )
    };
    match operation.kind {
        OperationKind::Control | OperationKind::PassThrough if !may_wait => block_in_place(start),
        _ => start(),
    }?;
    match receiver.try_recv() {
        Ok(finish) => finish().map(StartedRequest::Done),
        Err(TryRecvError::Empty) => Ok(StartedRequest::Pending(receiver)),
        Err(TryRecvError::Closed) => Err(closed_error()),
    }
}

impl StartedRequest {
    /// Waits for the body of the answer.
    ///
    /// # Errors
    /// The failure of the operation, or of its thread.
    pub async fn finish(self) -> Result<Vec<u8>, RequestError> {
        match self {
            Self::Done(body) => Ok(body),
            Self::Pending(receiver) => receiver
                .await
                .map_or_else(|_| Err(closed_error()), |finish| finish()),
        }
    }
}

/// The length in bytes up to which the body of a single-item request lets it run on its
/// connection's thread.
const SHORT_BODY_BYTES: usize = 32 * 1024;
/// The threads for long requests, for each processor.
const THREADS_PER_PROCESSOR: usize = 4;
/// The turns of long requests.
#[derive(Debug)]
pub struct LongRequests {
    permits: Arc<Semaphore>,
}

impl Default for LongRequests {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            permits: Arc::new(Semaphore::new(THREADS_PER_PROCESSOR * processors)),
        }
    }
}

impl LongRequests {
    /// True if such a request runs on its connection's thread.
    #[must_use]
    pub fn is_short(operation: Option<&Operation>, body: &[u8], is_coded: bool) -> bool {
        let length = operation.map_or(OperationLength::Short, |operation| operation.length);
        !is_coded
            && body.len() <= SHORT_BODY_BYTES
            && match length {
                OperationLength::Short => true,
                OperationLength::LongWithFilter => !may_contain(body, b"Filter"),
                OperationLength::LongByRows | OperationLength::Long => false,
            }
    }

    /// Runs `work` on a thread of its own when it is its turn; `None` if it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // The work releases the turn, not its waiter: a client that leaves ends the wait only.
        let turn = Arc::clone(&self.permits).acquire_owned().await.ok()?;
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
