//! Files and directories beside tables, items and queries. Each source file has one of them: its
//! text, and the operations it takes. Most are found by lookup only (docs/filesystem.md 0): no
//! listing has them.
//!
//! A file that is a text, and perhaps takes commands, is a row of [`derived`] and a function. A
//! file that needs more is a type with [`crate::fs::open::node_ops::NodeOps`], in one source file
//! that makes its node too; a row of its directory's table of names finds it. A file that takes
//! more than one read or write answers an open with an [`crate::fs::open::text::SpecialHandle`].

pub mod absence;
mod api;
pub mod batch;
pub mod derived;
pub mod discarded_writes;
mod expected;
mod heat;
pub mod help;
pub mod index_draft;
mod info;
pub mod partitions;
pub mod queries;
pub mod schema;
pub mod scratch;
pub mod service;
pub mod stream;
mod table_files;
