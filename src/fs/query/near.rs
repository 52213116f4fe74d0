//! `near/` of a vector index: the items whose vectors are nearest to one, by SearchVectors. A path begins at an item of the table, named
//! as a link of `scan/` names it (`near/<folder>,<name>/`), or at numbers (`near/@vector=1,0.5,…/`). Conditions on the attributes of the
//! SearchSchema are clauses by their names.
//!
//! Each result has its score as the attribute [`SCORE`], which a name in an expression cannot be without a placeholder.

use super::{
    clause_fault::ClauseFault,
    context::SCORE,
    filter::ExpressionBuilder,
    near_clause,
    query_path::{NearStart, PartitionClause, QueryPath},
    request::internal_json,
};
use crate::codec::{record::ResultRow, sanitize, wire};
use crate::database::RowSink;
use crate::expr::{ProjectionPaths, SortRange};
use crate::fs::{path::names::item_path, prelude::*};
use crate::model::{
    KeySchema,
    api::{Page, SearchVectorsRequest},
    error::StoreError,
    limits::TOP_K_MAX,
    schema::VectorAttribute,
};

/// The tag of the condition on the HASH.
const HASH_TAG: &str = "pk";
/// Results of a path without `top=`.
const TOP_DEFAULT: u32 = 10;

/// The search of a path, run once.
#[derive(Debug)]
pub(super) struct NearSearch {
    request: SearchVectorsRequest,
    key: KeySchema,
    /// Attributes that were added to the projection to know the item.
    added: Vec<String>,
    /// The item that the search begins from.
    start: Option<Key>,
    /// Results at most.
    top: u32,
    is_done: bool,
}

impl NearSearch {
    /// Prepares the search; reads the item that it begins from.
    ///
    /// # Errors
    /// [`FsError::NoStart`] for an item that does not exist, [`FsError::Clause`] for one without the vector.
    pub fn new(
        path: &QueryPath,
        db: &dyn Browse,
        projection: Option<&ProjectionPaths>,
    ) -> Result<Self, FsError> {
        let vector = path
            .index_schema()
            .and_then(|index| index.vector.as_ref())
            .ok_or(FsError::NotFound)?;
        let top = path.clauses.top.unwrap_or(TOP_DEFAULT);
        let (numbers, start, item) = match path.clauses.near.clone().ok_or(FsError::NotFound)? {
            NearStart::Vector(numbers) => (numbers, None, None),
            NearStart::Item(key) => {
                let table = SourceName::from(&path.schema().name);
                let found = db.item(&table, &key.clone().into())?;
                let missing = || FsError::NoStart(item_path(&key));
                let (item, _) = found.ok_or_else(missing)?;
                (vector_of(&item, vector)?, Some(key), Some(item))
            }
        };
        let mut expression = ExpressionBuilder::default();
        let conditions = conditions(path, item.as_ref());
        let has_hash = conditions.iter().any(|(tag, ..)| tag == HASH_TAG);
        if !has_hash && !path.context().keys().partition.is_empty() {
            return Err(near_clause::no_hash(path.context()).into());
        }
        let conditions: Vec<String> = conditions
            .into_iter()
            .map(|(tag, name, value)| expression.condition(&tag, name, &SortRange::Equal(value)))
            .collect();
        let key = &path.schema().key;
        let mut paths = projection.map(|paths| paths.paths().to_vec());
        let mut added = Vec::new();
        if let (Some(paths), Some(_)) = (&mut paths, &start) {
            let names = key.attributes().map(|key| key.name.clone());
            added.extend(names.filter(|name| !paths.iter().any(|path| path.head == *name)));
            paths.extend(added.iter().map(DocumentPath::top_level));
        }
        let projection = paths.map(|paths| expression.projection(&paths));
        Ok(Self {
            request: SearchVectorsRequest {
                search_condition_expression: (!conditions.is_empty())
                    .then(|| conditions.join(" AND ")),
                projection_expression: projection,
                placeholders: expression.placeholders(),
                ..SearchVectorsRequest::new(
                    path.schema().name.clone(),
                    path.index().cloned().ok_or(FsError::NotFound)?,
                    numbers,
                    // The item itself is the nearest as a rule.
                    (top + u32::from(start.is_some())).min(TOP_K_MAX),
                )
            },
            key: key.clone(),
            added,
            start,
            top,
            is_done: false,
        })
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Runs the search and gives its results, nearest first; `None` if it has run.
    ///
    /// # Errors
    /// Errors of SearchVectors.
    pub fn next(
        &mut self,
        db: &dyn Browse,
        charges: &mut Vec<DeferredCharge>,
        rows: &mut RowSink<'_>,
    ) -> Result<Option<Page>, FsError> {
        if self.is_done {
            return Ok(None);
        }
        let (found, charge) = db.search_vectors_unbilled(&self.request)?;
        charges.push(charge);
        self.is_done = true;
        let mut page = Page::empty(self.request.table_name.clone());
        let index = self.request.index_name.as_str().to_owned();
        page.consumed_capacity
            .vector_indexes
            .insert(index, found.consumed_bytes as f64);
        for result in found.search_results {
            let mut item = result.item.attributes;
            let is_start = self
                .start
                .as_ref()
                .is_some_and(|start| item.key(&self.key).as_ref() == Some(start));
            if is_start || page.count == u64::from(self.top) {
                continue;
            }
            for name in &self.added {
                item.0.remove(name);
            }
            item.0.insert(SCORE.to_owned(), score(result.score)?);
            rows(ResultRow::Item(&item));
            page.count += 1;
        }
        Ok(Some(page))
    }
}

fn score(score: f64) -> Result<AttributeValue, FsError> {
    let number = score.to_string().parse();
    number
        .map(AttributeValue::N)
        .map_err(|_| FsError::Database(StoreError::Corrupt("a score is no number").into()))
}

fn vector_of(item: &Item, vector: &VectorAttribute) -> Result<Vec<AttributeValue>, FsError> {
    match item.get(&vector.name) {
        Some(AttributeValue::L(numbers)) => Ok(numbers.clone()),
        _ => Err(ClauseFault::new(
            format!(
                "the item has no list {}, so that it has no neighbours",
                vector.name
            ),
            "missing.ndjson of the index has each item that is not in it, with the reason",
        )
        .into()),
    }
}

/// Returns the conditions on attributes of the SearchSchema, each with its tag: those of the clauses, and for the partition key that no clause
/// gives the item's own value.
fn conditions<'a>(
    path: &'a QueryPath,
    item: Option<&'a Item>,
) -> Vec<(String, &'a str, AttributeValue)> {
    let keys = path.context().keys();
    let given = match &path.clauses.partition {
        PartitionClause::Values(values) => values.get(&0),
        PartitionClause::Alias(_) | PartitionClause::Shards(_) => None,
    };
    let partition = keys.partition.iter().filter_map(|key| {
        let value = given.or_else(|| item?.get(&key.name))?;
        Some((HASH_TAG.to_owned(), key.name.as_str(), value.clone()))
    });
    let filters = path.clauses.sort.iter().filter_map(|(&place, range)| {
        let SortRange::Equal(value) = range else {
            return None;
        };
        Some((
            format!("f{}", place + 1),
            keys.sort[place].name.as_str(),
            value.clone(),
        ))
    });
    partition.chain(filters).collect()
}

/// Renders `request.json`, as `aws dynamodb search-vectors --cli-input-json` takes it.
pub(super) fn request_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let projection = path.projection()?;
    let search = NearSearch::new(path, db, projection.as_ref())?;
    let mut request = Vec::new();
    wire::encode_request(&search.request, &mut request);
    let request: Value = serde_json::from_slice(&request).map_err(internal_json)?;
    Ok(sanitize::json(&format!("{request:#}\n")).into_bytes())
}

/// Renders `explain.json`: an exact search reads each vector of the index or of its partition.
pub(super) fn explain_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let stats = db.stats(&path.source())?;
    let keys = path.context().keys();
    let is_whole = keys.partition.is_empty();
    let cheaper =
        is_whole.then_some("a HASH in the SearchSchema makes a search read one partition");
    let text = json!({
        "operation": path.kind().operation(),
        "table": path.schema().name.as_str(),
        "index": path.index().map(|index| index.as_str()),
        "index_kind": "vector",
        "items": { "at_least": if is_whole { stats.entries } else { 0 }, "at_most": stats.entries },
        "bytes": { "at_least": if is_whole { stats.bytes } else { 0 }, "at_most": stats.bytes },
        "cheaper": cheaper,
    });
    Ok(sanitize::json(&format!("{text:#}\n")).into_bytes())
}
