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

use super::help;
use crate::fs::mount::reports::BatchKind;
use crate::fs::open::prelude::*;
use crate::fs::{open::found::Names, process::session_of};

const RESULT_NAME: &str = "result.json";

const NAMES: Names<Special> = Names(&[
    ("atomic", true, |_, at| {
        lines(at, BatchKind::Atomic, "write items or actions, a line of JSON each: all are done or none, more in help\n")
    }),
    ("delete", true, |_, at| {
        let usage = "write keys, items or paths, a line each; how it went is in result.json, more in help\n";
        lines(at, BatchKind::Delete, usage)
    }),
    ("get", true, |_, at| {
        let usage = "write keys, items or paths, a line each; the items are in result.json, more in help\n";
        lines(at, BatchKind::Get, usage)
    }),
    ("insert", true, |_, at| {
        let usage = "write items that are not there yet, a line of JSON each; how it went is in result.json, more in help\n";
        lines(at, BatchKind::Insert, usage)
    }),
    ("put", true, |_, at| {
        let usage = "write items, a line of JSON each; how it went is in result.json, more in help\n";
        lines(at, BatchKind::Put, usage)
    }),
    (RESULT_NAME, true, |_, at| Ok(at.child(RESULT_NAME, ResultFile).into())),
    (HELP_NAME, false, |_, at| Ok(help::node(&at.path, help::BATCH, at.source.clone()))),
]);

/// `batch/` of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    Special::directory_in_table(table, BATCH_NAME, Directory).into()
}

fn lines(at: &Special, kind: BatchKind, usage: &'static str) -> Result<Node, FsError> {
    Ok(at.child(kind.name(), LinesFile { kind, usage }).writable().into())
}

struct Directory;

impl Room for Directory {
    fn resolve(&self, at: &SpecialNode, mount: &Mount, name: &str) -> Result<Node, FsError> {
        NAMES.resolve(mount, at, name)
    }

    fn list(&self, at: &SpecialNode, mount: &Mount) -> Result<Vec<Listed>, FsError> {
        mount.schema(at.of_table()?)?;
        Ok(NAMES.list(mount, at))
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}

/// A file that takes lines.
struct LinesFile {
    kind: BatchKind,
    usage: &'static str,
}

impl Room for LinesFile {
    fn text(&self, _at: &Special, _mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(self.usage.as_bytes().to_vec())
    }

    fn open_writer(&self, at: &SpecialNode, host: &Arc<Host>, caller: Caller, _flags: OpenFlags) -> Result<Handle, FsError> {
        let table = at.of_table()?;
        host.mount().schema(table)?;
        Ok(Handle::Special(Arc::new(open::OpenBatch::new(table, self.kind, at.path.clone(), caller))))
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}

struct ResultFile;

impl Room for ResultFile {
    fn text(&self, at: &Special, mount: &Mount, caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(mount.batches.text(session_of(caller.pid), at.of_table()?))
    }

    fn is_judged_by_request(&self) -> bool {
        true
    }
}
