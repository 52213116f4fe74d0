//! `query/` and `scan/`: the nodes of the paths of `fs::query`.

use crate::fs::{
    node::ino::{self, Tag},
    open::{
        computed::Producer,
        directory::Lister,
        found::{Cursor, Entry, Found, Place},
        prelude::*,
    },
    query::{Child, LiveListing, QueryKind, QueryPath, ResultReader, Wanted},
};

/// Returns the `query/` or `scan/` directory of a table or index.
pub fn directory(mount: &Mount, source: &Source, kind: QueryKind) -> Result<Node, FsError> {
    let schema = mount.source_schema(source)?;
    Ok(Node::Query(Box::new(QueryPath::new(
        schema,
        source.index.as_ref(),
        kind,
    )?)))
}

pub fn resolve(path: &QueryPath, name: &str) -> Result<Node, FsError> {
    Ok(match path.child(name.as_bytes())? {
        Child::Dir(path) => Node::Query(Box::new(path)),
        Child::Result(path, kind) => Node::QueryResult(Box::new(path), kind),
        Child::Link { .. } => Node::QueryLink(Box::new(path.clone()), name.to_owned()),
    })
}

pub fn attr(mount: &Mount, node: &Node) -> Result<Attr, FsError> {
    let (Node::Query(path) | Node::QueryResult(path, _) | Node::QueryLink(path, _)) = node else {
        return Err(FsError::NotFound);
    };
    let modified_ms = mount.table_time(&path.schema().name)?;
    Ok(match node {
        Node::QueryResult(..) => Attr::read_only(0, modified_ms),
        Node::QueryLink(path, name) => Attr::symlink(&target(path, name)?, modified_ms),
        _ => Attr {
            writable: false,
            ..Attr::directory(modified_ms)
        },
    })
}

impl Producer for ResultReader {
    fn advance(
        &mut self,
        mount: &Mount,
        bills: &mut Vec<Bill>,
        out: &mut Vec<u8>,
    ) -> Result<bool, FsError> {
        Self::advance(self, &*mount.db, bills, out)
    }

    fn take_consumed(&mut self) -> Option<Vec<u8>> {
        Self::take_consumed(self)
    }
}

pub fn target(path: &QueryPath, name: &str) -> Result<String, FsError> {
    match path.child(name.as_bytes())? {
        Child::Link { target } => Ok(target),
        Child::Dir(_) | Child::Result(..) => Err(FsError::NotFound),
    }
}

/// A lister of the results of a query, as symlinks.
#[derive(Debug)]
pub struct QueryLister {
    path: QueryPath,
    live: LiveListing,
}

impl QueryLister {
    pub fn new(path: QueryPath) -> Self {
        Self {
            path,
            live: LiveListing::default(),
        }
    }
}

impl Lister for QueryLister {
    fn held_bytes(&self) -> usize {
        self.live.held_bytes()
    }

    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        wanted: &Wanted<'_>,
        out: &mut Found,
    ) -> Result<(), FsError> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let path = &self.path;
        let listed = path.listing_with(
            &mut self.live,
            &*mount.db,
            after,
            wanted,
            &mut |name, position| {
                let ino = ino::in_query(Tag::QueryLink, path, &name);
                out.push(
                    Entry {
                        ino,
                        kind: Kind::Symlink,
                        name: &name,
                    },
                    Place::After(&position.0),
                );
                out.next()
            },
        );
        match listed {
            Err(FsError::Interrupted) if !out.is_empty() => Ok(()),
            listed => listed,
        }
    }
}
