//! The filesystem view (docs/filesystem.md): filesystem paths to nodes, nodes to bytes, bytes to
//! requests. Does not depend on fuser.
//!
//! Inner layers, from the top. A file imports only from layers below its own, and no files of a
//! layer import each other in a circle (checked by `tests/tidy`):
//!
//! ```text
//! view/     one method for each system call; the state that calls leave behind: reads, pending deletes
//! tree/     maps each kind of node to its operations; the directories with fixed names
//! special/  files and directories beside the data: each a row and a function, or a type that does all of it in one file
//! source/   nodes of data, and files beside an item: items, collections, definitions, queries
//! open/     open files and directories, the operations of a node (`node_ops.rs`), and the state of the mount that they share (`host/`)
//! mount/    the state of a mount: the database, and the data in memory beside it
//! node/     parsed paths as plain data, which may carry behaviour; their inode numbers
//! write/    the effect of written text: state machines, without I/O or locks
//! query/    query/ and scan/ paths: clauses, requests, results
//! path/     names: of keys, tables, scratch files
//! error.rs  options.rs  process.rs   FsError and its errno; options of a mount; the calling process
//! ttl_map.rs  maps of recent events, bounded in entries and age; the time
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
pub mod source;
pub mod special;
pub mod tree;
pub mod ttl_map;
pub mod view;
pub mod write;

pub use error::FsError;
pub use view::View;
