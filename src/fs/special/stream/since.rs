//! `<Table>/stream/since/<seq>.ndjson`: the changes after that one, as far as there are any now. For lookup only.

use std::sync::Arc;

use parking_lot::Mutex;

use super::records::{Records, after};
use super::{Special, SpecialNode, line};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::handle::Handle;
use crate::fs::node::{Kind, Node};
use crate::fs::special::OpenSpecial;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{Bytes, Reply, View};
use crate::model::TableName;
use crate::model::api::ShardPosition;

/// The name in `stream/`.
pub const NAME: &str = "since";

const SUFFIX: &str = ".ndjson";
/// Records of one page.
const PAGE_RECORDS: u32 = 1_000;

#[derive(Debug)]
struct Directory {
    table: TableName,
    path: String,
}

/// The directory.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Directory { table: table.clone(), path: format!("{}/{}/{NAME}", table_name(table), super::NAME) })
}

impl Special for Directory {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        super::node(&self.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn resolve(&self, _tree: &Tree, name: &str) -> Result<Node, FsError> {
        let position = after(name.strip_suffix(SUFFIX).ok_or(FsError::NotFound)?)?;
        Ok(SpecialNode::node(Since { table: self.table.clone(), position, path: format!("{}/{name}", self.path) }))
    }

    fn lister(&self, _tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        Ok(Box::<FixedLister>::default())
    }
}

#[derive(Debug)]
struct Since {
    table: TableName,
    position: ShardPosition,
    path: String,
}

impl Special for Since {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        node(&self.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    /// As of a query's result: the size is known when it was read.
    fn text(&self, _tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(Vec::new())
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        super::of_table(tree, &self.table)?;
        tree.table_time(&self.table)
    }

    fn open_for_reading(&self, view: &Arc<View>, _caller: Caller) -> Result<Handle, FsError> {
        let reading = Reading::start(view.tree(), &self.table, self.position)?;
        let open = OpenSince { table: self.table.clone(), position: self.position, reading: Mutex::new(reading) };
        Ok(Handle::Special(Arc::new(open)))
    }
}

#[derive(Debug)]
struct OpenSince {
    table: TableName,
    position: ShardPosition,
    reading: Mutex<Reading>,
}

#[derive(Debug)]
struct Reading {
    records: Records,
    /// Lines from file offset `start` on.
    bytes: Vec<u8>,
    start: u64,
}

impl Reading {
    fn start(tree: &Tree, table: &TableName, position: ShardPosition) -> Result<Self, FsError> {
        let records = Records::at(tree, super::of_table(tree, table)?, position)?;
        Ok(Self { records, bytes: Vec::new(), start: 0 })
    }

    fn read(&mut self, tree: &Tree, offset: u64, size: usize) -> Result<Vec<u8>, FsError> {
        let end = offset.saturating_add(size as u64);
        while self.start + (self.bytes.len() as u64) < end {
            // What lies before is not asked for again by a program that reads on.
            let passed = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.bytes.len());
            self.bytes.drain(..passed);
            self.start += passed as u64;
            let page = self.records.next(tree, PAGE_RECORDS)?;
            if page.is_empty() {
                break;
            }
            page.iter().for_each(|record| line::write(record, &mut self.bytes));
        }
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.bytes.len());
        let to = from.saturating_add(size).min(self.bytes.len());
        Ok(self.bytes.get(from..to).unwrap_or_default().to_vec())
    }
}

impl OpenSince {
    fn read_now(&self, tree: &Tree, offset: u64, size: usize) -> Result<Vec<u8>, FsError> {
        let mut reading = self.reading.lock();
        if offset < reading.start {
            *reading = Reading::start(tree, &self.table, self.position)?;
        }
        reading.read(tree, offset, size)
    }
}

impl OpenSpecial for OpenSince {
    fn read(self: Arc<Self>, view: &Arc<View>, caller: Caller, offset: u64, size: usize, reply: Reply<Bytes>) {
        let again = Arc::clone(view);
        view.run_elsewhere(Box::new(move || {
            let read = self.read_now(again.tree(), offset, size).map(Bytes::own);
            reply(again.noted_at(caller, "read", || format!("{}/stream/since", self.table), read));
        }));
    }
}
