//! SearchVectors: the entries of a vector index that are nearest to a vector. The search is exact: it
//! reads every entry of the index, or of one HASH value, in the pages of the store.

use std::collections::{BTreeSet, BinaryHeap};

use crate::codec::{
    key::partition_digest,
    vector::{self, ELEMENT_BYTES},
};
use crate::engine::{
    base::item_key::is_empty_key, catalog::entry::BuildPhase, index::IndexView,
    read::source::ReadSource, runtime::prelude::*,
};
use crate::expr::{
    Condition, PlaceholderScope, Predicate, ProjectionPaths,
    condition::{self, Operand},
    order::Comparator,
    projection,
};
use crate::model::{
    AttributeType, DocumentPath,
    api::{
        SearchVectorsRequest, SearchVectorsResponse,
        items::{FoundItem, SearchResult},
    },
    error::{KeyError, QueryError, expression::ExpressionParameter},
    limits::TOP_K_MAX,
    schema::{DistanceFunction, VectorAttribute},
};

/// The bytes of the returned items after which no more are returned.
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

impl Engine {
    /// Finds the items with the nearest vectors.
    ///
    /// # Errors
    /// Fails with `Query`, `Expression`, `ResourceNotFound` or `Key`, or with an error of the store.
    pub fn search_vectors(
        &self,
        request: &SearchVectorsRequest,
    ) -> Result<SearchVectorsResponse, Error> {
        let view = self.view()?;
        let (response, bill) = search(&view, request)?;
        bill.spend(&view)?;
        Ok(response)
    }

    /// Finds the items as [`Engine::search_vectors`] does, without counting the bytes: they are in
    /// the bill.
    ///
    /// # Errors
    /// Those of [`Engine::search_vectors`].
    pub fn search_vectors_unbilled(
        &self,
        request: &SearchVectorsRequest,
    ) -> Result<(SearchVectorsResponse, SearchBill), Error> {
        search(&self.view()?, request)
    }
}

/// Finds the items in the data of that view.
fn search(
    view: &ReadView<'_>,
    request: &SearchVectorsRequest,
) -> Result<(SearchVectorsResponse, SearchBill), Error> {
    if !(1..=TOP_K_MAX).contains(&request.top_k) {
        return Err(QueryError::TopK(request.top_k).into());
    }
    let text = request.search_condition_expression.as_deref();
    let mut scope = PlaceholderScope::checked(
        &request.placeholders,
        text.is_some() || request.projection_expression.is_some(),
        text.is_none().then_some(ExpressionParameter::OF_SEARCH),
    )?;
    let parameter = ExpressionParameter::SearchCondition;
    let condition = text
        .map(|text| condition::parse_parameter(text, parameter, &mut scope))
        .transpose()?;
    let equalities = condition.as_ref().map(equalities).transpose()?;
    let paths = request.projection_expression.as_deref();
    let paths = paths
        .map(|text| projection::parse(text, &mut scope))
        .transpose()?;
    let source = find(view, request)?;
    let Some((index, vector)) = vector_index(&source) else {
        return Err(QueryError::UnknownIndex(request.index_name.as_str().to_owned()).into());
    };
    let query = query_vector(request, vector)?;
    let search = Search {
        filter: Filter::new(index.index, equalities)?,
        score: Score::new(vector.distance, query),
        index,
    };
    scope.finish()?;
    let found = search.nearest(view, request.top_k as usize)?;
    let response = search.response(view, found, paths.as_ref())?;
    let bill = SearchBill {
        table: Arc::clone(&source.table),
        source: source.id(),
        bytes: response.consumed_bytes as f64,
    };
    Ok((response, bill))
}

/// The bytes of a search, to be counted when its results are delivered.
#[derive(Debug)]
pub struct SearchBill {
    table: Arc<TableEntry>,
    source: SourceId,
    bytes: f64,
}

impl SearchBill {
    /// Counts the bytes.
    ///
    /// # Errors
    /// Fails with an error of the store.
    pub fn spend(&self, view: &ReadView<'_>) -> Result<(), Error> {
        let meter = (view.meter()).source(view.read(), &self.table, self.source)?;
        meter.count_vector(view.now_ms(), self.bytes, false);
        Ok(())
    }
}

/// Returns the table and its index.
fn find(view: &ReadView<'_>, request: &SearchVectorsRequest) -> Result<ReadSource, Error> {
    let name = &request.index_name;
    let building = view.active_table(&request.table_name)?;
    let building = building.index_life.building.as_ref();
    match building
        .filter(|building| building.index == *name)
        .map(|building| building.phase)
    {
        Some(BuildPhase::Allocation { .. }) => {
            Err(QueryError::UnknownIndex(name.as_str().to_owned()).into())
        }
        Some(BuildPhase::Backfill) => {
            Err(QueryError::SearchBackfilling(name.as_str().to_owned()).into())
        }
        None => ReadSource::find(view, &request.table_name, Some(name)),
    }
}

fn vector_index(source: &ReadSource) -> Option<(IndexView<'_>, &VectorAttribute)> {
    let index = source.index_view()?;
    Some((index, index.index.vector.as_ref()?))
}

fn query_vector(
    request: &SearchVectorsRequest,
    vector: &VectorAttribute,
) -> Result<Vec<f64>, QueryError> {
    let elements = request.search_vector.iter();
    let query: Option<Vec<f64>> = elements
        .map(|value| vector::element(value).map(f64::from))
        .collect();
    let query = query.ok_or(QueryError::SearchValues)?;
    match query.len() {
        actual if actual as u64 != vector.dimensions => Err(QueryError::SearchDimensions {
            actual,
            expected: vector.dimensions,
        }),
        _ => Ok(query),
    }
}

// The condition: equalities of attributes of the search schema.

type Equality<'c> = (&'c DocumentPath, &'c AttributeValue);

fn equalities(condition: &Condition) -> Result<Vec<Equality<'_>>, QueryError> {
    let conjuncts = condition.conjuncts().into_iter();
    conjuncts
        .map(|part| match part {
            Condition::Test(Predicate::Compare(Comparator::Equal), operands) => {
                match operands.as_slice() {
                    [Operand::Path(path), Operand::Value(value)]
                    | [Operand::Value(value), Operand::Path(path)] => Ok((path, value)),
                    _ => Err(QueryError::SearchOperator),
                }
            }
            Condition::Test(Predicate::Compare(_), _) => Err(QueryError::SearchComparator),
            _ => Err(QueryError::SearchOperator),
        })
        .collect()
}

/// The entries that are searched.
struct Filter<'c> {
    /// The value of the HASH attribute, if the index has one.
    hash: Option<&'c AttributeValue>,
    /// Values of inline filters.
    inline: Vec<(&'c str, &'c AttributeValue)>,
}

impl<'c> Filter<'c> {
    fn new(index: &IndexSchema, equalities: Option<Vec<Equality<'c>>>) -> Result<Self, Error> {
        let hash = index.partition.first();
        let Some(equalities) = equalities else {
            return match hash {
                Some(_) => Err(QueryError::SearchWithoutHash.into()),
                None => Ok(Self {
                    hash: None,
                    inline: Vec::new(),
                }),
            };
        };
        let is_known = |name: &str| index.attributes().any(|attribute| attribute.name == name);
        if let Some((path, _)) = equalities.iter().find(|(path, _)| !is_known(&path.head)) {
            return Err(QueryError::SearchAttribute(path.head.clone()).into());
        }
        if equalities.iter().any(|(path, _)| !path.rest.is_empty()) {
            return Err(QueryError::SearchNested.into());
        }
        let names: BTreeSet<&str> = equalities.iter().map(|(path, _)| &*path.head).collect();
        if names.len() < equalities.len() {
            return Err(QueryError::SearchTwice.into());
        }
        if hash.is_some_and(|hash| !names.contains(&*hash.name)) {
            return Err(QueryError::SearchLacksHash.into());
        }
        let mut filter = Self {
            hash: None,
            inline: Vec::new(),
        };
        for (path, value) in equalities {
            let is_hash = hash.is_some_and(|hash| hash.name == path.head);
            check_operand(index, &path.head, value, is_hash)?;
            if is_hash {
                filter.hash = Some(value);
            } else {
                filter.inline.push((&path.head, value));
            }
        }
        Ok(filter)
    }

    fn range(&self, source: SourceId) -> KeyRange {
        self.hash.map_or_else(
            || Space::Entry.range(source),
            |value| KeyRange::prefix(&Space::Entry.key(source, &partition_digest(&[value]))),
        )
    }

    fn matches(&self, record: &Record<'_>) -> Result<bool, StoreError> {
        for (name, value) in &self.inline {
            if record.attribute(name)?.as_ref() != Some(value) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn check_operand(
    index: &IndexSchema,
    name: &str,
    value: &AttributeValue,
    is_hash: bool,
) -> Result<(), Error> {
    let mut attributes = index.attributes();
    let attribute = attributes.find(|attribute| attribute.name == name);
    let actual = value.attribute_type();
    let expected = attribute.map_or(actual, |attribute| {
        attribute.attribute_type.as_attribute_type()
    });
    let name = name.to_owned();
    if actual != expected {
        return Err(QueryError::SearchType {
            name,
            actual,
            expected,
        }
        .into());
    }
    match actual {
        AttributeType::B if is_hash && is_empty_key(value) => {
            Err(KeyError::EmptyBinary(name).into())
        }
        _ if is_hash && is_empty_key(value) => Err(KeyError::EmptyString(name).into()),
        _ => Ok(()),
    }
}

// Scores (docs/dynamodb.md 28.3): computed with 64 bits of the stored 32, and rounded to 32.

/// The sums that are kept side by side, so that the compiler computes several at once.
const LANES: usize = 8;

/// Sums the terms of a query and a stored vector of its length: two sums in one pass, of which the
/// compiler leaves out the one that is not used.
#[inline(always)]
fn sums(query: &[f64], stored: &[u8], terms: impl Fn(f64, f64) -> [f64; 2]) -> [f64; 2] {
    let (mut firsts, mut seconds) = ([0.0; LANES], [0.0; LANES]);
    let (blocks, rest) = query.as_chunks::<LANES>();
    let (stored_blocks, stored_rest) = stored.as_chunks::<{ LANES * ELEMENT_BYTES }>();
    for (query, stored) in blocks.iter().zip(stored_blocks) {
        let (elements, _) = stored.as_chunks::<ELEMENT_BYTES>();
        let lanes = firsts.iter_mut().zip(&mut seconds);
        for (((first, second), query), element) in lanes.zip(query).zip(elements) {
            let terms = terms(*query, f64::from(f32::from_le_bytes(*element)));
            *first += terms[0];
            *second += terms[1];
        }
    }
    let mut sums = [firsts.iter().sum(), seconds.iter().sum()];
    for (query, element) in rest.iter().zip(vector::elements(stored_rest)) {
        let terms = terms(*query, f64::from(element));
        sums[0] += terms[0];
        sums[1] += terms[1];
    }
    sums
}

/// The measure of a search, with its vector.
struct Score {
    distance: DistanceFunction,
    query: Vec<f64>,
    /// The sum of the squares of the query.
    squares: f64,
}

impl Score {
    fn new(distance: DistanceFunction, query: Vec<f64>) -> Self {
        // In the same order as those of a stored vector, so that equal vectors have equal sums.
        let no_vector = vec![0; query.len() * ELEMENT_BYTES];
        let [squares, _] = sums(&query, &no_vector, |query, _| [query * query, 0.0]);
        Self {
            distance,
            query,
            squares,
        }
    }

    /// Returns the score of a stored vector.
    #[allow(clippy::cast_possible_truncation)]
    fn of(&self, stored: &[u8]) -> f32 {
        let query = &self.query;
        let score = match self.distance {
            DistanceFunction::DotProduct => sums(query, stored, |a, b| [a * b, 0.0])[0],
            DistanceFunction::Euclidean => {
                sums(query, stored, |a, b| [(a - b) * (a - b), 0.0])[0].sqrt()
            }
            DistanceFunction::Cosine => {
                let [product, squares] = sums(query, stored, |a, b| [a * b, b * b]);
                // One root of the product, not two: it is exact for equal vectors.
                let norms = (self.squares * squares).sqrt();
                if norms == 0.0 {
                    1.0
                } else {
                    (1.0 - product / norms).clamp(0.0, 2.0)
                }
            }
        };
        score.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
    }

    /// Returns the order of a score: the least is the nearest.
    fn rank(&self, score: f32) -> f32 {
        match self.distance {
            DistanceFunction::DotProduct => -score,
            DistanceFunction::Cosine | DistanceFunction::Euclidean => score,
        }
    }
}

/// A found entry, ordered by nearness, then by its key.
#[derive(Debug)]
struct Found {
    rank: f32,
    score: f32,
    key: Vec<u8>,
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let ranks = self.rank.total_cmp(&other.rank);
        ranks.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Found {}

struct Search<'s> {
    index: IndexView<'s>,
    filter: Filter<'s>,
    score: Score,
}

impl Search<'_> {
    /// Returns the nearest entries, the nearest first.
    fn nearest(&self, view: &ReadView<'_>, top_k: usize) -> Result<Vec<Found>, StoreError> {
        let mut nearest: BinaryHeap<Found> = BinaryHeap::with_capacity(top_k + 1);
        let range = self.filter.range(self.index.source);
        try_walk(view.read(), &range, Direction::Forward, |key, value| {
            let score = self.score_of(value);
            let Some(score) = score.map_err(|error| locate(view.read(), key, error))? else {
                return Ok(ControlFlow::Continue(()));
            };
            let rank = self.score.rank(score);
            // Of equal ones the first in the order of keys stays.
            let is_far = |farthest: &Found| farthest.rank.total_cmp(&rank).is_le();
            if nearest.len() < top_k || !nearest.peek().is_some_and(is_far) {
                nearest.push(Found {
                    rank,
                    score,
                    key: key.to_vec(),
                });
                if nearest.len() > top_k {
                    nearest.pop();
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(nearest.into_sorted_vec())
    }

    /// Returns the score of an entry; `None` if the filter leaves it out.
    fn score_of(&self, value: &[u8]) -> Result<Option<f32>, StoreError> {
        let record = Record::parse(value)?;
        if !self.filter.matches(&record)? {
            return Ok(None);
        }
        // The vector is the first attribute of every entry: nothing else is read.
        let stored = record.first()?.map(|(_, stored)| stored.bytes);
        let stored = stored.filter(|bytes| bytes.len() == self.score.query.len() * ELEMENT_BYTES);
        let stored = stored.ok_or(StoreError::Corrupt("the vector of an index entry"))?;
        Ok(Some(self.score.of(stored)))
    }

    /// Reads the items of the found entries.
    fn response(
        &self,
        view: &ReadView<'_>,
        found: Vec<Found>,
        paths: Option<&ProjectionPaths>,
    ) -> Result<SearchVectorsResponse, Error> {
        let mut results = Vec::with_capacity(found.len());
        let mut bytes = 0;
        for Found { score, key, .. } in found {
            let item = self.item(view.read(), &key, paths);
            let item = item.map_err(|error| locate(view.read(), &key, error))?;
            bytes += item.attributes.size();
            if bytes > RESPONSE_BYTES_MAX {
                break;
            }
            results.push(SearchResult {
                item,
                score: f64::from(score),
            });
        }
        Ok(SearchVectorsResponse {
            consumed_bytes: consumed_bytes(self.score.query.len(), results.len(), bytes),
            search_results: results,
        })
    }

    fn item(
        &self,
        read: &dyn Read,
        key: &[u8],
        paths: Option<&ProjectionPaths>,
    ) -> Result<FoundItem, StoreError> {
        let lost = StoreError::Corrupt("an index entry");
        let mut item = Record::parse(read.get(key)?.ok_or(lost)?)?.to_item()?;
        let vector = self.index.index.vector.as_ref();
        let vector = vector.map(|vector| vector.name.clone());
        let name = vector.as_deref().unwrap_or_default();
        if paths.is_some_and(|paths| paths.top_level_names().contains(name)) {
            vector::decode_in(&mut item, name);
        } else {
            item.0.remove(name);
        }
        let attributes = match paths {
            Some(paths) => paths.apply(&item),
            None => item,
        };
        Ok(FoundItem { attributes, vector })
    }
}

/// Returns `VectorSearchRequestBytes`, by a model of measured requests (docs/dynamodb.md 28.4):
/// `bytes` are those of the returned items.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn consumed_bytes(dimensions: usize, results: usize, bytes: usize) -> u64 {
    const BYTES_MIN: f64 = 1024.0;
    const PER_DIMENSION: f64 = 30.6875;
    const PER_RESULT: f64 = 65.0;
    let model = PER_DIMENSION * dimensions as f64 + PER_RESULT * results as f64 + bytes as f64;
    model.max(BYTES_MIN).round() as u64
}
