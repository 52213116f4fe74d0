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
//! | a lookup must be cheap and without effect | parsing needs only the schema; the database is first asked by [`ResultReader::read`] or [`QueryPath::listing`] |
//! | a result may be larger than memory | [`ResultReader`] holds a page or two |
//! | the size of a result is not known before the query ran | [`ResultSize`] |
//! | a position in a result must fit in a file name, keys go up to 3 KB | `token`: short keys as they are, long ones by prefix and digest |
//! | a listed link must be resolved without running the query | the link's name holds the entry's own name (`link`) |
//!
//! Nothing here knows fuser; nothing keeps state but [`ResultReader`].

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::database::{Browse, Position};
use crate::fs::FsError;
use crate::model::{IndexName, TableSchema};

/// Query or Scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueryKind {
    Query,
    Scan,
}

/// A `query/` or `scan/` directory, or a directory of clauses below one.
///
/// Equal and hashed by table, index, kind and the clauses' names as typed.
#[derive(Debug, Clone)]
pub struct QueryPath {
    schema: Arc<TableSchema>,
    index: Option<IndexName>,
    kind: QueryKind,
    names: Vec<String>,
}

/// What a name below a [`QueryPath`] is.
#[derive(Debug, Clone)]
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

/// The result files. They exist for lookup only and are never listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Plain JSON, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsNdjson,
    /// A JSON array, an item a line; DynamoDB JSON below a `typed` clause.
    ItemsJson,
    /// DynamoDB JSON, an item a line.
    ItemsDdbJson,
    /// Base items' paths relative to the table's directory, one a line, safe for `xargs`.
    Keys,
    /// The number of results and a newline.
    Count,
    /// One page of the API: `Items`, `Count`, `ScannedCount`, `next`, `ConsumedCapacity`.
    PageJson,
    /// The API request, as `aws dynamodb query --cli-input-json` takes it.
    RequestJson,
    /// How to write these paths, with the table's own attribute names.
    Help,
}

/// What `stat` shows as a result file's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultSize {
    Exact(u64),
    /// Not known before the query ran: report 0 and open with direct I/O, as /proc does.
    Unknown,
}

/// An open result file.
#[derive(Debug)]
pub struct ResultReader {
    path: QueryPath,
    kind: ResultKind,
}

impl QueryPath {
    /// The `query/` or `scan/` directory itself.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the table has no such index.
    pub fn new(schema: Arc<TableSchema>, index: Option<&IndexName>, kind: QueryKind) -> Result<Self, FsError> {
        let _ = (schema, index, kind);
        todo!()
    }

    /// The clauses' names so far, as typed; with table, index and kind they identify the directory.
    #[must_use]
    pub fn names(&self) -> &[String] {
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

    /// What `name` means in this directory. Asks no database.
    ///
    /// # Errors
    /// [`FsError::Clause`] (EINVAL) for what is no clause or not allowed here; [`FsError::NotFound`] for names that programs probe.
    pub fn child(&self, name: &[u8]) -> Result<Child, FsError> {
        let _ = name;
        todo!()
    }

    /// The size of a result file. Asks no database.
    #[must_use]
    pub fn size(&self, kind: ResultKind) -> ResultSize {
        let _ = kind;
        todo!()
    }

    /// Opens a result file; the query runs as it is read.
    #[must_use]
    pub fn open(&self, kind: ResultKind) -> ResultReader {
        ResultReader { path: self.clone(), kind }
    }

    /// The whole result file.
    pub fn render(&self, db: &dyn Browse, kind: ResultKind) -> Result<Vec<u8>, FsError> {
        let _ = (db, kind);
        todo!()
    }

    /// Lists the directory: `000001,<name>.json` in result order, each a symlink ([`Child::Link`]), strictly after `after`.
    /// Nothing while the query is not complete. Constant memory.
    pub fn listing(
        &self,
        db: &dyn Browse,
        after: Option<&Position>,
        visit: &mut dyn FnMut(String, Position) -> ControlFlow<()>,
    ) -> Result<(), FsError> {
        let _ = (db, after, visit);
        todo!()
    }
}

impl ResultReader {
    /// The bytes at `offset`, at most `size`; fewer only at the end. Made for reading forward: memory stays at a page or two;
    /// going back further runs the query again. Each page is its own snapshot.
    pub fn read(&mut self, db: &dyn Browse, offset: u64, size: usize) -> Result<&[u8], FsError> {
        let _ = (db, offset, size, &self.path, self.kind);
        todo!()
    }
}
