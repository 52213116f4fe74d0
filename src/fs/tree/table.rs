//! `/<Table>/`: a table's or draft's own files and directories. Each is an entry of [`NAMES`], or a row of [`OF_TABLE`].

use crate::fs::open::prelude::*;
use crate::fs::source::{draft, query, scratch};
use crate::fs::special::derived::{Derived, OF_TABLE, row};
use crate::fs::special::{batch, help, partitions, queries, stream};
use crate::fs::{open::found::Names, query::QueryKind};

const NAMES: Names<TableName> = Names(&[
    (SCHEMA_NAME, true, |_, table| Ok(Node::Schema(base(table)))),
    (STATS_NAME, true, |_, table| Ok(Node::Stats(base(table)))),
    (ITEMS_NAME, true, |_, table| Ok(Node::Items(base(table)))),
    (GLOBAL_NAME, true, |_, table| Ok(Node::Indexes(table.clone(), IndexKind::Global))),
    (LOCAL_NAME, true, |_, table| Ok(Node::Indexes(table.clone(), IndexKind::Local))),
    (PARTITIONS_NAME, true, |mount, table| Ok(partitions::node(mount, &base(table)))),
    (QUERIES_NAME, true, |_, table| Ok(queries::node(table))),
    (QUERY_NAME, false, |mount, table| query::directory(mount, &base(table), QueryKind::Query)),
    (SCAN_NAME, false, |mount, table| query::directory(mount, &base(table), QueryKind::Scan)),
    (BATCH_NAME, false, |_, table| Ok(batch::node(table))),
    (STREAM_NAME, false, |_, table| Ok(stream::node(table))),
    (HELP_NAME, false, |_, table| Ok(help::node(table.as_str(), help::TABLE, Some(base(table))))),
]);

/// What a table has, listed or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.all().chain(OF_TABLE.iter().map(|file| file.name))
}

/// What is for lookup only unless the mount shows all: files with an end that do not change by being looked at.
pub fn hidden() -> Vec<&'static str> {
    OF_TABLE.iter().map(|file| file.name).chain([HELP_NAME]).collect()
}

fn derived_node(file: &Derived, table: &TableName) -> Node {
    file.node(|feature| Special::in_table(table, file.name, feature))
}

pub fn resolve(mount: &Mount, table: &TableName, name: &str) -> Result<Node, FsError> {
    let derived = row(&OF_TABLE, name);
    if name == SCHEMA_NAME {
        return Ok(Node::Schema(base(table)));
    }
    if let Some(file) = derived.filter(|file| file.is_of_drafts()) {
        return Ok(derived_node(file, table));
    }
    // Before the table's own names: a draft holds folders that programs made, and one may be called items.
    if mount.is_draft(table)? {
        return draft::resolve(mount, table, "", name);
    }
    match derived {
        Some(file) => Ok(derived_node(file, table)),
        None if NAMES.all().any(|known| known == name) => NAMES.resolve(mount, table, name),
        None => scratch::resolve_beside_schema(mount, table, name),
    }
}

pub fn list(mount: &Mount, table: &TableName) -> Result<Vec<Listed>, FsError> {
    mount.schema(table)?;
    Ok(NAMES.list(mount, table))
}
