//! The test vectors of the SEMANTICS reference (Appendix B, and its sections 26 and 27), over HTTP with the bodies of the wire.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod http_support;
mod semantics;
mod vector_file;
