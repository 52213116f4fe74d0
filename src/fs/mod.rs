//! The filesystem view (docs/filesystem.md): filesystem paths to nodes, nodes to bytes, bytes to requests. Knows no fuser.
//!
//! Inner layers, from the top; a file imports only from layers below its own, and no files of a layer import each other in a circle
//! (held by `tests/tidy`):
//!
//! ```text
//! view/     a method a system call; what calls leave behind: who read what, what waits to be deleted
//! tree/     maps each kind of node to its operations; the directories whose names are fixed
//! special/  files and directories beside the data: a row and a function each, or a type that does all of it in one file
//! source/   what nodes read that are data, and what is beside an item: items, collections, definitions, queries
//! open/     open files and directories, the operations of a node (`node_ops.rs`), and the state of the mount that they share (`host/`)
//! mount/    what a mount is: the database, and what lives in memory beside it
//! node/     what a path means, as plain data that may carry what it does; its inode number
//! write/    what a written text becomes: state machines, without I/O or locks
//! query/    query/ and scan/ paths: clauses, requests, results
//! path/     names: of keys, tables, scratch files
//! error.rs  options.rs  process.rs   FsError and its errno; what a mount decides; who calls
//! recent.rs  short memories of who did what; the time
//! ```

pub mod error;
pub mod mount;
pub mod node;
pub mod open;
pub mod options;
pub mod path;
mod prelude;
pub mod process;
pub mod query;
pub mod recent;
pub mod source;
pub mod special;
pub mod tree;
pub mod view;
pub mod write;

pub use error::FsError;
pub use view::View;
