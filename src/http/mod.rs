//! The DynamoDB HTTP API: `POST /` with JSON 1.0, as the AWS SDKs and command line speak it (docs/dynamodb.md 1).
//!
//! ```text
//! server    listener, connections, shutdown            origin     which hosts and web pages may speak to it
//! route     one request to one reply, in order         auth       that there is a signature, in the header of authorization
//! dispatch  runs an operation of crate::protocol         target     X-Amz-Target
//! sigv4     whether a signature holds               sign_time  its date
//! error     failures to replies                        reply      headers, bodies, request ids
//! body      bodies within limits                    compression  gzip and deflate
//! timeouts  time of all connections; their memory is crate::store::budget's
//! connections   how many there are                   peer       whose process is at the other end
//! long_requests requests that take long or much memory
//! ```
//!
//! Bounds: 16 KB of head, 16 MiB of body, sent or inflated, 1,024 connections (the longest idle gives way), 128 MiB for a request
//! and what is made of it; bodies, large requests and answers within their parts of the memory of the process, for which they wait up to a minute; 5 seconds for a head, 10
//! for the next byte of a body or for an answer to be taken, both at no less than 16 KiB a second, 60 seconds between requests. A
//! panic in a handler is an InternalServerError of its request.

pub mod auth;
mod authorization;
pub mod body;
pub mod compression;
pub mod connections;
pub mod dispatch;
pub mod error;
pub mod long_requests;
pub mod origin;
pub mod peer;
pub mod reply;
pub mod route;
pub mod server;
pub mod sign_time;
pub mod sigv4;
pub mod target;
pub mod timeouts;

pub use server::{HttpOptions, RunningServer, Server};
pub use timeouts::Timeouts;
