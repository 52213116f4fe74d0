//! The Query or Scan requests that a query path stands for: one, or one for each shard of a
//! write-sharded partition key. They are made of values; only `request.json` is text, as `aws
//! dynamodb query --cli-input-json` takes it.

use serde_json::Map;

use super::{
    clause_fault::ClauseFault,
    context::QueryKind,
    filter::{ExpressionBuilder, WhereFilter},
    key_clause,
    query_path::{PartitionClause, QueryPath},
    token::{TokenCheck, TokenScope},
};
use crate::codec::{dynamodb_json, key, record::ResultRow, sanitize};
use crate::database::RowSink;
use crate::expr::{
    Condition, KeyConditionShape, ProjectionPaths, SortRange,
    read_request::{ReadFilter, ReadRange, ReadRequest},
};
use crate::fs::prelude::*;
use crate::model::{
    api::{Page, Placeholders, Select},
    error::StoreError,
};

/// Reads one page; its charge is added to `charges`.
pub(super) fn read_page(
    request: &ReadRequest,
    db: &dyn Browse,
    charges: &mut Vec<DeferredCharge>,
    rows: &mut RowSink<'_>,
) -> Result<Page, FsError> {
    let (page, charge) = db.read_page_unbilled(request, rows)?;
    charges.push(charge);
    Ok(page)
}

/// Reads rows with a fallible visitor; returns its first error.
pub(super) fn read_rows<T>(
    visit: &mut dyn FnMut(&ResultRow<'_>) -> Result<(), FsError>,
    read: impl FnOnce(&mut RowSink<'_>) -> Result<T, FsError>,
) -> Result<T, FsError> {
    let mut fault = None;
    let read = read(&mut |row| {
        if fault.is_none() {
            fault = visit(&row).err();
        }
    })?;
    fault.map_or(Ok(read), Err)
}

/// Makes the request count items only.
pub(super) fn count_only(request: &mut ReadRequest) {
    request.projection = None;
    request.select = Some(Select::Count);
}

/// Adds these top-level attributes, which no other part of the projection names, to the projection.
pub(super) fn project_also(request: &mut ReadRequest, names: &[String]) -> Result<(), FsError> {
    let Some(projection) = &request.projection else {
        return Ok(());
    };
    let paths = projection
        .paths()
        .iter()
        .cloned()
        .chain(names.iter().map(DocumentPath::top_level))
        .collect();
    request.projection = Some(projected(paths)?);
    Ok(())
}

fn projected(paths: Vec<DocumentPath>) -> Result<ProjectionPaths, FsError> {
    ProjectionPaths::from_paths(paths).map_err(|error| FsError::Database(error.into()))
}

/// A condition on an attribute of the key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeyClause<'a> {
    pub attribute: &'a KeyAttribute,
    /// The attribute's tag in expressions: `pk`, `sk2`.
    pub tag: String,
    pub range: SortRange,
}

/// A query's partition key and the check of its tokens, after all look-ups in the database.
#[derive(Debug, Clone)]
pub(super) struct ResolvedClauses {
    /// `None` for a scan.
    pub partition: Option<PartitionKey>,
    pub check: TokenCheck,
    /// Filters that are made when the query runs.
    pub late_filters: Vec<WhereFilter>,
}

/// The number of items wanted; `None` is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryBounds {
    /// Items to return.
    pub limit: Option<u64>,
    /// Items to evaluate, over all requests of one query.
    pub eval: Option<u64>,
}

impl QueryPath {
    /// Returns the requests that this path stands for, one for each shard.
    pub(super) fn requests(&self, db: &dyn Browse) -> Result<Vec<ReadRequest>, FsError> {
        let all = self.resolve(db)?;
        all.iter()
            .map(|resolved| self.build_request(resolved, self.start(resolved, db)?))
            .collect()
    }

    /// Resolves as [`Self::resolve`], for a result that stands for one request.
    pub(super) fn resolve_one(
        &self,
        db: &dyn Browse,
        result: &'static str,
    ) -> Result<ResolvedClauses, FsError> {
        if let PartitionClause::Shards(_) = self.clauses.partition {
            return Err(ClauseFault::several_requests(result).into());
        }
        self.resolve(db)?.pop().ok_or(FsError::NotFound)
    }

    /// Resolves a shortened partition key and the present time to live; one value for each shard.
    pub(super) fn resolve(&self, db: &dyn Browse) -> Result<Vec<ResolvedClauses>, FsError> {
        self.clauses.check_complete(self.context())?;
        let late = self.clauses.late_filters(self, db)?;
        let partitions = match (self.kind, &self.clauses.partition) {
            // A search makes its own request (`near`).
            (QueryKind::Scan | QueryKind::Near, _) => vec![None],
            (QueryKind::Query, PartitionClause::Values(values)) => {
                vec![Some(values.values().cloned().collect())]
            }
            (QueryKind::Query, PartitionClause::Shards(values)) => values
                .iter()
                .map(|value| Some(vec![value.clone()]))
                .collect(),
            (QueryKind::Query, PartitionClause::Alias(alias)) => {
                vec![Some(
                    db.partition_by_digest(&self.source(), alias.digest)?
                        .ok_or(FsError::NotFound)?,
                )]
            }
        };
        Ok(partitions
            .into_iter()
            .map(|partition| ResolvedClauses {
                late_filters: late.clone(),
                ..self.resolved(partition)
            })
            .collect())
    }

    pub(super) fn resolved(&self, partition: Option<PartitionKey>) -> ResolvedClauses {
        let check = self.token_check(partition.as_deref());
        ResolvedClauses {
            partition,
            check,
            late_filters: Vec::new(),
        }
    }

    /// Returns the key that `after=` stands for.
    pub(super) fn start(
        &self,
        resolved: &ResolvedClauses,
        db: &dyn Browse,
    ) -> Result<Option<Item>, FsError> {
        let after = self.clauses.after.as_ref();
        after
            .map(|token| token.resolve(resolved.check, db, self.scope(resolved)))
            .transpose()
    }

    /// Builds the request to the database. `Limit` is `eval=` or `limit=`, whichever is less:
    /// without a filter an evaluated item is a returned one; with one, a page of `limit` evaluated
    /// items holds no more than are wanted. A `limit=` beyond one page takes more requests, each
    /// starting where the one before ended.
    pub(super) fn build_request(
        &self,
        resolved: &ResolvedClauses,
        start: Option<Item>,
    ) -> Result<ReadRequest, FsError> {
        Ok(ReadRequest {
            projection: self.projection()?,
            ..self.base_request(resolved, start)
        })
    }

    /// Returns the projection of `select=`.
    pub(super) fn projection(&self) -> Result<Option<ProjectionPaths>, FsError> {
        self.clauses.select.clone().map(projected).transpose()
    }

    /// Builds the request without its projection.
    pub(super) fn base_request(
        &self,
        resolved: &ResolvedClauses,
        start: Option<Item>,
    ) -> ReadRequest {
        let mut request = ReadRequest::scan(self.schema.name.clone(), self.index.clone());
        if let Some(partition) = resolved.partition.as_deref() {
            let conditions = self
                .key_clauses(partition)
                .into_iter()
                .map(|key| (key.attribute.name.clone(), key.range));
            request.range = ReadRange::Query {
                condition: KeyConditionShape::new(conditions),
                forward: true,
            };
        }
        let mut filters: Vec<Condition> = self
            .filters(resolved)
            .map(|filter| filter.condition().clone())
            .collect();
        let filter = if filters.len() > 1 {
            Some(Condition::And(filters))
        } else {
            filters.pop()
        };
        request.filter = filter.map(ReadFilter::from_expression);
        request.exclusive_start_key = start;
        self.clauses.apply_to(&mut request);
        request
    }

    /// Returns all filters; each must hold.
    pub(super) fn filters<'a>(
        &'a self,
        resolved: &'a ResolvedClauses,
    ) -> impl Iterator<Item = &'a WhereFilter> {
        self.clauses
            .filters
            .iter()
            .map(|filter| &**filter)
            .chain(&resolved.late_filters)
    }

    /// Returns the bounds of `limit=` and `eval=`.
    pub(super) fn bounds(&self) -> QueryBounds {
        QueryBounds {
            limit: self.clauses.limit,
            eval: self.clauses.eval,
        }
    }

    pub(super) fn scope<'a>(&'a self, resolved: &'a ResolvedClauses) -> TokenScope<'a> {
        TokenScope {
            context: self.context(),
            partition: resolved.partition.as_deref(),
        }
    }

    /// Returns the conditions on the key, partition key first.
    pub(super) fn key_clauses<'a>(&'a self, partition: &[AttributeValue]) -> Vec<KeyClause<'a>> {
        let keys = self.context().keys();
        debug_assert_eq!(keys.partition.len(), partition.len());
        let of_partition = keys.partition.iter().zip(partition).enumerate().map(
            |(position, (attribute, value))| KeyClause {
                attribute,
                tag: tag("pk", position, keys.partition.len()),
                range: SortRange::Equal(value.clone()),
            },
        );
        let of_sort = self
            .clauses
            .sort
            .iter()
            .map(|(&position, range)| KeyClause {
                attribute: &keys.sort[position],
                tag: tag("sk", position, keys.sort.len()),
                range: range.clone(),
            });
        of_partition.chain(of_sort).collect()
    }

    /// Returns the digest of all that a position depends on: the source, the conditions and the
    /// order.
    fn token_check(&self, partition: Option<&[AttributeValue]>) -> TokenCheck {
        let mut bytes = Vec::new();
        for name in [
            self.schema.name.as_str(),
            self.index.as_ref().map_or("", |index| index.as_str()),
        ] {
            push_text(name, &mut bytes);
        }
        for attribute in self.context().cursor_attributes() {
            push_text(&attribute.name, &mut bytes);
            push_text(
                attribute.attribute_type.as_attribute_type().tag(),
                &mut bytes,
            );
        }
        for clause in partition
            .map(|partition| self.key_clauses(partition))
            .unwrap_or_default()
        {
            push_text(&clause.tag, &mut bytes);
            push_text(key_clause::operator_word(&clause.range), &mut bytes);
            clause
                .range
                .values()
                .into_iter()
                .for_each(|value| key::encode(value, &mut bytes));
        }
        bytes.push(u8::from(partition.is_some()));
        bytes.push(u8::from(self.clauses.is_descending()));
        for number in self
            .clauses
            .segment
            .iter()
            .flat_map(|segment| [segment.index, segment.total])
        {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let [a, b, c, d, ..] = digest(&bytes);
        [a, b, c, d]
    }
}

/// Appends a text after its length, so that no two lists of texts have the same bytes.
fn push_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Returns the tag of a key attribute: `pk`, or `pk1`, `pk2`, … where there are several.
fn tag(role: &str, position: usize, count: usize) -> String {
    if count == 1 {
        role.to_owned()
    } else {
        format!("{role}{}", position + 1)
    }
}

/// Renders `request.json`: the request with its values in DynamoDB JSON.
pub(super) fn request_json(path: &QueryPath, db: &dyn Browse) -> Result<Vec<u8>, FsError> {
    let resolved = path.resolve_one(db, "request.json")?;
    let request = request_members(path, &resolved, path.start(&resolved, db)?.as_ref())?;
    Ok(sanitize::json(&format!("{request:#}\n")).into_bytes())
}

/// Returns the members of the request in the order of the API's own documents.
pub(super) fn request_members(
    path: &QueryPath,
    resolved: &ResolvedClauses,
    start: Option<&Item>,
) -> Result<Value, FsError> {
    let mut expression = ExpressionBuilder::default();
    let projection = path
        .clauses
        .select
        .as_deref()
        .map(|paths| expression.projection(paths));
    let keys = resolved
        .partition
        .as_deref()
        .map(|partition| path.key_clauses(partition));
    let condition = keys.map(|keys| {
        let parts = keys
            .iter()
            .map(|key| expression.condition(&key.tag, &key.attribute.name, &key.range));
        parts.collect::<Vec<_>>().join(" AND ")
    });
    let filters: Vec<&WhereFilter> = path.filters(resolved).collect();
    let filters: Vec<String> = filters
        .iter()
        .map(|filter| filter.write(&mut expression, filters.len() > 1))
        .collect();
    let request = path.base_request(resolved, start.cloned());
    let (forward, segment) = match request.range {
        ReadRange::Query { forward, .. } => (forward, None),
        ReadRange::Scan { segment } => (true, segment),
    };
    let mut out = Map::new();
    out.insert("TableName".into(), json!(path.schema.name.as_str()));
    insert(
        &mut out,
        "IndexName",
        path.index.as_ref().map(|index| index.as_str()),
    );
    insert(&mut out, "KeyConditionExpression", condition);
    insert(
        &mut out,
        "FilterExpression",
        (!filters.is_empty()).then(|| filters.join(" AND ")),
    );
    insert(&mut out, "ProjectionExpression", projection);
    insert_placeholders(&mut out, &expression.placeholders())?;
    insert(&mut out, "Limit", request.limit);
    insert(
        &mut out,
        "ConsistentRead",
        request.consistent_read.then_some(true),
    );
    insert(&mut out, "ScanIndexForward", (!forward).then_some(false));
    insert(&mut out, "Segment", segment.map(|segment| segment.index));
    insert(
        &mut out,
        "TotalSegments",
        segment.map(|segment| segment.total),
    );
    insert_item(&mut out, "ExclusiveStartKey", start)?;
    Ok(Value::Object(out))
}

fn insert(out: &mut Map<String, Value>, member: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        out.insert(member.to_owned(), value.into());
    }
}

fn insert_placeholders(
    out: &mut Map<String, Value>,
    placeholders: &Placeholders,
) -> Result<(), FsError> {
    if let Some(names) = &placeholders.names {
        out.insert("ExpressionAttributeNames".to_owned(), json!(names));
    }
    let values = placeholders.values.clone().map(Item);
    insert_item(out, "ExpressionAttributeValues", values.as_ref())
}

fn insert_item(
    out: &mut Map<String, Value>,
    member: &str,
    item: Option<&Item>,
) -> Result<(), FsError> {
    let Some(item) = item else { return Ok(()) };
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    out.insert(
        member.to_owned(),
        serde_json::from_slice(&text).map_err(internal_json)?,
    );
    Ok(())
}

/// Returns the error of our own text that is no JSON: a defect, reported like a failing store.
pub(super) fn internal_json(error: serde_json::Error) -> FsError {
    FsError::Database(StoreError::Io(error.to_string()).into())
}
