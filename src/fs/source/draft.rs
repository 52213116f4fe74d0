//! A draft: a table that mkdir made and CreateTable has not. It has its `schema.json` and the folders made in it.

use super::scratch;
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::Node;
use crate::fs::node::attr::Attr;
use crate::fs::node::base;
use crate::fs::open::found::{Listed, listed};
use crate::fs::path::SCHEMA_NAME;
use crate::model::TableName;

/// `folder` is relative to the draft, empty for the draft itself.
pub fn resolve(mount: &Mount, table: &TableName, folder: &str, name: &str) -> Result<Node, FsError> {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    if mount.drafts.lock().get(table).is_some_and(|draft| draft.has_folder(&path)) {
        return Ok(Node::DraftFolder(table.clone(), path));
    }
    if folder.is_empty() { scratch::resolve_beside_schema(mount, table, name) } else { Err(FsError::NotFound) }
}

pub fn attr(mount: &Mount, table: &TableName, folder: &str) -> Result<Attr, FsError> {
    let drafts = mount.drafts.lock();
    let draft = drafts.get(table).ok_or(FsError::NotFound)?;
    let node = match folder {
        "" => Node::Table(table.clone()),
        _ if draft.has_folder(folder) => Node::DraftFolder(table.clone(), folder.to_owned()),
        _ => return Err(FsError::NotFound),
    };
    Ok(Attr::directory(node.ino(), draft.created_ms))
}

/// The attributes of a table's or draft's directory.
pub fn or_table_attr(mount: &Mount, table: &TableName) -> Result<Attr, FsError> {
    if mount.is_draft(table)? {
        return attr(mount, table, "");
    }
    Ok(Attr::directory(Node::Table(table.clone()).ino(), mount.table_time(table)?))
}

pub fn list(mount: &Mount, table: &TableName, folder: &str) -> Result<Vec<Listed>, FsError> {
    let drafts = mount.drafts.lock();
    let draft = drafts.get(table).ok_or(FsError::NotFound)?;
    let mut names = Vec::new();
    if folder.is_empty() && drafts.schema_text(table).is_ok() {
        names.push(listed(&Node::Schema(base(table)), SCHEMA_NAME));
    }
    for child in draft.children(folder) {
        let path = if folder.is_empty() { child.to_owned() } else { format!("{folder}/{child}") };
        names.push(listed(&Node::DraftFolder(table.clone(), path), child));
    }
    Ok(names)
}
