//! The DynamoDB HTTP API: `POST /` with JSON 1.0, as the AWS SDKs and command line use it
//! (docs/dynamodb.md 1).
//!
//! ```text
//! server       listener, connections, shutdown          origin       allowed hosts and origins of web pages
//! route        one request to one reply, in order       auth         presence of a signature
//! dispatch     runs an operation of crate::protocol     sigv4        verification of a signature
//! body         bodies within limits                     compression  gzip and deflate
//! reply        headers, bodies, request ids, failures   peer         user of the process at the other end
//! connections  limit of connections, and their time-outs; their memory is crate::store::budget's
//! ```
//!
//! Bounds: 16 KB of head, 16 MiB of body, sent or inflated, 1,024 connections (the longest idle is
//! closed), 128 MiB for a request and its working memory; bodies, large requests and answers have
//! their shares of the memory of the process, for which they wait up to a minute; 5 seconds for a
//! head, 10 for the next byte of a body or for an answer to be taken, both at no less than 16 KiB a
//! second, 60 seconds between requests. A panic in a handler is an InternalServerError of its
//! request.

pub mod auth;
pub mod body;
pub mod compression;
pub mod connections;
pub mod dispatch;
pub mod origin;
pub mod peer;
pub mod reply;
pub mod route;
pub mod server;
pub mod sigv4;

pub use connections::Timeouts;
pub use server::{HttpOptions, RunningServer, Server};
