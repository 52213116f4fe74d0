//! Clauses to the API's request, and `request.json`.
//!
//! Names and values always go through placeholders (`#pk`, `:pk`), so that no name can be a reserved word.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::clause::{Order, SortCondition};
use super::clauses::Partition;
use super::token::{Check, Scope};
use super::{QueryKind, QueryPath};
use crate::codec::digest::digest;
use crate::codec::{dynamodb_json, key};
use crate::database::{Browse, PartitionKey};
use crate::fs::FsError;
use crate::model::api::{Placeholders, QueryRequest, ReturnConsumedCapacity, ScanRequest, Select};
use crate::model::error::StoreError;
use crate::model::schema::KeyAttribute;
use crate::model::{AttributeValue, DocumentPath, Item, PathElement};

/// A query or scan as the API takes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Query(QueryRequest),
    Scan(ScanRequest),
}

impl Request {
    pub(super) fn set_limit(&mut self, limit: Option<u32>) {
        match self {
            Self::Query(request) => request.limit = limit,
            Self::Scan(request) => request.limit = limit,
        }
    }

    pub(super) fn set_start(&mut self, start: Option<Item>) {
        match self {
            Self::Query(request) => request.exclusive_start_key = start,
            Self::Scan(request) => request.exclusive_start_key = start,
        }
    }

    pub(super) fn set_capacity(&mut self, wanted: ReturnConsumedCapacity) {
        match self {
            Self::Query(request) => request.return_consumed_capacity = wanted,
            Self::Scan(request) => request.return_consumed_capacity = wanted,
        }
    }

    /// Asks for the number of items alone.
    pub(super) fn count_only(&mut self) {
        self.whole_entries();
        match self {
            Self::Query(request) => request.select = Some(Select::Count),
            Self::Scan(request) => request.select = Some(Select::Count),
        }
    }

    /// Drops the projection, so that every row has its keys and none is fetched.
    pub(super) fn whole_entries(&mut self) {
        let (projection, placeholders) = match self {
            Self::Query(request) => (&mut request.projection_expression, &mut request.placeholders),
            Self::Scan(request) => (&mut request.projection_expression, &mut request.placeholders),
        };
        if projection.take().is_some() {
            if let Some(names) = &mut placeholders.names {
                names.retain(|placeholder, _| !placeholder.starts_with(PROJECTED));
            }
            placeholders.names = placeholders.names.take().filter(|names| !names.is_empty());
        }
    }
}

/// How placeholders of projected names start.
const PROJECTED: &str = "#a";

/// A query's partition key and the check of its tokens; what needs the database is done.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    /// `None` for a scan.
    pub partition: Option<PartitionKey>,
    pub check: Check,
}

impl QueryPath {
    /// The request that this path stands for. `Limit` is `eval=` or `limit=`, whichever is less; a `limit=` beyond one page takes more
    /// requests, each starting where the one before ended.
    ///
    /// # Errors
    /// [`FsError::Clause`] for an incomplete query or a token of another; [`FsError::TokenExpired`] for an expired token;
    /// [`FsError::NotFound`] when a shortened partition key has no entries.
    pub fn request(&self, db: &dyn Browse) -> Result<Request, FsError> {
        let resolved = self.resolve(db)?;
        let start = self.start(&resolved, db)?;
        Ok(self.build_request(&resolved, start))
    }

    /// Looks up a shortened partition key.
    pub(super) fn resolve(&self, db: &dyn Browse) -> Result<Resolved, FsError> {
        self.clauses.check_complete(self.context())?;
        let partition = match (self.kind, &self.clauses.partition) {
            (QueryKind::Scan, _) => None,
            (QueryKind::Query, Partition::Values(values)) => Some(values.values().cloned().collect()),
            (QueryKind::Query, Partition::Alias(alias)) => {
                Some(db.partition_by_digest(&self.source(), alias.digest)?.ok_or(FsError::NotFound)?)
            }
        };
        Ok(self.resolved(partition))
    }

    pub(super) fn resolved(&self, partition: Option<PartitionKey>) -> Resolved {
        let check = self.token_check(partition.as_deref());
        Resolved { partition, check }
    }

    /// The key that `after=` stands for.
    pub(super) fn start(&self, resolved: &Resolved, db: &dyn Browse) -> Result<Option<Item>, FsError> {
        let after = self.clauses.after.as_ref();
        after.map(|token| token.resolve(resolved.check, db, self.scope(resolved))).transpose()
    }

    pub(super) fn build_request(&self, resolved: &Resolved, start: Option<Item>) -> Request {
        let mut expression = Expression::default();
        let limit = self.items_max().map(|items| u32::try_from(items).unwrap_or(u32::MAX));
        let projection = self.clauses.select.as_deref().map(|paths| expression.projection(paths));
        let condition = resolved.partition.as_deref().map(|partition| self.key_condition(partition, &mut expression));
        let placeholders = expression.placeholders();
        match self.kind {
            QueryKind::Query => {
                let mut request = QueryRequest::new(self.schema.name.clone(), condition.unwrap_or_default(), placeholders);
                request.index_name = self.index.clone();
                request.projection_expression = projection;
                request.limit = limit;
                request.consistent_read = self.clauses.consistent;
                request.scan_index_forward = self.clauses.order != Some(Order::Descending);
                request.exclusive_start_key = start;
                Request::Query(request)
            }
            QueryKind::Scan => {
                let mut request = ScanRequest::new(self.schema.name.clone());
                request.index_name = self.index.clone();
                request.projection_expression = projection;
                request.placeholders = placeholders;
                request.limit = limit;
                request.consistent_read = self.clauses.consistent;
                request.segment = self.clauses.segment;
                request.exclusive_start_key = start;
                Request::Scan(request)
            }
        }
    }

    /// How many items `limit=` and `eval=` leave. Without a filter an evaluated item is a returned one.
    pub(super) fn items_max(&self) -> Option<u64> {
        match (self.clauses.limit, self.clauses.eval) {
            (Some(limit), Some(eval)) => Some(limit.min(eval)),
            (limit, eval) => limit.or(eval),
        }
    }

    pub(super) fn scope<'a>(&'a self, resolved: &'a Resolved) -> Scope<'a> {
        Scope { schema: &self.schema, index: self.index_schema(), partition: resolved.partition.as_deref() }
    }

    fn key_condition(&self, partition: &[AttributeValue], expression: &mut Expression) -> String {
        let keys = self.context().keys();
        let mut parts = Vec::new();
        for (position, (attribute, value)) in keys.partition.iter().zip(partition).enumerate() {
            let tag = tag("pk", position, keys.partition.len());
            parts.push(expression.condition(&tag, attribute, &SortCondition::Equal(value.clone())));
        }
        for (&position, condition) in &self.clauses.sort {
            if let Some(attribute) = keys.sort.get(position) {
                parts.push(expression.condition(&tag("sk", position, keys.sort.len()), attribute, condition));
            }
        }
        parts.join(" AND ")
    }

    fn token_check(&self, partition: Option<&[AttributeValue]>) -> Check {
        let mut bytes = Vec::new();
        let names = [self.schema.name.as_str(), self.index.as_ref().map_or("", |index| index.as_str())];
        let cursor = super::source::cursor_attributes(&self.schema, self.index_schema());
        let attributes = cursor.iter().map(|attribute| format!("{}:{:?}", attribute.name, attribute.attribute_type));
        for text in names.iter().map(|name| (*name).to_owned()).chain(attributes) {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        let mut expression = Expression::default();
        let condition = partition.map(|partition| self.key_condition(partition, &mut expression));
        for value in expression.values.values() {
            key::encode(value, &mut bytes);
        }
        let segment = self.clauses.segment.map(|segment| (segment.index, segment.total));
        let forward = self.clauses.order != Some(Order::Descending);
        bytes.extend_from_slice(format!("{condition:?}{forward}{segment:?}").as_bytes());
        let [a, b, c, d, ..] = digest(&bytes);
        [a, b, c, d]
    }
}

/// `pk`, or `pk1`, `pk2`, … where there are several.
fn tag(role: &str, position: usize, count: usize) -> String {
    if count == 1 { role.to_owned() } else { format!("{role}{}", position + 1) }
}

/// Placeholders gathered while expressions are written.
#[derive(Debug, Default)]
struct Expression {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, AttributeValue>,
}

impl Expression {
    fn placeholders(self) -> Placeholders {
        Placeholders {
            names: Some(self.names).filter(|names| !names.is_empty()),
            values: Some(self.values).filter(|values| !values.is_empty()),
        }
    }

    fn value(&mut self, tag: &str, value: &AttributeValue) -> String {
        let placeholder = format!(":{tag}");
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }

    fn condition(&mut self, tag: &str, attribute: &KeyAttribute, condition: &SortCondition) -> String {
        let name = format!("#{tag}");
        self.names.insert(name.clone(), attribute.name.clone());
        let (operator, value) = match condition {
            SortCondition::Equal(value) => ("=", value),
            SortCondition::Less(value) => ("<", value),
            SortCondition::LessOrEqual(value) => ("<=", value),
            SortCondition::Greater(value) => (">", value),
            SortCondition::GreaterOrEqual(value) => (">=", value),
            SortCondition::Between(lower, upper) => {
                let (lower, upper) = (self.value(&format!("{tag}_from"), lower), self.value(&format!("{tag}_to"), upper));
                return format!("{name} BETWEEN {lower} AND {upper}");
            }
            SortCondition::BeginsWith(prefix) => return format!("begins_with({name}, {})", self.value(tag, prefix)),
        };
        format!("{name} {operator} {}", self.value(tag, value))
    }

    fn projection(&mut self, paths: &[DocumentPath]) -> String {
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut placeholder = |name: &str| {
            let next = numbers.len() + 1;
            let number = *numbers.entry(name.to_owned()).or_insert(next);
            let placeholder = format!("{PROJECTED}{number}");
            self.names.insert(placeholder.clone(), name.to_owned());
            placeholder
        };
        let mut write = |path: &DocumentPath| {
            let mut text = placeholder(&path.head);
            for element in &path.rest {
                match element {
                    PathElement::Name(name) => text.push_str(&format!(".{}", placeholder(name))),
                    PathElement::Index(index) => text.push_str(&format!("[{index}]")),
                }
            }
            text
        };
        paths.iter().map(&mut write).collect::<Vec<_>>().join(", ")
    }
}

/// `request.json`: the request with its values in DynamoDB JSON.
pub(super) fn request_json(request: &Request) -> Result<Vec<u8>, FsError> {
    let object = match request {
        Request::Query(request) => query_json(request)?,
        Request::Scan(request) => scan_json(request)?,
    };
    let mut out = serde_json::to_vec_pretty(&object).map_err(unwritable)?;
    out.push(b'\n');
    Ok(out)
}

fn query_json(request: &QueryRequest) -> Result<Value, FsError> {
    let mut out = Map::new();
    out.insert("TableName".into(), json!(request.table_name.as_str()));
    insert(&mut out, "IndexName", request.index_name.as_ref().map(|index| index.as_str()));
    insert(&mut out, "KeyConditionExpression", request.key_condition_expression.as_deref());
    insert(&mut out, "ProjectionExpression", request.projection_expression.as_deref());
    insert_placeholders(&mut out, &request.placeholders)?;
    insert(&mut out, "Limit", request.limit);
    insert(&mut out, "ConsistentRead", request.consistent_read.then_some(true));
    insert(&mut out, "ScanIndexForward", (!request.scan_index_forward).then_some(false));
    insert_item(&mut out, "ExclusiveStartKey", request.exclusive_start_key.as_ref())?;
    Ok(Value::Object(out))
}

fn scan_json(request: &ScanRequest) -> Result<Value, FsError> {
    let mut out = Map::new();
    out.insert("TableName".into(), json!(request.table_name.as_str()));
    insert(&mut out, "IndexName", request.index_name.as_ref().map(|index| index.as_str()));
    insert(&mut out, "ProjectionExpression", request.projection_expression.as_deref());
    insert_placeholders(&mut out, &request.placeholders)?;
    insert(&mut out, "Limit", request.limit);
    insert(&mut out, "ConsistentRead", request.consistent_read.then_some(true));
    insert(&mut out, "Segment", request.segment.map(|segment| segment.index));
    insert(&mut out, "TotalSegments", request.segment.map(|segment| segment.total));
    insert_item(&mut out, "ExclusiveStartKey", request.exclusive_start_key.as_ref())?;
    Ok(Value::Object(out))
}

fn insert(out: &mut Map<String, Value>, member: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        out.insert(member.to_owned(), value.into());
    }
}

fn insert_placeholders(out: &mut Map<String, Value>, placeholders: &Placeholders) -> Result<(), FsError> {
    if let Some(names) = &placeholders.names {
        out.insert("ExpressionAttributeNames".to_owned(), json!(names));
    }
    let values = placeholders.values.clone().map(Item);
    insert_item(out, "ExpressionAttributeValues", values.as_ref())
}

fn insert_item(out: &mut Map<String, Value>, member: &str, item: Option<&Item>) -> Result<(), FsError> {
    let Some(item) = item else { return Ok(()) };
    let mut text = Vec::new();
    dynamodb_json::write_item(item, &mut text);
    out.insert(member.to_owned(), serde_json::from_slice(&text).map_err(unwritable)?);
    Ok(())
}

/// Text of our own that is no JSON: a defect, answered like a failing store.
fn unwritable(error: serde_json::Error) -> FsError {
    FsError::Database(StoreError::Io(error.to_string()).into())
}
