//! A database that is another service's: the operations of the API over whatever transports them, and a mount's questions answered by them.
//!
//! ```text
//! browse     what a mount asks, by the operations alone
//! client     the operations as a Database: typed request -> body -> Service -> typed answer
//! chains     that pages move on
//! shards     the shards of a stream as one
//! layout     what this mount consumed, as metrics
//! service    what transports a body and brings the answer
//! budget     a Service before another: limits, and what was spent             consumption  what a request consumed
//! aws/       a Service over HTTP: credentials, signatures, time-outs, repeats
//! ```

pub mod aws;
pub mod browse;
pub mod budget;
mod chains;
pub mod client;
mod consumption;
pub mod layout;
pub mod service;
mod shards;

pub use browse::{RemoteDatabase, RemoteOptions};
pub use client::Client;
pub use layout::RemoteLayout;
pub use service::{Answer, Service};
