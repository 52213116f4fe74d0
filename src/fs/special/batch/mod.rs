//! `<Table>/batch/`: many items at once, a line of JSON each.
//!
//! ```text
//! put insert delete get   open.rs    each line for itself; a bad one spoils no other
//! atomic                  atomic.rs  all lines or none
//! result.json                         how the session's last batch of the table went
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

use std::sync::Arc;

use super::help;
use super::room::Room;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::node::special::{BatchFile, BatchKind, Feature, Special, SpecialNode};
use crate::fs::open::OpenFlags;
use crate::fs::open::directory::{FixedLister, Lister};
use crate::fs::open::found::listed;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::path::{BATCH_NAME, HELP_NAME};
use crate::fs::process::{Caller, session_of};
use crate::model::TableName;

const RESULT_NAME: &str = "result.json";

fn usage(kind: BatchKind) -> &'static str {
    match kind {
        BatchKind::Put => "write items, a line of JSON each; how it went is in result.json, more in help\n",
        BatchKind::Insert => {
            "write items that are not there yet, a line of JSON each; how it went is in result.json, more in help\n"
        }
        BatchKind::Delete => "write keys, items or paths, a line each; how it went is in result.json, more in help\n",
        BatchKind::Get => "write keys, items or paths, a line each; the items are in result.json, more in help\n",
        BatchKind::Atomic => "write items or actions, a line of JSON each: all are done or none, more in help\n",
    }
}

/// `batch/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, BATCH_NAME, Feature::Batch(BatchFile::Directory)).into()
}

fn lines_node(at: &Special, kind: BatchKind) -> Node {
    at.child(kind.name(), Feature::Batch(BatchFile::Lines(kind))).writable().into()
}

fn result_node(at: &Special) -> Node {
    at.child(RESULT_NAME, Feature::Batch(BatchFile::Result)).into()
}

impl Room for BatchFile {
    fn resolve(&self, at: &SpecialNode, _mount: &Mount, name: &str) -> Result<Node, FsError> {
        match (self, name) {
            (Self::Lines(_) | Self::Result, _) => Err(FsError::NotDirectory),
            (Self::Directory, RESULT_NAME) => Ok(result_node(at)),
            (Self::Directory, HELP_NAME) => Ok(help::node(&at.path, help::BATCH, at.source.clone())),
            (Self::Directory, _) => {
                let kind = BatchKind::ALL.into_iter().find(|kind| kind.name() == name);
                kind.map(|kind| lines_node(at, kind)).ok_or(FsError::NotFound)
            }
        }
    }

    fn lister(&self, at: &SpecialNode, mount: &Mount) -> Result<Box<dyn Lister>, FsError> {
        let Self::Directory = self else { return Err(FsError::NotDirectory) };
        mount.schema(at.table().ok_or(FsError::NotFound)?)?;
        let files = BatchKind::ALL.into_iter().map(|kind| listed(&lines_node(at, kind), kind.name()));
        Ok(Box::new(FixedLister::new(files.chain([listed(&result_node(at), RESULT_NAME)]).collect())))
    }

    fn text(&self, at: &Special, mount: &Mount, caller: Caller) -> Result<Vec<u8>, FsError> {
        match self {
            Self::Directory => Err(FsError::IsDirectory),
            Self::Lines(kind) => Ok(usage(*kind).as_bytes().to_vec()),
            Self::Result => Ok(mount.batches.text(session_of(caller.pid), at.table().ok_or(FsError::NotFound)?)),
        }
    }

    fn open_for_writing(
        &self,
        at: &SpecialNode,
        host: &Arc<dyn Host>,
        caller: Caller,
        _flags: OpenFlags,
    ) -> Result<Handle, FsError> {
        let Self::Lines(kind) = self else { return Err(FsError::Derived) };
        let table = at.table().ok_or(FsError::NotFound)?;
        host.mount().schema(table)?;
        Ok(Handle::Special(Arc::new(open::OpenBatch::new(table, *kind, at.path.clone(), caller))))
    }
}
