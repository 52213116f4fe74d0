//! `<Table>/stream/since/<seq>.ndjson`: the changes after that one, as far as there are any now. For lookup only.

use super::records::{Records, after};
use super::{Special, SpecialNode, line};
use crate::database::Bill;
use crate::fs::FsError;
use crate::fs::computed::Producer;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::node::{Kind, Node};
use crate::fs::tree::{Tree, table_name};
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

    fn is_computed(&self) -> bool {
        true
    }

    fn producer(&self, tree: &Tree) -> Result<Box<dyn Producer>, FsError> {
        Ok(Box::new(Reading(Records::at(tree, super::of_table(tree, &self.table)?, self.position)?)))
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        super::of_table(tree, &self.table)?;
        tree.table_time(&self.table)
    }
}

/// Lines are made a page of records at a time, as far as there are any then.
#[derive(Debug)]
struct Reading(Records);

impl Producer for Reading {
    fn advance(&mut self, tree: &Tree, _bills: &mut Vec<Bill>, out: &mut Vec<u8>) -> Result<bool, FsError> {
        let page = self.0.next(tree, PAGE_RECORDS)?;
        page.iter().for_each(|record| line::write(record, out));
        Ok(!page.is_empty())
    }
}
