//! What a client speaks through: a transport to a service with the API.

use crate::model::Error;

/// Takes the body of a request to a service and brings the body of its answer. Blocks; knows nothing of what is in them.
pub trait Service: Send + Sync {
    /// Sends the request of an operation, `GetItem`; the operations of DynamoDB Streams too.
    ///
    /// # Errors
    /// What the service answered instead, as [`crate::codec::wire::fault::read`] tells it, or why there is no answer.
    fn call(&self, operation: &'static str, body: &[u8]) -> Result<Vec<u8>, Error>;
}
