//! `gsi/` and `lsi/`, and an index's own directory. Below its `items/` it is like a table's: see `fs::source`.

use crate::fs::open::prelude::*;
use crate::fs::source::query;
use crate::fs::special::derived::{OF_INDEX, row};
use crate::fs::special::{help, index_draft, partitions};
use crate::fs::{open::found::Names, query::QueryKind};

pub fn resolve_index(mount: &Mount, table: &TableName, kind: IndexKind, name: &str) -> Result<Node, FsError> {
    let schema = mount.schema(table)?;
    if let Some(index) = schema.indexes_of(kind).find(|index| index.name.as_str() == name) {
        return Ok(Node::Index(Source { table: table.clone(), index: Some(index.name.clone()) }));
    }
    let draft = if kind == IndexKind::Global { index_draft::find(mount, table, name) } else { None };
    match draft {
        Some(draft) => Ok(draft),
        None if name == HELP_NAME => {
            let directory = mount.path(&Node::Indexes(table.clone(), kind));
            Ok(help::node(&directory, help::INDEXES, Some(base(table))))
        }
        None => Err(FsError::NotFound),
    }
}

pub fn list_indexes(mount: &Mount, table: &TableName, kind: IndexKind) -> Result<Vec<Listed>, FsError> {
    let schema = mount.schema(table)?;
    let names = schema.indexes_of(kind).map(|index| {
        let node = Node::Index(Source { table: table.clone(), index: Some(index.name.clone()) });
        listed(&node, index.name.as_str())
    });
    let drafts = if kind == IndexKind::Global { index_draft::list(mount, table) } else { Vec::new() };
    let is_draft = |listed: &Listed| schema.index(&listed.name).is_none();
    Ok(names.chain(drafts.into_iter().filter(is_draft)).collect())
}

const NAMES: Names<Source> = Names(&[
    (SCHEMA_NAME, true, |_, source| Ok(Node::Schema(source.clone()))),
    (STATS_NAME, true, |_, source| Ok(Node::Stats(source.clone()))),
    (ITEMS_NAME, true, |_, source| Ok(Node::Items(source.clone()))),
    (PARTITIONS_NAME, true, partitions_of),
    (QUERY_NAME, false, |mount, source| query::directory(mount, source, QueryKind::Query)),
    (SCAN_NAME, false, |mount, source| query::directory(mount, source, QueryKind::Scan)),
    (HELP_NAME, false, |mount, source| Ok(help::node(&mount.source_path(source), help::INDEXES, Some(source.clone())))),
]);

/// A global index has its own; entries of a local one lie in its table's.
fn partitions_of(mount: &Mount, source: &Source) -> Result<Node, FsError> {
    let schema = mount.source_schema(source).ok();
    let index = schema.as_ref().zip(source.index.as_ref()).and_then(|(schema, name)| schema.index(name.as_str()));
    let is_global = index.is_some_and(|index| index.kind == IndexKind::Global);
    if is_global { Ok(partitions::node(mount, source)) } else { Err(FsError::NotFound) }
}

/// What an index has, listed or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.all().chain(OF_INDEX.iter().map(|file| file.name))
}

/// What is for lookup only unless the mount shows all.
pub fn hidden() -> Vec<&'static str> {
    OF_INDEX.iter().map(|file| file.name).chain([HELP_NAME]).collect()
}

pub fn resolve(mount: &Mount, source: &Source, name: &str) -> Result<Node, FsError> {
    let Some(row) = row(&OF_INDEX, name) else { return NAMES.resolve(mount, source, name) };
    let path = format!("{}/{name}", mount.source_path(source));
    Ok(row.node(|feature| Special::file(path, Some(source.clone()), feature)))
}

pub fn list(mount: &Mount, source: &Source) -> Vec<Listed> {
    NAMES.list(mount, source)
}
