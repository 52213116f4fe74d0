//! `queries/<name>`: a symlink to a query path.

use std::sync::Arc;

use super::Entry;
use crate::fs::FsError;
use crate::fs::node::{Kind, Node};
use crate::fs::special::{Special, SpecialNode};
use crate::fs::tree::{Caller, Tree};
use crate::fs::view::{Reply, View};
use crate::model::TableName;
use crate::model::api::saved_query::SavedForm;

#[derive(Debug)]
struct Link(Entry);

/// Of that name.
pub fn node(table: &TableName, name: &str) -> Node {
    SpecialNode::node(Link(Entry::new(table, name)))
}

impl Special for Link {
    fn path(&self) -> &str {
        &self.0.path
    }

    fn parent(&self) -> Node {
        super::node(&self.0.table)
    }

    fn table(&self) -> Option<&TableName> {
        Some(&self.0.table)
    }

    fn kind(&self) -> Kind {
        Kind::Symlink
    }

    fn modified_ms(&self, tree: &Tree) -> Result<u64, FsError> {
        Ok(self.0.saved(tree)?.modified_ms)
    }

    fn link_target(&self, tree: &Tree) -> Result<String, FsError> {
        match self.0.saved(tree)?.form {
            SavedForm::Link(target) => Ok(target),
            SavedForm::Request(_) => Err(FsError::NotFound),
        }
    }

    fn unlink(&self, view: &Arc<View>, caller: Caller, reply: Reply<()>) {
        self.0.unlink(view, caller, reply);
    }

    fn rename(&self, view: &View, name: &str, replace: bool) -> Result<(), FsError> {
        super::rename(view, &self.0.table, &self.0.name, name, replace)
    }
}
