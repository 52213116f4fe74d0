//! ddbfs: mount a DynamoDB-compatible database and work with it as files.
//!
//! The layers, imports pointing only downward:
//!
//! ```text
//! cli/      commands; exit codes; progress
//! fuse/     the FUSE shell: convert, call fs, reply
//! http/     the DynamoDB HTTP API
//! fs/       the filesystem view; knows no fuser
//! database/ the DynamoDB operations as a trait; the local engine behind it
//! engine/   catalog, operations, index maintenance
//! store/    ordered bytes: LMDB and memory
//! expr/     expressions
//! codec/    ordered keys, records, JSON forms, filesystem names
//! model/    values, items, schemas, requests, errors
//! ```

pub mod cli;
pub mod codec;
pub mod database;
pub mod engine;
pub mod expr;
pub mod fs;
pub mod fuse;
pub mod http;
pub mod model;
pub mod store;
