//! `gsi/` and `lsi/`, and an index's own directory. Below its `items/` it is like a table's: see `items.rs`, `collection.rs`.

use super::table::{GLOBAL_NAME, ITEMS_NAME, LOCAL_NAME, QUERY_NAME, SCAN_NAME, SCHEMA_NAME, STATS_NAME};
use super::{Tree, items, listed, names, query};
use crate::database::{EntryKey, Source, TextForm};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::Listed;
use crate::fs::node::Node;
use crate::fs::query::QueryKind;
use crate::fs::special::{absence, help, index_draft, partitions};
use crate::model::{IndexKind, TableName};

pub fn kind_name(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Global => GLOBAL_NAME,
        IndexKind::Local => LOCAL_NAME,
    }
}

pub fn resolve_index(tree: &Tree, table: &TableName, kind: IndexKind, name: &str) -> Result<Node, FsError> {
    let schema = tree.schema(table)?;
    let found = schema.indexes_of(kind).find(|index| index.name.as_str() == name);
    let Some(index) = found else {
        let draft = if kind == IndexKind::Global { index_draft::find(tree, table, name) } else { None };
        if let Some(draft) = draft {
            return Ok(draft);
        }
        let directory = Node::Indexes(table.clone(), kind);
        let is_help = name == help::NAME;
        return if is_help { Ok(help::node(&tree.path(&directory), help::INDEXES, directory)) } else { Err(FsError::NotFound) };
    };
    Ok(Node::Index(Source { table: table.clone(), index: Some(index.name.clone()) }))
}

pub fn list_indexes(tree: &Tree, table: &TableName, kind: IndexKind) -> Result<Vec<Listed>, FsError> {
    let schema = tree.schema(table)?;
    let names = schema.indexes_of(kind).map(|index| {
        let node = Node::Index(Source { table: table.clone(), index: Some(index.name.clone()) });
        listed(&node, index.name.as_str())
    });
    let drafts = if kind == IndexKind::Global { index_draft::list(tree, table) } else { Vec::new() };
    let is_draft = |listed: &Listed| schema.index(&listed.name).is_none();
    Ok(names.chain(drafts.into_iter().filter(is_draft)).collect())
}

/// What an index has, listed or not.
pub const NAMES: &[&str] = &[
    SCHEMA_NAME,
    STATS_NAME,
    ITEMS_NAME,
    QUERY_NAME,
    SCAN_NAME,
    partitions::NAME,
    absence::VIOLATIONS_NAME,
    absence::MISSING_NAME,
    help::NAME,
];

pub fn resolve(tree: &Tree, source: &Source, name: &str) -> Result<Node, FsError> {
    match name {
        SCHEMA_NAME => Ok(Node::Schema(source.clone())),
        STATS_NAME => Ok(Node::Stats(source.clone())),
        partitions::NAME if has_partitions(tree, source) => Ok(partitions::node(tree, source)),
        absence::VIOLATIONS_NAME => Ok(absence::node(tree, source, absence::VIOLATIONS_NAME)),
        absence::MISSING_NAME => Ok(absence::node(tree, source, absence::MISSING_NAME)),
        ITEMS_NAME => Ok(Node::Items(source.clone())),
        QUERY_NAME => query::directory(tree, source, QueryKind::Query),
        SCAN_NAME => query::directory(tree, source, QueryKind::Scan),
        help::NAME => Ok(help::node(&tree.source_path(source), help::INDEXES, Node::Index(source.clone()))),
        _ => Err(FsError::NotFound),
    }
}

/// What is for lookup only unless the mount shows all.
const SHOWN: &[&str] = &["violations.ndjson", "missing.ndjson", "help"];

pub fn list(tree: &Tree, source: &Source) -> Vec<Listed> {
    let mut names = vec![
        listed(&Node::Schema(source.clone()), SCHEMA_NAME),
        listed(&Node::Stats(source.clone()), STATS_NAME),
        listed(&Node::Items(source.clone()), ITEMS_NAME),
    ];
    if has_partitions(tree, source) {
        names.push(listed(&partitions::node(tree, source), partitions::NAME));
    }
    names.extend(tree.shown(&Node::Index(source.clone()), SHOWN));
    names
}

/// A global index has its own; entries of a local one lie in its table's.
fn has_partitions(tree: &Tree, source: &Source) -> bool {
    let schema = tree.source_schema(source).ok();
    let index = schema.as_ref().zip(source.index.as_ref()).and_then(|(schema, name)| schema.index(name.as_str()));
    index.is_some_and(|index| index.kind == IndexKind::Global)
}

/// `X.base` exists while its entry does.
pub fn base_attr(tree: &Tree, source: &Source, key: &EntryKey) -> Result<Attr, FsError> {
    let stat = items::stat(tree, source, key)?;
    let node = Node::Base(source.clone(), Box::new(key.clone()));
    Ok(Attr::symlink(node.ino(), &base_target(key), stat.modified_ms))
}

/// From `<Table>/gsi/<index>/items/K(ixpk)/` up to the table and down to the item.
pub fn base_target(key: &EntryKey) -> String {
    let base = EntryKey { index: None, base: key.base.clone() };
    format!("../../../../{ITEMS_NAME}/{}", names::entry_path(&base, TextForm::PlainJson))
}
