//! A database that is another service's: the operations of the API over whatever transports them, and a mount's questions answered by them.
//!
//! ```text
//! browse     what a mount asks, by the operations alone
//! client     the operations as a Database: typed request -> body -> Service -> typed answer
//! shards     the shards of a stream as one
//! service    what transports a body and brings the answer
//! budget     a Service before another: limits, and what was spent, also as metrics             consumption  what a request consumed
//! aws/       a Service over HTTP: credentials, signatures, time-outs, repeats
//! ```

pub mod aws;
pub mod browse;
pub mod budget;
pub mod client;
mod consumption;
pub mod service;
mod shards;

pub use browse::{RemoteDatabase, RemoteOptions};
pub use budget::RemoteLayout;
pub use client::Client;
pub use service::{Answer, Service};
