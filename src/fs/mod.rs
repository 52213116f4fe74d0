//! The filesystem view (FILESYSTEM.md): filesystem paths to nodes, nodes to bytes, bytes to requests. Knows no fuser.
//!
//! ```text
//! view.rs        what the shell calls: lookup, getattr, open, read, write, readdir, …; one method a call, each a few lines
//! node.rs        Node: what a filesystem path means; its inode number
//! tree/          one file per kind of directory: lookup a name, list names, render a file
//! write/         per-handle write state machine, incremental JSON check, scratch files, draft tables
//! query/         query/ and scan/ paths: clauses, results, listings
//! error.rs       FsError, its errno and its sentence; journal.rs keeps the last one of each session
//! ```

pub mod error;
pub mod query;
pub mod tree;
pub mod write;

pub use error::FsError;
