//! A draft: a table that mkdir made and CreateTable has not. It has its `schema.json` and the folders made in it.

use super::table::{SCHEMA_NAME, base};
use super::{Tree, listed};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::Listed;
use crate::fs::node::Node;
use crate::model::TableName;

/// `folder` is relative to the draft, empty for the draft itself.
pub fn resolve(tree: &Tree, table: &TableName, folder: &str, name: &str) -> Result<Node, FsError> {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    if tree.drafts.lock().get(table).is_some_and(|draft| draft.has_folder(&path)) {
        return Ok(Node::DraftFolder(table.clone(), path));
    }
    if folder.is_empty() { super::table::resolve_scratch(tree, table, name) } else { Err(FsError::NotFound) }
}

pub fn attr(tree: &Tree, table: &TableName, folder: &str) -> Result<Attr, FsError> {
    let drafts = tree.drafts.lock();
    let draft = drafts.get(table).ok_or(FsError::NotFound)?;
    let node = match folder {
        "" => Node::Table(table.clone()),
        _ if draft.has_folder(folder) => Node::DraftFolder(table.clone(), folder.to_owned()),
        _ => return Err(FsError::NotFound),
    };
    Ok(Attr::directory(node.ino(), draft.created_ms))
}

pub fn list(tree: &Tree, table: &TableName, folder: &str) -> Result<Vec<Listed>, FsError> {
    let drafts = tree.drafts.lock();
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

pub fn parent(table: &TableName, folder: &str) -> Node {
    match folder.rsplit_once('/') {
        Some((parent, _)) => Node::DraftFolder(table.clone(), parent.to_owned()),
        None => Node::Table(table.clone()),
    }
}
