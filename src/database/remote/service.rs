//! What a client speaks through: a transport to a service with the API.

use crate::model::Error;

/// Takes the body of a request to a service and brings the body of its answer. Blocks; knows nothing of what is in them.
pub trait Service: Send + Sync {
    /// Sends the request of an operation, `GetItem`; the operations of DynamoDB Streams too.
    ///
    /// # Errors
    /// What the service answered instead, as [`crate::codec::wire::fault::read`] tells it, or why there is no answer.
    fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>, Error>;

    /// How often the service throttled what was then asked again, so far.
    fn throttles(&self) -> u64 {
        0
    }
}

/// Does the operation leave everything as it is, by its name? One that nobody knows may write. What PartiQL does is in its statements.
#[must_use]
pub fn is_read(operation: &str) -> bool {
    const READS: [&str; 7] = ["Get", "BatchGet", "TransactGet", "Describe", "List", "Query", "Scan"];
    READS.iter().any(|read| operation.starts_with(read))
}

/// Does it cost nothing, however often it is asked? What makes something that is paid for by the hour is not free.
#[must_use]
pub fn is_free(operation: &str) -> bool {
    const FREE: [&str; 6] =
        ["GetShardIterator", "GetResourcePolicy", "DeleteTable", "TagResource", "UntagResource", "UpdateTimeToLive"];
    operation.starts_with("Describe") || operation.starts_with("List") || FREE.contains(&operation)
}
