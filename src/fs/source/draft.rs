//! Folders in a draft, a table that mkdir made and CreateTable has not created yet. `schema.rs`
//! does their work; `write/draft.rs` holds the drafts.

use super::schema;
use crate::fs::open::prelude::*;

/// A folder of a draft, and its path relative to the draft.
#[derive(Debug)]
pub struct DraftFolder<'n>(pub &'n TableName, pub &'n str);

impl NodeOps<Node> for DraftFolder<'_> {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        schema::draft_attr(&at, self.0, self.1)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        schema::resolve_in_draft(&at, self.0, self.1, name)
    }

    fn list(&self, at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        schema::list_draft(&at, self.0, self.1)
    }

    fn mkdir(&self, at: HostAt<'_, Node>, name: &str) -> Result<Node> {
        make_folder(&at, at.node, self.0, format!("{}/{name}", self.1), name)
    }

    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        at.mount.drafts.lock().remove_folder(self.0, self.1)
    }
}

/// Makes the folder `path` of a draft, which is `name` in `directory`.
///
/// # Errors
/// `Exists`, or the table is no draft.
pub fn make_folder(
    host: &Host,
    directory: &Node,
    table: &TableName,
    path: String,
    name: &str,
) -> Result<Node> {
    if !host.mount.is_draft(table)? {
        return Err(FsError::NotPermitted("a table has its own folders only"));
    }
    if host
        .resolve(directory, name.as_bytes())
        .is_ok_and(|node| host.exists(&node))
    {
        return Err(FsError::Exists);
    }
    host.mount.drafts.lock().make_folder(table, &path)?;
    Ok(Node::DraftFolder(table.clone(), path))
}
