//! A query path: the clauses so far, the meaning of a name in its directory, and the saved request
//! that it may begin with (`queries/<name>/`: its first clauses are those of a Query or Scan
//! request of the API).

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{Hash, Hasher},
};

use super::{
    clause_fault::ClauseFault,
    context::{QueryContext, QueryKind},
    filter::WhereFilter,
    token::PageToken,
};
use crate::codec::{digest::Digest, json::document::Document, wire};
use crate::expr::{KeyConditionShape, PlaceholderScope, SortRange, projection};
use crate::fs::prelude::*;
use crate::model::{
    IndexName, IndexSchema,
    api::{ConditionParameter, QueryRequest, ScanRequest, Segment, Select},
};

/// A `query/` or `scan/` directory, or a directory of clauses below one.
///
/// Equal and hashed by table, index, kind, saved request and the clauses' names as typed.
#[derive(Debug, Clone)]
pub struct QueryPath {
    pub(super) schema: Arc<TableSchema>,
    pub(super) index: Option<IndexName>,
    pub(super) kind: QueryKind,
    /// The saved request that the path begins with.
    pub(super) saved: Option<SavedPrefix>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) clauses: Clauses,
}

/// The saved request that a path begins with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SavedPrefix {
    pub name: String,
    /// Digest of the request's text: a changed text makes another path.
    pub digest: Digest,
    /// The clauses that the request stands for.
    pub clauses: Arc<Clauses>,
}

impl QueryPath {
    /// Creates the path of the `query/` or `scan/` directory itself.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the table has no such index.
    pub fn new(
        schema: Arc<TableSchema>,
        index: Option<&IndexName>,
        kind: QueryKind,
    ) -> Result<Self, FsError> {
        let found = index.map(|index| schema.index(index.as_str()).ok_or(FsError::NotFound));
        let is_of_vectors = found
            .transpose()?
            .is_some_and(|index| index.kind == IndexKind::Vector);
        if is_of_vectors != (kind == QueryKind::Near) {
            return Err(FsError::NotFound);
        }
        Ok(Self {
            schema,
            index: index.cloned(),
            kind,
            saved: None,
            names: Vec::new(),
            clauses: Clauses::default(),
        })
    }

    /// Returns the bytes that identify the saved request that the path begins with; empty without
    /// one. Together with table, index, kind and names they identify the directory.
    #[must_use]
    pub fn saved_identity(&self) -> Vec<u8> {
        self.saved.as_ref().map_or_else(Vec::new, |saved| {
            [&saved.digest[..], saved.name.as_bytes()].concat()
        })
    }

    /// Returns the clauses' names so far, as typed. Together with table, index, kind and saved
    /// request they identify the directory.
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

    /// Returns the table or index that is read.
    #[must_use]
    pub fn source(&self) -> SourceName {
        self.context().source()
    }

    pub(super) fn index_schema(&self) -> Option<&IndexSchema> {
        self.index
            .as_ref()
            .and_then(|index| self.schema.index(index.as_str()))
    }

    pub(super) fn context(&self) -> QueryContext<'_> {
        QueryContext {
            schema: &self.schema,
            index: self.index_schema(),
            kind: self.kind,
        }
    }
}

impl PartialEq for QueryPath {
    fn eq(&self, other: &Self) -> bool {
        (&self.schema.name, &self.index, self.kind, &self.names)
            == (&other.schema.name, &other.index, other.kind, &other.names)
            && self.saved_identity() == other.saved_identity()
    }
}

impl Eq for QueryPath {}

impl Hash for QueryPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (
            &self.schema.name,
            &self.index,
            self.kind,
            &self.names,
            self.saved_identity(),
        )
            .hash(state);
    }
}

pub(super) const CONSISTENT: &str = "consistent";
pub(super) const DESC: &str = "desc";
pub(super) const TYPED: &str = "typed";

/// The parsed clauses of a path, each part at most once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clauses {
    pub partition: PartitionClause,
    /// Conditions on the sort key, by position of the attribute in it.
    pub sort: BTreeMap<usize, SortRange>,
    /// Clauses without a value, by their words.
    words: BTreeSet<&'static str>,
    pub select: Option<Vec<DocumentPath>>,
    /// Items to return at most.
    pub limit: Option<u64>,
    /// Items to evaluate at most.
    pub eval: Option<u64>,
    pub after: Option<PageToken>,
    pub segment: Option<Segment>,
    /// All of them must hold.
    pub filters: Vec<Arc<WhereFilter>>,
    /// The vector that a search begins from.
    pub near: Option<NearStart>,
    /// Results of a search at most.
    pub top: Option<u32>,
}

/// The vector that a search begins from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NearStart {
    /// That of the item, which is no result itself.
    Item(Key),
    Vector(Vec<AttributeValue>),
}

/// The partition key of a query, as far as the clauses give it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartitionClause {
    /// Values of the key's attributes, by position.
    Values(BTreeMap<usize, AttributeValue>),
    Alias(PartitionAlias),
    /// One value for each shard of a write-sharded key of one attribute, in the order of their
    /// numbers.
    Shards(Arc<[AttributeValue]>),
}

impl Default for PartitionClause {
    fn default() -> Self {
        Self::Values(BTreeMap::new())
    }
}

/// A shortened partition key: its name was too long for a file name. Resolved when the query runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionAlias {
    /// The name as typed, `<prefix>%~<digest>`.
    pub name: String,
    pub digest: Digest,
}

impl PartitionClause {
    /// Adds values by position; returns false if one of the positions had a value.
    pub fn add(&mut self, values: impl IntoIterator<Item = (usize, AttributeValue)>) -> bool {
        match self {
            Self::Alias(_) | Self::Shards(_) => false,
            Self::Values(known) => values
                .into_iter()
                .all(|(position, value)| known.insert(position, value).is_none()),
        }
    }

    /// Sets the whole key; returns false if a part of it was set.
    pub fn set(&mut self, partition: Self) -> bool {
        let is_first = *self == Self::default();
        if is_first {
            *self = partition;
        }
        is_first
    }
}

impl Clauses {
    /// True if there is a clause of this word without a value.
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Adds a clause without a value; returns false if it was there.
    pub fn add_word(&mut self, word: &'static str) -> bool {
        self.words.insert(word)
    }

    pub fn add_filter(&mut self, filter: WhereFilter) -> bool {
        self.filters.push(Arc::new(filter));
        true
    }

    pub fn is_descending(&self) -> bool {
        self.has(DESC)
    }
}

/// The meaning of a name below a [`QueryPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryChild {
    /// One more clause.
    Dir(QueryPath),
    /// A file that holds a result of the query so far.
    Result(QueryPath, ResultKind),
    /// An entry of the listing (`000001,<name>.json`): a symlink to the item or index entry. The
    /// target may be absent.
    Link {
        /// Relative to the directory that holds the link.
        target: String,
    },
}

/// The maximum number of clauses of a path. Each directory of a path is a node of its own, with a
/// request made of all its clauses; nodes of one path share their common parts.
pub const CLAUSES_MAX: usize = 64;

/// Names that programs probe for in any directory; they must not be logged as failed clauses.
const PROBED_NAMES: [&str; 15] = [
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

/// True if the name is not parsed as a clause: a hidden name, a name that programs probe for, or a
/// glob without matches that the shell passed on.
fn is_probe(name: &str) -> bool {
    name.starts_with('.')
        || PROBED_NAMES.contains(&name)
        || (name.contains(['*', '?']) && !name.contains('='))
}

impl QueryPath {
    /// Resolves `name` in this directory, without access to the database.
    ///
    /// # Errors
    /// [`FsError::TooManyClauses`]; [`FsError::Clause`] (EINVAL) for a name that is no clause or
    /// not allowed here, and for a result of an incomplete query; [`FsError::NotFound`] for names
    /// that programs probe for and for links of an incomplete query.
    pub fn child(&self, name: &[u8]) -> Result<QueryChild, FsError> {
        let name = std::str::from_utf8(name)
            .map_err(|_| ClauseFault::new("a clause is UTF-8 text", "write bytes as %XX"))?;
        if is_probe(name) {
            return Err(FsError::NotFound);
        }
        if let Some(kind) = ResultKind::from_name(name) {
            if kind != ResultKind::Help {
                self.clauses.check_complete(self.context())?;
            }
            if self.kind == QueryKind::Near && kind.is_of_pages() {
                return Err(ClauseFault::new(
                    format!("a search has no pages, and so no {name}"),
                    "items.ndjson has all of its results",
                )
                .into());
            }
            return Ok(QueryChild::Result(self.clone(), kind));
        }
        let is_numbered = name.starts_with(|first: char| first.is_ascii_digit());
        let complete = self.clauses.check_complete(self.context()).is_ok();
        // A search begins at an item, whose name may be a number's too.
        let may_be_link = complete || self.kind != QueryKind::Near;
        if is_numbered && may_be_link && !name.contains('=') {
            let target = self
                .link_target(name)
                .filter(|_| complete)
                .ok_or(FsError::NotFound)?;
            return Ok(QueryChild::Link { target });
        }
        if self.names.len() >= CLAUSES_MAX {
            return Err(FsError::TooManyClauses);
        }
        let clauses = self.clauses.with(name, self.context())?;
        let mut names = self.names.clone();
        names.push(Arc::from(name));
        Ok(QueryChild::Dir(Self {
            names,
            clauses,
            ..self.clone()
        }))
    }
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
    /// A header and a record an item: see `csv`.
    ItemsCsv,
    /// Base items' paths relative to the table's directory, one a line, safe for `xargs`.
    Keys,
    /// The number of results and a newline.
    Count,
    /// One page of the API: `Items`, `Count`, `ScannedCount`, `next` (for `after=`, or null),
    /// `ConsumedCapacity`. One snapshot.
    PageJson,
    /// The token after that page, for `after=`, and a newline; empty when it is the last.
    Next,
    /// The API request, as `aws dynamodb query --cli-input-json` takes it.
    RequestJson,
    /// Estimate of the work and cost of the query, made before it runs.
    ExplainJson,
    /// The capacity units that reading all of it consumes; a read of this file runs the query.
    CapacityJson,
    /// The syntax of these paths, with the table's own attribute names.
    Help,
}

impl ResultKind {
    /// Each kind with its file's name and its line in the help; the help has no line for itself.
    pub(super) const TABLE: [(Self, &'static str, &'static str); 12] = [
        (Self::ItemsNdjson, "items.ndjson", "an item a line"),
        (Self::ItemsJson, "items.json", "one JSON array"),
        (
            Self::ItemsDdbJson,
            "items.ddbjson",
            "DynamoDB JSON, an item a line",
        ),
        (
            Self::ItemsCsv,
            "items.csv",
            "a header and a line an item; select= names the columns",
        ),
        (
            Self::Keys,
            "keys",
            "paths of the items from the table's directory, a line each",
        ),
        (Self::Count, "count", "how many"),
        (
            Self::PageJson,
            "page.json",
            "one page: Items, Count, ScannedCount, next, ConsumedCapacity",
        ),
        (
            Self::Next,
            "next",
            "the token after that page, for after=; empty after the last",
        ),
        (
            Self::RequestJson,
            "request.json",
            "the API request, for aws --cli-input-json",
        ),
        (
            Self::ExplainJson,
            "explain.json",
            "what it will read and cost, and what would be cheaper",
        ),
        (
            Self::CapacityJson,
            "capacity.json",
            "runs it: capacity units consumed, in all, by table and by index",
        ),
        (Self::Help, "help", ""),
    ];

    /// Returns the file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let (kind, name, _) = Self::TABLE[self as usize];
        debug_assert_eq!(kind, self, "the table is in the order of the kinds");
        name
    }

    /// True if it is about one page of several.
    pub(super) fn is_of_pages(self) -> bool {
        matches!(self, Self::PageJson | Self::Next)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::TABLE
            .into_iter()
            .find(|(_, known, _)| *known == name)
            .map(|(kind, ..)| kind)
    }
}

impl QueryPath {
    /// Parses the request in `text`, saved as `<name>.json`, into a path. A request without
    /// `TableName` is of this table.
    ///
    /// # Errors
    /// [`FsError::Body`] and [`FsError::Database`] for a text that is no request,
    /// [`FsError::Clause`] for a request that cannot be saved.
    pub fn of_request(schema: Arc<TableSchema>, name: &str, text: &[u8]) -> Result<Self, FsError> {
        let mut json: Value =
            Document::parse_value(text).map_err(|error| FsError::Body(error.to_string()))?;
        if let Some(members) = json.as_object_mut() {
            let table = members
                .entry("TableName")
                .or_insert_with(|| schema.name.as_str().into());
            if table.as_str() != Some(schema.name.as_str()) {
                return Err(refused(
                    "TableName",
                    "a query is saved with the table that it reads; leave TableName out",
                ));
            }
        }
        let is_query = ["KeyConditionExpression", "KeyConditions"]
            .iter()
            .any(|member| json.get(member).is_some());
        let document = Document::from_value(&json);
        let (kind, saved) = if is_query {
            let request = wire::request::<QueryRequest>(document.root())?;
            (
                QueryKind::Query,
                SavedRequest {
                    request,
                    segment: None,
                },
            )
        } else {
            (
                QueryKind::Scan,
                wire::request::<ScanRequest>(document.root())?.into(),
            )
        };
        let path = Self::new(schema, saved.request.index_name.as_ref(), kind)
            .map_err(|_| refused("IndexName", "the table has no such index"))?;
        let clauses = saved.clauses(path.context())?;
        let saved = SavedPrefix {
            name: name.to_owned(),
            digest: digest(text),
            clauses: Arc::new(clauses.clone()),
        };
        Ok(Self {
            saved: Some(saved),
            clauses,
            ..path
        })
    }

    /// Returns the name of the saved request that the path begins with.
    #[must_use]
    pub fn saved_name(&self) -> Option<&str> {
        self.saved.as_ref().map(|saved| saved.name.as_str())
    }

    /// Returns the directory that the clauses begin in: the `query/` or `scan/` directory, or that
    /// of the saved request.
    #[must_use]
    pub fn clause_root(&self) -> Self {
        let clauses = self
            .saved
            .as_ref()
            .map(|saved| (*saved.clauses).clone())
            .unwrap_or_default();
        Self {
            names: Vec::new(),
            clauses,
            ..self.clone()
        }
    }
}

fn refused(member: &'static str, hint: &'static str) -> FsError {
    ClauseFault::new(format!("{member} of this request cannot be saved"), hint).into()
}

/// A Query or Scan request.
pub(super) struct SavedRequest {
    /// The request; a scan as a query without key condition, ascending.
    pub request: QueryRequest,
    pub segment: Option<Segment>,
}

impl From<ScanRequest> for SavedRequest {
    fn from(scan: ScanRequest) -> Self {
        let request = QueryRequest {
            index_name: scan.index_name,
            key_condition_expression: None,
            filter: scan.filter,
            projection_expression: scan.projection_expression,
            attributes_to_get: scan.attributes_to_get,
            select: scan.select,
            limit: scan.limit,
            consistent_read: scan.consistent_read,
            exclusive_start_key: scan.exclusive_start_key,
            ..QueryRequest::new(scan.table_name, "", scan.placeholders)
        };
        Self {
            request,
            segment: scan.segment,
        }
    }
}

impl SavedRequest {
    fn clauses(&self, context: QueryContext<'_>) -> Result<Clauses, FsError> {
        let (mut clauses, request) = (Clauses::default(), &self.request);
        let mut scope = PlaceholderScope::new(&request.placeholders);
        let shape = match (&request.key_condition_expression, &request.key_conditions) {
            (Some(text), _) => {
                Some(KeyConditionShape::parse(text, &mut scope).map_err(Error::from)?)
            }
            (None, Some(conditions)) => {
                Some(KeyConditionShape::from_legacy(conditions).map_err(Error::from)?)
            }
            (None, None) if context.kind == QueryKind::Query => {
                return Err(refused("KeyConditionExpression", "a query needs one"));
            }
            (None, None) => None,
        };
        if let Some(shape) = shape {
            clauses.add_key(shape.resolve(context.keys())?);
        }
        if request.exclusive_start_key.is_some() {
            return Err(refused(
                "ExclusiveStartKey",
                "a saved query begins at its start; go on with after=",
            ));
        }
        if matches!(request.select, Some(Select::AllAttributes)) && context.index.is_some() {
            return Err(refused(
                "Select",
                "leave it out, and name what is to be fetched in ProjectionExpression",
            ));
        }
        match &request.filter {
            ConditionParameter::None => {}
            ConditionParameter::Expression(text) => {
                let filter = WhereFilter::of_expression(text, &request.placeholders)?;
                filter.check_attributes(context)?;
                clauses.filters.push(Arc::new(filter));
            }
            ConditionParameter::Legacy(_) => {
                return Err(refused("QueryFilter", "write it as a FilterExpression"));
            }
        }
        clauses.select = match (&request.projection_expression, &request.attributes_to_get) {
            (Some(text), _) => Some(projection::parse(text, &mut scope)?.paths().to_vec()),
            (None, Some(names)) => Some(names.iter().map(DocumentPath::top_level).collect()),
            (None, None) => None,
        };
        clauses.add_saved(self);
        Ok(clauses)
    }
}
