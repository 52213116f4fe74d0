//! `<Table>/batch/`: many items at once, a line of JSON each.
//!
//! ```text
//! put insert delete get   open.rs    each line for itself; a bad one spoils no other
//! atomic                  atomic.rs  all lines or none
//! result.json             report.rs  how the session's last batch of the table went
//! line.rs                 what a line asks for
//! ```
//!
//! When does a bad line show? The rest of a long input must go on, and a shell looks at nothing but its writes. So a write of less
//! than `SHORT_WRITE_BYTES` that ends a line fails when a line since the last failure was bad: it is an `echo`, a `printf`, or the end of what
//! a program buffered. Any bad line that no write told of is told by the close. What the write holds is done either way.

mod atomic;
mod line;
mod lines;
mod open;
pub mod report;

use std::sync::Arc;

use super::{Special, SpecialNode, help};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::handle::Handle;
use crate::fs::journal::session_of;
use crate::fs::node::{Kind as NodeKind, Node};
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree, listed};
use crate::fs::view::{OpenFlags, View};
use crate::model::TableName;

/// The name in its table's directory.
pub const NAME: &str = "batch";

const RESULT_NAME: &str = "result.json";
/// The least that programs write of a longer output at a time.
const SHORT_WRITE_BYTES: usize = 4 * 1024;

/// What is done with each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Put,
    Insert,
    Delete,
    Get,
    Atomic,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Atomic, Self::Delete, Self::Get, Self::Insert, Self::Put];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Atomic => "atomic",
        }
    }

    /// What the lines that were done are called.
    #[must_use]
    pub fn done_name(self) -> &'static str {
        match self {
            Self::Put | Self::Insert | Self::Delete | Self::Atomic => "committed",
            Self::Get => "found",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Put => "write items, a line of JSON each; how it went is in result.json, more in help\n",
            Self::Insert => {
                "write items that are not there yet, a line of JSON each; how it went is in result.json, more in help\n"
            }
            Self::Delete => "write keys, items or paths, a line each; how it went is in result.json, more in help\n",
            Self::Get => "write keys, items or paths, a line each; the items are in result.json, more in help\n",
            Self::Atomic => "write items or actions, a line of JSON each: all are done or none, more in help\n",
        }
    }
}

#[derive(Debug)]
struct Directory {
    table: TableName,
    path: String,
}

/// Of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Directory { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Directory {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn kind(&self) -> NodeKind {
        NodeKind::Directory
    }

    fn resolve(&self, _tree: &Tree, name: &str) -> Result<Node, FsError> {
        match name {
            RESULT_NAME => Ok(result_node(&self.table)),
            help::NAME => Ok(help::node(&self.path, help::BATCH, node(&self.table))),
            _ => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(FsError::NotFound)?;
                Ok(file_node(&self.table, kind))
            }
        }
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        tree.schema(&self.table)?;
        let files = Kind::ALL.into_iter().map(|kind| listed(&file_node(&self.table, kind), kind.name()));
        let result = listed(&result_node(&self.table), RESULT_NAME);
        Ok(Box::new(FixedLister::new(files.chain([result]).collect())))
    }
}

#[derive(Debug)]
struct BatchFile {
    table: TableName,
    kind: Kind,
    path: String,
}

fn file_node(table: &TableName, kind: Kind) -> Node {
    SpecialNode::node(BatchFile { table: table.clone(), kind, path: format!("{}/{NAME}/{}", table_name(table), kind.name()) })
}

impl Special for BatchFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        node(&self.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(self.kind.usage().as_bytes().to_vec())
    }

    fn open_for_writing(&self, view: &Arc<View>, caller: Caller, _ino: u64, _flags: OpenFlags) -> Result<Handle, FsError> {
        view.tree().schema(&self.table)?;
        Ok(Handle::Special(Arc::new(open::OpenBatch::new(&self.table, self.kind, self.path.clone(), caller))))
    }
}

#[derive(Debug)]
struct ResultFile {
    table: TableName,
    path: String,
}

fn result_node(table: &TableName) -> Node {
    SpecialNode::node(ResultFile { table: table.clone(), path: format!("{}/{NAME}/{RESULT_NAME}", table_name(table)) })
}

impl Special for ResultFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        node(&self.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn text(&self, tree: &Tree, caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(tree.service.batches.text(session_of(caller.pid), &self.table))
    }
}
