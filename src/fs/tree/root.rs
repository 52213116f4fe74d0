//! `/`: the tables, the drafts, README.md; `.ddb` for lookup only.

use crate::fs::open::prelude::*;
use crate::fs::special::{help, service};

/// What is for lookup only unless the mount shows all.
pub const HIDDEN: &[&str] = &[SERVICE_NAME];

/// The text of `README.md`: its examples speak of what is there.
///
/// # Errors
/// The database failed.
pub fn readme(mount: &Mount) -> Result<Vec<u8>, FsError> {
    help::example::filled(mount, README_NAME, None, include_str!("README.md"))
}

pub fn resolve(mount: &Mount, name: &str) -> Result<Node, FsError> {
    match name {
        README_NAME => Ok(Node::Readme),
        SERVICE_NAME => Ok(service::node()),
        HELP_NAME if !is_table(mount, name)? => Ok(help::node("", help::ROOT, None)),
        // A leading dot is legal in a table's name but no shell glob sees it; such a table is still found by name.
        _ => taken_table(name).map_or_else(|| TableName::new(name).map_err(|_| FsError::NotFound), Ok).map(Node::Table),
    }
}

pub fn list(mount: &Mount) -> Result<Vec<Listed>, FsError> {
    let mut names = vec![listed(&Node::Readme, README_NAME)];
    let tables = mount.db.table_names()?;
    let drafts: Vec<TableName> = {
        let drafts = mount.drafts.lock();
        drafts.names().filter(|draft| tables.binary_search(draft).is_err()).cloned().collect()
    };
    names.extend(tables.into_iter().chain(drafts).map(|table| {
        let name = table_name(&table);
        listed(&Node::Table(table), &name)
    }));
    Ok(names)
}

/// Is there a table or a draft of this name? It comes before our own file.
fn is_table(mount: &Mount, name: &str) -> Result<bool, FsError> {
    match TableName::new(name) {
        Ok(table) => Ok(mount.drafts.lock().get(&table).is_some() || mount.db.schema(&table)?.is_some()),
        Err(_) => Ok(false),
    }
}
