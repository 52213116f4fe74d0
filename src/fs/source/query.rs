//! `query/`, `scan/` and `near/`: shows the paths of `fs::query` as directories, files and links.

use crate::fs::{
    node::ino::{self, InodeTag},
    open::{
        computed::Producer,
        directory::Lister,
        dirent::{Cursor, Dirent, DirentBatch, DirentPlace},
        prelude::*,
    },
    query::{IsWanted, ListingCache, QueryChild, QueryKind, QueryPath, ResultKind, ResultReader},
};

/// Returns the `query/` or `scan/` directory of a table or index.
pub fn directory(mount: &Mount, source: &SourceName, kind: QueryKind) -> Result<Node, FsError> {
    let schema = mount.source_schema(source)?;
    Ok(Node::Query(Box::new(QueryPath::new(
        schema,
        source.index.as_ref(),
        kind,
    )?)))
}

impl NodeOps<Node> for QueryPath {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        Ok(Attr {
            writable: false,
            ..Attr::directory(self.modified_ms(at)?)
        })
    }

    fn resolve(&self, _at: At<'_, Node>, name: &str) -> Result<Node> {
        Ok(match self.child(name.as_bytes())? {
            QueryChild::Dir(path) => Node::Query(Box::new(path)),
            QueryChild::Result(path, kind) => Node::QueryResult(Box::new(path), kind),
            QueryChild::Link { .. } => Node::QueryLink(Box::new(self.clone()), name.to_owned()),
        })
    }

    fn lister(&self, _at: At<'_, Node>) -> Result<Box<dyn Lister>> {
        Ok(Box::new(QueryLister {
            path: self.clone(),
            live: ListingCache::default(),
        }))
    }
}

/// A result file in a query directory.
#[derive(Debug)]
pub struct QueryResult<'n>(pub &'n QueryPath, pub ResultKind);

impl NodeOps<Node> for QueryResult<'_> {
    fn producer(&self, _at: At<'_, Node>) -> Result<Box<dyn Producer>> {
        Ok(Box::new(self.0.open(self.1)))
    }
}

/// `000001,<name>.json` in a query directory: a symlink.
#[derive(Debug)]
pub struct QueryLink<'n>(pub &'n QueryPath, pub &'n str);

impl NodeOps<Node> for QueryLink<'_> {
    fn link_target(&self, _at: At<'_, Node>) -> Result<String> {
        match self.0.child(self.1.as_bytes())? {
            QueryChild::Link { target } => Ok(target),
            QueryChild::Dir(_) | QueryChild::Result(..) => Err(FsError::NotFound),
        }
    }
}

impl Producer for ResultReader {
    fn produce(
        &mut self,
        mount: &Mount,
        charges: &mut Vec<DeferredCharge>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        Self::advance(self, &*mount.db, charges, out)
    }

    fn take_consumed(&mut self) -> Option<Vec<u8>> {
        Self::take_consumed(self)
    }
}

/// A lister of the results of a query, as symlinks.
#[derive(Debug)]
struct QueryLister {
    path: QueryPath,
    live: ListingCache,
}

impl Lister for QueryLister {
    fn held_bytes(&self) -> usize {
        self.live.held_bytes()
    }

    fn fetch(
        &mut self,
        mount: &Mount,
        from: &Cursor,
        is_wanted: &IsWanted<'_>,
        out: &mut DirentBatch,
    ) -> Result<()> {
        let Some(after) = from.after() else {
            return Ok(());
        };
        let path = &self.path;
        let listed = path.listing_with(
            &mut self.live,
            &*mount.db,
            after,
            is_wanted,
            &mut |name, position| {
                let ino = ino::in_query(InodeTag::QueryLink, path, &name);
                out.push(
                    Dirent {
                        ino,
                        kind: NodeKind::Symlink,
                        name: &name,
                    },
                    DirentPlace::After(&position.0),
                );
                out.flow()
            },
        );
        match listed {
            Err(FsError::Interrupted) if !out.is_empty() => Ok(()),
            listed => listed,
        }
    }
}
