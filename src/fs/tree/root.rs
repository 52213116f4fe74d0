//! `/`: the tables, the drafts, README.md; `.ddb` for lookup only.

use super::{Tree, listed};
use crate::fs::FsError;
use crate::fs::directory_stream::Listed;
use crate::fs::node::Node;
use crate::fs::special::{help, service};
use crate::model::TableName;

pub const README_NAME: &str = "README.md";

/// The text of `README.md`: its examples speak of what is there.
///
/// # Errors
/// The database failed.
pub fn readme(tree: &Tree) -> Result<Vec<u8>, FsError> {
    help::example::filled(tree, README_NAME, &Node::Root, include_str!("README.md"))
}

pub fn resolve(tree: &Tree, name: &str) -> Result<Node, FsError> {
    match name {
        README_NAME => Ok(Node::Readme),
        service::NAME => Ok(service::node()),
        help::NAME if !is_table(tree, name)? => Ok(help::node("", help::ROOT, Node::Root)),
        // A leading dot is legal in a table's name but no shell glob sees it; such a table is still found by name.
        _ => taken_table(name).map_or_else(|| TableName::new(name).map_err(|_| FsError::NotFound), Ok).map(Node::Table),
    }
}

pub fn list(tree: &Tree) -> Result<Vec<Listed>, FsError> {
    let mut names = vec![listed(&Node::Readme, README_NAME)];
    let tables = tree.db.table_names()?;
    let drafts: Vec<TableName> = {
        let drafts = tree.drafts.lock();
        drafts.names().filter(|draft| tables.binary_search(draft).is_err()).cloned().collect()
    };
    names.extend(tables.into_iter().chain(drafts).map(|table| {
        let name = table_name(&table);
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

/// Names of tables that mean something else here.
const TAKEN: [&str; 2] = [README_NAME, service::NAME];

/// A table's directory: its name; if that is taken, with the first character as `%XX`, as keys are written (docs/filesystem.md 2).
#[must_use]
pub fn table_name(table: &TableName) -> String {
    let name = table.as_str();
    match name.split_at_checked(1) {
        Some((first, rest)) if TAKEN.contains(&name) => format!("%{:02X}{rest}", first.as_bytes()[0]),
        _ => name.to_owned(),
    }
}

/// The table behind such a name.
fn taken_table(name: &str) -> Option<TableName> {
    if !name.starts_with('%') {
        return None;
    }
    TAKEN.iter().filter_map(|taken| TableName::new(*taken).ok()).find(|table| table_name(table).eq_ignore_ascii_case(name))
}
