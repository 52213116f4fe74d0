//! A database that is another service's: the operations of the API over whatever transports them.
//!
//! ```text
//! client     the operations as a Database: typed request -> body -> Service -> typed answer
//! control    what it has of the control plane
//! shards     the shards of a stream as one
//! workers    threads for requests that nobody waits for where they are made
//! service    what transports a body and brings the answer
//! aws/       a Service over HTTP: credentials, signatures, time-outs, repeats
//! ```

pub mod aws;
pub mod client;
mod control;
pub mod service;
mod shards;
mod workers;

pub use client::Client;
pub use service::Service;
