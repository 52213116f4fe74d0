//! `/<Table>/`: a table's or draft's own files and directories. Each is an entry of [`NAMES`], or a row of [`OF_TABLE`].

use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::special::Special;
use crate::fs::node::{Node, base};
use crate::fs::open::found::{Listed, listed};
use crate::fs::path::{
    BATCH_NAME, GLOBAL_NAME, HELP_NAME, ITEMS_NAME, LOCAL_NAME, PARTITIONS_NAME, QUERIES_NAME, QUERY_NAME, SCAN_NAME, SCHEMA_NAME,
    STATS_NAME, STREAM_NAME,
};
use crate::fs::query::QueryKind;
use crate::fs::source::{draft, query, scratch};
use crate::fs::special::derived::{Derived, OF_TABLE};
use crate::fs::special::{batch, help, partitions, queries, stream};
use crate::model::{IndexKind, TableName};

/// Makes the node of a name.
type Make = fn(&Mount, &TableName) -> Result<Node, FsError>;

/// A name, whether it is listed, and what it means.
const NAMES: [(&str, bool, Make); 12] = [
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
];

/// What a table has, listed or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, ..)| *name).chain(OF_TABLE.iter().map(|file| file.name))
}

/// What is for lookup only unless the mount shows all: files with an end that do not change by being looked at.
pub fn hidden() -> Vec<&'static str> {
    OF_TABLE.iter().map(|file| file.name).chain([HELP_NAME]).collect()
}

fn derived_node(file: &Derived, table: &TableName) -> Node {
    file.node(Special::in_table(table, file.name, file.feature()))
}

pub fn resolve(mount: &Mount, table: &TableName, name: &str) -> Result<Node, FsError> {
    let derived = OF_TABLE.iter().find(|file| file.name == name);
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
    match (derived, NAMES.iter().find(|(known, ..)| *known == name)) {
        (Some(file), _) => Ok(derived_node(file, table)),
        (None, Some((_, _, make))) => make(mount, table),
        (None, None) => scratch::resolve_beside_schema(mount, table, name),
    }
}

pub fn list(mount: &Mount, table: &TableName) -> Result<Vec<Listed>, FsError> {
    mount.schema(table)?;
    let shown = NAMES.iter().filter(|(_, is_listed, _)| *is_listed);
    shown.map(|(name, _, make)| Ok(listed(&make(mount, table)?, name))).collect()
}
