//! `/<Table>/`: a table's or draft's own files and directories.

use super::{Tree, draft, listed, query};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::directory_stream::Listed;
use crate::fs::node::Node;
pub use crate::fs::node::base;
use crate::fs::query::QueryKind;
use crate::fs::special::{advice, batch, control, describe, heat, help, metrics, partitions, plan, queries, stream, ttl};
use crate::model::{IndexKind, TableName};

pub const SCHEMA_NAME: &str = "schema.json";
pub const STATS_NAME: &str = "stats.json";
pub const ITEMS_NAME: &str = "items";
pub const GLOBAL_NAME: &str = "gsi";
pub const LOCAL_NAME: &str = "lsi";
pub const QUERY_NAME: &str = "query";
pub const SCAN_NAME: &str = "scan";

/// What is for lookup only unless the mount shows all: files with an end that do not change by being looked at.
const SHOWN: &[&str] = &[
    describe::NAME,
    plan::NAME,
    control::NAME,
    advice::NAME,
    "ttl",
    metrics::CAPACITY_NAME,
    metrics::POINTS_NAME,
    heat::PICTURE_NAME,
    help::NAME,
];

/// What a table has, listed or not.
pub const NAMES: &[&str] = &[
    SCHEMA_NAME,
    STATS_NAME,
    ITEMS_NAME,
    GLOBAL_NAME,
    LOCAL_NAME,
    partitions::NAME,
    queries::NAME,
    QUERY_NAME,
    SCAN_NAME,
    batch::NAME,
    stream::NAME,
    ttl::NAME,
    describe::NAME,
    plan::NAME,
    control::NAME,
    advice::NAME,
    metrics::CAPACITY_NAME,
    metrics::POINTS_NAME,
    heat::PICTURE_NAME,
    help::NAME,
];

pub fn resolve(tree: &Tree, table: &TableName, name: &str) -> Result<Node, FsError> {
    if name == SCHEMA_NAME {
        return Ok(Node::Schema(base(table)));
    }
    if name == control::NAME {
        return Ok(control::node(table));
    }
    if name == plan::NAME {
        return Ok(plan::node(table));
    }
    if tree.is_draft(table)? {
        return draft::resolve(tree, table, "", name);
    }
    match name {
        STATS_NAME => Ok(Node::Stats(base(table))),
        advice::NAME => Ok(advice::node(table)),
        describe::NAME => Ok(describe::node(table)),
        metrics::CAPACITY_NAME => Ok(metrics::capacity_node(table)),
        metrics::POINTS_NAME => Ok(metrics::points_node(table)),
        batch::NAME => Ok(batch::node(table)),
        queries::NAME => Ok(queries::node(table)),
        stream::NAME => Ok(stream::node(table)),
        ttl::NAME => Ok(ttl::node(table)),
        help::NAME => Ok(help::node(table.as_str(), help::TABLE, Node::Table(table.clone()))),
        partitions::NAME => Ok(partitions::node(tree, &base(table))),
        heat::PICTURE_NAME => Ok(heat::picture_node(table)),
        ITEMS_NAME => Ok(Node::Items(base(table))),
        GLOBAL_NAME => Ok(Node::Indexes(table.clone(), IndexKind::Global)),
        LOCAL_NAME => Ok(Node::Indexes(table.clone(), IndexKind::Local)),
        QUERY_NAME => query::directory(tree, &base(table), QueryKind::Query),
        SCAN_NAME => query::directory(tree, &base(table), QueryKind::Scan),
        _ => resolve_scratch(tree, table, name),
    }
}

/// A file in memory beside `schema.json`, if it was made.
pub fn resolve_scratch(tree: &Tree, table: &TableName, name: &str) -> Result<Node, FsError> {
    tree.find_scratch(&Node::Table(table.clone()), name).map(Node::Scratch).ok_or(FsError::NotFound)
}

pub fn attr(tree: &Tree, table: &TableName) -> Result<Attr, FsError> {
    let ino = Node::Table(table.clone()).ino();
    if tree.is_draft(table)? {
        return draft::attr(tree, table, "");
    }
    Ok(Attr::directory(ino, tree.table_time(table)?))
}

pub fn list(tree: &Tree, table: &TableName) -> Result<Vec<Listed>, FsError> {
    if tree.is_draft(table)? {
        return draft::list(tree, table, "");
    }
    tree.schema(table)?;
    let mut names = vec![
        listed(&Node::Schema(base(table)), SCHEMA_NAME),
        listed(&Node::Stats(base(table)), STATS_NAME),
        listed(&Node::Items(base(table)), ITEMS_NAME),
        listed(&Node::Indexes(table.clone(), IndexKind::Global), GLOBAL_NAME),
        listed(&Node::Indexes(table.clone(), IndexKind::Local), LOCAL_NAME),
        listed(&partitions::node(tree, &base(table)), partitions::NAME),
        listed(&queries::node(table), queries::NAME),
    ];
    names.extend(tree.shown(&Node::Table(table.clone()), SHOWN));
    Ok(names)
}
