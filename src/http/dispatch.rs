//! Runs a request of the protocol without holding a thread of the server longer than it works.
//!
//! Reads run where they are called: they are short and never wait for a writer. Writes wait for the commit without a thread. What
//! blocks says so, and the runtime moves the other connections away from it.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::block_in_place;

use crate::database::Database;
use crate::protocol::operation::closed;
use crate::protocol::{Answered, Context, Failure, Handler, Operation};

/// Runs one request. `host` is what the client calls this server.
///
/// # Errors
/// What the request or its operation failed with.
pub async fn run(operation: &Operation, json: Value, database: &Arc<dyn Database>, host: &str) -> Result<Vec<u8>, Failure> {
    let context = Context { operation: operation.name, database: database.as_ref(), host };
    match operation.handler {
        Handler::Read(run) => run(&json, &context),
        Handler::Blocking(run) => block_in_place(|| run(json, &context)),
        Handler::Started(start) => {
            let (sender, receiver) = oneshot::channel();
            // The receiver is gone when the client is: nobody to tell.
            start(json, &context, Answered::new(move |finish| drop(sender.send(finish))))?;
            receiver.await.map_or_else(|_| Err(closed()), |finish| finish())
        }
    }
}
