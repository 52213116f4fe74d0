//! `/`: the tables, the drafts, README.md; `.ddb` for lookup only.

use super::{Tree, listed};
use crate::fs::FsError;
use crate::fs::directory_stream::Listed;
use crate::fs::node::Node;
use crate::fs::special::{help, service};
use crate::model::TableName;

pub const README_NAME: &str = "README.md";

/// The text of `README.md`.
pub const README: &str = include_str!("README.md");

pub fn resolve(tree: &Tree, name: &str) -> Result<Node, FsError> {
    match name {
        README_NAME => Ok(Node::Readme),
        service::NAME => Ok(service::node()),
        help::NAME if !is_table(tree, name)? => Ok(help::node("", help::ROOT, Node::Root)),
        // A leading dot is legal in a table's name but no shell glob sees it; such a table is still found by name.
        _ => Ok(Node::Table(TableName::new(name).map_err(|_| FsError::NotFound)?)),
    }
}

pub fn list(tree: &Tree) -> Result<Vec<Listed>, FsError> {
    let mut names = vec![listed(&Node::Readme, README_NAME)];
    let tables = tree.db.table_names()?;
    let drafts: Vec<TableName> = {
        let drafts = tree.drafts.lock();
        drafts.names().filter(|draft| tables.binary_search(draft).is_err()).cloned().collect()
    };
    names.extend(tables.into_iter().chain(drafts).filter(|table| !is_taken(table)).map(|table| {
        let name = table.to_string();
        listed(&Node::Table(table), &name)
    }));
    names.extend(tree.shown(&Node::Root, &[service::NAME]));
    Ok(names)
}

/// Is there a table or a draft of this name? It comes before our own file.
fn is_table(tree: &Tree, name: &str) -> Result<bool, FsError> {
    match TableName::new(name) {
        Ok(table) => Ok(tree.drafts.lock().get(&table).is_some() || tree.db.schema(&table)?.is_some()),
        Err(_) => Ok(false),
    }
}

/// Table names that mean something else here; such tables are reached through the HTTP API only.
fn is_taken(table: &TableName) -> bool {
    matches!(table.as_str(), README_NAME | service::NAME)
}
