//! The filesystem view (docs/filesystem.md): filesystem paths to nodes, nodes to bytes, bytes to requests. Knows no fuser.
//!
//! ```text
//! view/          what the shell calls: lookup, getattr, open, read, write, readdir, …; one method a call
//! node.rs        Node: what a filesystem path means; its inode number
//! inode_table.rs the nodes that the kernel knows by number; known_node.rs packs them
//! directory_stream.rs  readdir over listings of any size
//! handle.rs      open files and directories
//! budget.rs      the memory that they may hold
//! tree/          one file per kind of directory: lookup a name, list names, render a file
//! write/         per-handle write state machine, incremental JSON check, scratch files, draft tables
//! special/       files and directories beside the data, one source file each: what they say, what writing them does
//! query/         query/ and scan/ paths: clauses, results, listings
//! computed/      files that are made when somebody wants them: their bytes, their size, who pays
//! options.rs     what a mount decides: pretty, allow_drop, …
//! process.rs     which process calls
//! error.rs       FsError, its errno and its sentence; journal.rs keeps the last one of each session
//! ```

pub mod attr;
pub mod budget;
pub mod computed;
pub mod directory_stream;
pub mod error;
pub mod handle;
pub mod inode_table;
pub mod journal;
mod known_node;
mod memory_limit;
pub mod node;
pub mod options;
pub mod process;
pub mod query;
pub mod special;
pub mod tree;
pub mod view;
pub mod write;

pub use error::FsError;
pub use view::View;
