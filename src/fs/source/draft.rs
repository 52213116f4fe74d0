//! A draft: a table that mkdir made and CreateTable has not. It has its `schema.json` and the folders made in it.

use super::scratch;
use crate::fs::open::prelude::*;

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
    let is_there = folder.is_empty() || draft.has_folder(folder);
    if is_there { Ok(Attr::directory(draft.created_ms)) } else { Err(FsError::NotFound) }
}

/// The attributes of a table's or draft's directory.
pub fn or_table_attr(mount: &Mount, table: &TableName) -> Result<Attr, FsError> {
    if mount.is_draft(table)? {
        return attr(mount, table, "");
    }
    Ok(Attr::directory(mount.table_time(table)?))
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
