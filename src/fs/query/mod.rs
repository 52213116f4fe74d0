//! `query/` and `scan/` paths (FILESYSTEM 6): each directory below them is a clause, each file a result.
//!
//! ```text
//! Orders/query/@pk=u1/@sk.ge=2024/desc/limit=3/items.ndjson
//!              clause clause      …            result
//! ```
//!
//! | difficulty | solved by |
//! |---|---|
//! | clauses come in any order, one path component at a time | [`QueryPath::child`]: each clause is parsed once, checked against those before it; what needs all of them is checked when a result is named |
//! | a lookup must be cheap and without effect | parsing needs only the schema; the database is first asked by [`ResultReader::advance`] or [`QueryPath::listing`] |
//! | a result may be larger than memory | [`ResultReader`] makes a page at a time |
//! | a result is asked for its size, which must cost nothing | its pages are read on account, see [`crate::fs::computed`] |
//! | a position in a result must fit in a file name, keys go up to 3 KB | `token`: short keys as they are, long ones by prefix and digest |
//! | a listed link must be resolved without running the query | `listing`: the link's name holds the entry's own name |
//!
//! Nothing here knows fuser; nothing keeps state but [`ResultReader`].

mod clause;
#[cfg(test)]
mod clause_tests;
mod clauses;
mod csv;
mod explain;
mod expression;
mod fault;
mod filter;
#[cfg(test)]
mod filter_tests;
mod help;
mod listing;
mod name;
pub mod nearest;
mod page;
mod pages;
mod request;
mod request_json;
#[cfg(test)]
mod request_tests;
mod result;
mod row;
mod saved;
mod select;
mod shards;
mod source;
mod stream;
#[cfg(test)]
mod test_tables;
mod token;
mod value;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use fault::{ClauseFault, ValueFault};
pub use listing::{LiveListing, VisitLink};
pub use request::Request;
pub use result::{ResultKind, ResultReader, Wanted};

use crate::database::Source;
use crate::fs::FsError;
use crate::model::{IndexName, IndexSchema, TableSchema};
use clause::Context;
use clauses::Clauses;

/// Query or Scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    Query,
    Scan,
}

/// A `query/` or `scan/` directory, or a directory of clauses below one.
///
/// Equal and hashed by table, index, kind, saved request and the clauses' names as typed.
#[derive(Debug, Clone)]
pub struct QueryPath {
    schema: Arc<TableSchema>,
    index: Option<IndexName>,
    kind: QueryKind,
    /// The saved request that the path begins with.
    saved: Option<saved::Saved>,
    names: Vec<Arc<str>>,
    clauses: Clauses,
}

/// What a name below a [`QueryPath`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Child {
    /// One more clause.
    Dir(QueryPath),
    /// A file that holds a result of the query so far.
    Result(QueryPath, ResultKind),
    /// An entry of the listing (`000001,<name>.json`): a symlink to the item or index entry. The target may be absent.
    Link {
        /// Relative to the directory that holds the link.
        target: String,
    },
}

/// Clauses of a path: each directory of it is a node of its own, whose request is made of all of them. What several nodes of one
/// path have in common they share.
pub const CLAUSES_MAX: usize = 64;

/// Names that programs look for in any directory; they must not count as failed clauses.
const PROBED: [&str; 15] = [
    "RCS",
    "CVS",
    "SCCS",
    "_darcs",
    "HEAD",
    "objects",
    "refs",
    "commondir",
    "gitdir",
    "lost+found",
    "autorun.inf",
    "AUTORUN.INF",
    "desktop.ini",
    "Desktop.ini",
    "Thumbs.db",
];

/// Not looked at as a clause: hidden names, names that programs look for, globs that the shell found no match for.
fn is_probe(name: &str) -> bool {
    name.starts_with('.') || PROBED.contains(&name) || (name.contains(['*', '?']) && !name.contains('='))
}

impl QueryPath {
    /// The `query/` or `scan/` directory itself.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the table has no such index.
    pub fn new(schema: Arc<TableSchema>, index: Option<&IndexName>, kind: QueryKind) -> Result<Self, FsError> {
        if index.is_some_and(|index| schema.index(index.as_str()).is_none()) {
            return Err(FsError::NotFound);
        }
        Ok(Self { schema, index: index.cloned(), kind, saved: None, names: Vec::new(), clauses: Clauses::default() })
    }

    /// What tells this directory from others beside table, index, kind and names: the saved request that it begins with.
    #[must_use]
    pub fn saved_identity(&self) -> Vec<u8> {
        self.saved.as_ref().map_or_else(Vec::new, |saved| [&saved.digest[..], saved.name.as_bytes()].concat())
    }

    /// The clauses' names so far, as typed; with table, index, kind and saved request they identify the directory.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    #[must_use]
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    #[must_use]
    pub fn index(&self) -> Option<&IndexName> {
        self.index.as_ref()
    }

    #[must_use]
    pub fn kind(&self) -> QueryKind {
        self.kind
    }

    /// The table or index that is read.
    #[must_use]
    pub fn source(&self) -> Source {
        Source { table: self.schema.name.clone(), index: self.index.clone() }
    }

    /// What `name` means in this directory. Asks no database.
    ///
    /// # Errors
    /// [`FsError::TooManyClauses`];
    /// [`FsError::Clause`] (EINVAL) for what is no clause or not allowed here, and for a result of an incomplete query;
    /// [`FsError::NotFound`] for names that programs probe and for links of an incomplete query.
    pub fn child(&self, name: &[u8]) -> Result<Child, FsError> {
        let name = std::str::from_utf8(name).map_err(|_| ClauseFault::NotText)?;
        if is_probe(name) {
            return Err(FsError::NotFound);
        }
        if let Some(kind) = ResultKind::from_name(name) {
            if kind != ResultKind::Help {
                self.clauses.check_complete(self.context())?;
            }
            return Ok(Child::Result(self.clone(), kind));
        }
        if name.starts_with(|first: char| first.is_ascii_digit()) && !name.contains('=') {
            let complete = self.clauses.check_complete(self.context()).is_ok();
            let target = self.link_target(name).filter(|_| complete).ok_or(FsError::NotFound)?;
            return Ok(Child::Link { target });
        }
        if self.names.len() >= CLAUSES_MAX {
            return Err(FsError::TooManyClauses);
        }
        let clause = clause::parse(name, self.context())?;
        let clauses = self.clauses.with(clause, name, self.context())?;
        let mut names = self.names.clone();
        names.push(Arc::from(name));
        Ok(Child::Dir(Self { names, clauses, ..self.clone() }))
    }

    fn index_schema(&self) -> Option<&IndexSchema> {
        self.index.as_ref().and_then(|index| self.schema.index(index.as_str()))
    }

    fn context(&self) -> Context<'_> {
        Context { schema: &self.schema, index: self.index_schema(), kind: self.kind }
    }
}

impl PartialEq for QueryPath {
    fn eq(&self, other: &Self) -> bool {
        (&self.schema.name, &self.index, self.kind, &self.names) == (&other.schema.name, &other.index, other.kind, &other.names)
            && self.saved_identity() == other.saved_identity()
    }
}

impl Eq for QueryPath {}

impl Hash for QueryPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.schema.name, &self.index, self.kind, &self.names, self.saved_identity()).hash(state);
    }
}
