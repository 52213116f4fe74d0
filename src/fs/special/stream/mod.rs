//! `<Table>/stream/`: the changes of a table's items, from its stream. For lookup only; what is below it is listed unless it blocks.
//!
//! ```text
//! log.ndjson       log.rs      today's changes: a file that only grows
//! follow           follow.rs   changes from now on: waits for them. Never listed
//! since/<seq>.ndjson  since.rs changes after a sequence number. Never listed
//! records.rs       a place in a stream, page by page         line.rs   a change as a line
//! ```
//! A table has a new stream each time one is enabled; these files are of the newest.

pub mod follow;
pub mod line;
pub mod log;
pub mod records;
pub mod since;

use super::{Special, SpecialNode, help};
use crate::fs::FsError;
use crate::fs::directory_stream::{FixedLister, Lister};
use crate::fs::node::{Kind, Node};
use crate::fs::tree::table_name;
use crate::fs::tree::{Tree, listed};
use crate::model::TableName;
use crate::model::api::StreamName;

/// The name in its table's directory.
pub const NAME: &str = "stream";

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

/// The newest stream of a table.
///
/// # Errors
/// There is no table; it has no stream.
pub fn of_table(tree: &Tree, table: &TableName) -> Result<StreamName, FsError> {
    let description = tree.db.describe(table)?.ok_or(FsError::NotFound)?;
    match description.latest_stream_label {
        Some(label) => Ok(StreamName { table_name: table.clone(), label }),
        None => Err(FsError::Clause {
            message: format!("the table {table} has no stream: its changes are not recorded"),
            hint: format!(
                "enable one: echo '{{\"TableName\":\"{table}\",\"StreamSpecification\":{{\"StreamEnabled\":true,\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}}}}' > .ddb/api/UpdateTable"
            ),
        }),
    }
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

    fn kind(&self) -> Kind {
        Kind::Directory
    }

    fn resolve(&self, tree: &Tree, name: &str) -> Result<Node, FsError> {
        match name {
            log::NAME => log::node(tree, &self.table),
            follow::NAME => follow::node(tree, &self.table),
            since::NAME => Ok(since::node(&self.table)),
            help::NAME => Ok(help::node(&self.path, help::STREAM, node(&self.table))),
            _ => Err(FsError::NotFound),
        }
    }

    fn lister(&self, tree: &Tree) -> Result<Box<dyn Lister>, FsError> {
        // Without a stream there is nothing to list; a lookup says how to get one.
        let log = log::node(tree, &self.table).ok();
        Ok(Box::new(FixedLister::new(log.iter().map(|log| listed(log, log::NAME)).collect())))
    }
}
