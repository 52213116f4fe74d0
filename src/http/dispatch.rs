//! Runs a request of the protocol without holding a thread of the connections longer than it works.
//!
//! Requests on single items run where they are called: they are short and never wait for a writer. Writes wait for the commit without a
//! thread, unless nobody else writes: then their own thread makes it. What reads much or is large runs on a thread of [`super::long_requests`].

use std::sync::Arc;

use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::block_in_place;

use crate::codec::json::document::Document;
use crate::database::Database;
use crate::model::api::CallContext;
use crate::model::api::operation::Way;
use crate::protocol::operation::{Finish, closed};
use crate::protocol::{Answered, Context, Failure, Operation};

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
    let operation = if operation.name == "DescribeEndpoints" { *operation } else { operation.on(&**database) };
    let context = Context { operation: operation.name, database: database.as_ref(), host };
    let (sender, mut receiver) = oneshot::channel();
    // The receiver is gone when the client is: nobody to tell.
    let by = match operation.way {
        Way::Writes if may_wait => CallContext::default().waited(),
        // The runtime moves the other connections away from this thread.
        Way::Writes => CallContext { commit_inline: Some(|commit| block_in_place(commit)), ..CallContext::default() },
        Way::Reads | Way::Controls | Way::Passes => CallContext::default(),
    };
    let start = || (operation.handler)(json, &context, Answered::new(by, move |finish| drop(sender.send(finish))));
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
            Self::Waits(receiver) => receiver.await.map_or_else(|_| Err(closed()), |finish| finish()),
        }
    }
}
