//! The path of a node below the mount, for messages and logs; and the inode numbers of `.` and
//! `..`. The opposite direction, from a name to a node, is `fs::tree::resolve`.

use super::Mount;
use crate::fs::{
    node::{
        Node, NodeKind,
        ino::{self, InodeTag},
    },
    path::{
        ITEMS_NAME, NEAR_NAME, QUERIES_NAME, QUERY_NAME, README_NAME, SCAN_NAME, SCHEMA_NAME,
        STATS_NAME, names, table_name,
    },
    prelude::*,
    query::{QueryChild, QueryKind, QueryPath},
    write::scratch::FileId,
};

impl Mount {
    /// Returns the path of a node below the mount, for people.
    #[must_use]
    pub fn display_path(&self, node: &Node) -> String {
        let in_source =
            |source: &SourceName, name: &str| format!("{}/{name}", self.source_path(source));
        let in_items = |source: &SourceName, path: &str| {
            format!("{}/{ITEMS_NAME}/{path}", self.source_path(source))
        };
        match node {
            Node::Root => String::new(),
            Node::Readme => README_NAME.to_owned(),
            Node::Table(table) => table_name(table),
            Node::DraftFolder(table, path) => format!("{}/{path}", table_name(table)),
            Node::Schema(source) => in_source(source, SCHEMA_NAME),
            Node::Stats(source) => in_source(source, STATS_NAME),
            Node::Items(source) => in_source(source, ITEMS_NAME),
            Node::Indexes(table, kind) => format!("{}/{}", table_name(table), kind.name()),
            Node::Index(source) => self.source_path(source),
            Node::Collection(source, partition) => {
                in_items(source, &names::collection_name(partition))
            }
            Node::Entry(entry) => {
                in_items(&entry.source, &names::entry_path(&entry.key, entry.form))
            }
            Node::Base(source, key) => in_items(source, &names::base_path(key)),
            Node::Alias(alias) => format!("{}/{ITEMS_NAME}/{}", alias.table, alias.path),
            Node::AliasFolder(folder) => format!("{}/{ITEMS_NAME}/{}", folder.table, folder.name),
            Node::Scratch(id) => self.scratch_path(*id),
            Node::Query(path) => self.query_path(path),
            Node::QueryResult(path, kind) => format!("{}/{}", self.query_path(path), kind.name()),
            Node::QueryLink(path, name) => format!("{}/{name}", self.query_path(path)),
            Node::Special(special) => special.path.clone(),
        }
    }

    fn scratch_path(&self, id: FileId) -> String {
        match self.scratch_location(id) {
            Some((directory, name)) => format!("{}/{name}", self.display_path(&directory)),
            None => String::from("(removed)"),
        }
    }

    pub(in crate::fs) fn source_path(&self, source: &SourceName) -> String {
        let table = table_name(&source.table);
        let Some(index) = &source.index else {
            return table;
        };
        match self.index_kind(source) {
            Some(kind) => format!("{table}/{}/{index}", kind.name()),
            // The index was dropped meanwhile; the path is for people, in the report of a call that
            // failed.
            None => format!("{table}/{index}"),
        }
    }

    fn query_path(&self, path: &QueryPath) -> String {
        let kind = match path.kind() {
            QueryKind::Query => QUERY_NAME,
            QueryKind::Scan => SCAN_NAME,
            QueryKind::Near => NEAR_NAME,
        };
        let mut out = match path.saved_name() {
            Some(name) => format!("{}/{QUERIES_NAME}/{name}", path.schema().name),
            None => format!("{}/{kind}", self.source_path(&path.source())),
        };
        for name in path.names() {
            out.push('/');
            out.push_str(name);
        }
        out
    }

    /// Returns the inode numbers of "." and ".." of a directory.
    #[must_use]
    pub fn dot_inos(&self, node: &Node) -> [u64; 2] {
        [node.ino(), self.parent_ino(node)]
    }

    /// Returns the inode number of the parent of a directory.
    fn parent_ino(&self, node: &Node) -> u64 {
        let above = match node {
            Node::Indexes(table, _) => Node::Table(table.clone()),
            Node::DraftFolder(table, path) => match path.rsplit_once('/') {
                Some((parent, _)) => Node::DraftFolder(table.clone(), parent.to_owned()),
                None => Node::Table(table.clone()),
            },
            Node::Items(source) if source.index.is_none() => Node::Table(source.table.clone()),
            Node::Items(source) => Node::Index(source.clone()),
            Node::Collection(source, _) => Node::Items(source.clone()),
            Node::AliasFolder(folder) => Node::Items(SourceName::from(&folder.table)),
            Node::Index(source) => Node::Indexes(
                source.table.clone(),
                self.index_kind(source).unwrap_or(IndexKind::Global),
            ),
            Node::Query(path) => return query_parent_ino(path),
            Node::Special(special) => return special.parent_ino,
            Node::Root | Node::Table(_) => Node::Root,
            file => {
                debug_assert!(false, "{file:?} is no directory");
                Node::Root
            }
        };
        above.ino()
    }

    pub(in crate::fs) fn index_kind(&self, source: &SourceName) -> Option<IndexKind> {
        let schema = self.db.schema(&source.table).ok().flatten()?;
        schema
            .index(source.index.as_ref()?.as_str())
            .map(|index| index.kind)
    }
}

/// Returns the inode number of the directory with one clause less, or of the one that the clauses
/// begin in.
fn query_parent_ino(path: &QueryPath) -> u64 {
    let above = path.names().split_last().and_then(|(_, names)| {
        let start = path.clause_root();
        let above = names
            .iter()
            .try_fold(start, |path, name| match path.child(name.as_bytes()) {
                Ok(QueryChild::Dir(path)) => Some(path),
                _ => None,
            });
        debug_assert!(above.is_some(), "fewer clauses of a path are one too");
        above
    });
    let source = path.source();
    match above {
        Some(path) => ino::in_query(InodeTag::Query, &path, ""),
        None if path.saved_name().is_some() => queries_ino(&source.table),
        None if source.index.is_some() => Node::Index(source).ino(),
        None => Node::Table(source.table).ino(),
    }
}

/// Returns the inode number of `queries/`, which is identified by its path.
fn queries_ino(table: &TableName) -> u64 {
    ino::special(
        NodeKind::Directory,
        &format!("{}/{QUERIES_NAME}", table_name(table)),
    )
}
