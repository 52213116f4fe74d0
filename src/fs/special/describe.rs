//! `<Table>/describe.json`: DescribeTable's answer, verbatim.

use super::{Special, SpecialNode};
use crate::codec::wire;
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree, pretty};
use crate::model::TableName;

/// The name in its table's directory.
pub const NAME: &str = "describe.json";

#[derive(Debug)]
struct Describe {
    table: TableName,
    path: String,
}

/// Of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(Describe { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for Describe {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let description = tree.db.describe(&self.table)?.ok_or(FsError::NotFound)?;
        Ok(pretty(&wire::describe_table::to_json(&description)))
    }
}
