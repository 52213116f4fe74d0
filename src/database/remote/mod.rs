//! A database at a remote service: the operations of the API over a transport, and a mount's reads
//! answered by those operations.
//!
//! ```text
//! browse     the reads of a mount, by the operations alone
//! client     the operations as a Database: typed request -> body -> Transport -> typed answer
//! shards     the shards of a stream as one
//! transport  trait Transport: a request body and its answer
//! budget     a Transport before another: limits and spending, also as metrics
//! consumption  the capacity that a request consumed
//! rates      the limits of units a second     ledger     the spending of a day, shared by processes
//! aws/       a Transport over HTTP: credentials, signatures, time-outs, retries
//! ```

pub mod aws;
pub mod browse;
pub mod budget;
pub mod client;
mod consumption;
pub mod ledger;
pub mod rates;
mod shards;
pub mod transport;

pub use browse::{RemoteDatabase, RemoteOptions};
pub use budget::RemoteLayout;
pub use client::Client;
pub use transport::{AnswerBody, Transport};
