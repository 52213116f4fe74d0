//! A query path: what its clauses so far say, and what of it is asked for.

use std::hash::{Hash, Hasher};

use super::clauses::Clauses;
use super::source::{Context, QueryKind};

use crate::codec::digest::Digest;
use crate::fs::prelude::*;
use crate::model::{IndexName, IndexSchema};

/// A `query/` or `scan/` directory, or a directory of clauses below one.
///
/// Equal and hashed by table, index, kind, saved request and the clauses' names as typed.
#[derive(Debug, Clone)]
pub struct QueryPath {
    pub(super) schema: Arc<TableSchema>,
    pub(super) index: Option<IndexName>,
    pub(super) kind: QueryKind,
    /// The saved request that the path begins with.
    pub(super) saved: Option<Saved>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) clauses: Clauses,
}

/// Where a path begins that begins with a saved request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Saved {
    pub name: String,
    /// Of the request's text: another text is another path.
    pub digest: Digest,
    /// What the request says.
    pub clauses: Arc<Clauses>,
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
        self.context().source()
    }

    pub(super) fn index_schema(&self) -> Option<&IndexSchema> {
        self.index.as_ref().and_then(|index| self.schema.index(index.as_str()))
    }

    pub(super) fn context(&self) -> Context<'_> {
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
