//! Files and directories beside tables, items and queries, each in one source file: what it says, what may be done to it. Most are
//! there for lookup only (docs/filesystem.md 0): they are in no listing.
//!
//! A file that is a text, and perhaps takes commands, is a row of [`derived`] and a function. What needs more is a type with
//! [`crate::fs::open::node_ops::NodeOps`], in one file that makes its node too; a row of the table of names of its directory finds it.
//! A file that takes more than one read or write answers an open with an [`crate::fs::open::text::OpenSpecial`].

mod about;
mod absence;
mod api;
pub mod batch;
pub mod derived;
pub mod dropped;
mod heat;
pub mod help;
pub mod index_draft;
pub mod partitions;
pub mod queries;
pub mod schema;
pub mod scratch;
pub mod service;
pub mod stream;
mod table_files;
