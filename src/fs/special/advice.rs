//! `<Table>/advice.md`: what its data says about its keys and indexes.

use super::{Effort, Special, SpecialNode};
use crate::fs::FsError;
use crate::fs::node::Node;
use crate::fs::tree::table_name;
use crate::fs::tree::{Caller, Tree};
use crate::inspect::advice::{Facts, markdown};
use crate::model::TableName;

/// The name in its table's directory.
pub const NAME: &str = "advice.md";

#[derive(Debug)]
struct AdviceFile {
    table: TableName,
    path: String,
}

/// Of that table.
#[must_use]
pub fn node(table: &TableName) -> Node {
    SpecialNode::node(AdviceFile { table: table.clone(), path: format!("{}/{NAME}", table_name(table)) })
}

impl Special for AdviceFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn parent(&self) -> Node {
        Node::Table(self.table.clone())
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.table)
    }

    fn effort(&self) -> Effort {
        Effort::Table
    }

    fn text(&self, tree: &Tree, _caller: Caller) -> Result<Vec<u8>, FsError> {
        let facts = Facts::read(&*tree.db, &self.table)?.ok_or(FsError::NotFound)?;
        Ok(markdown(&facts).into_bytes())
    }
}
