//! Clauses to the API's requests: one, or one for each shard of a write-sharded partition key.

use super::clause::Order;
use super::clauses::Partition;
use super::expression::{Expression, PROJECTED};
use super::fault::ClauseFault;
use super::filter::{Filter, Piece};
use super::path::QueryPath;
use super::source::QueryKind;
use super::token::{Check, Scope};

use crate::codec::digest::digest;
use crate::codec::key;
use crate::database::{Bill, Browse, PageRequest, PartitionKey, Rows};
use crate::engine::clock::{Clock, SystemClock};
use crate::expr::SortRange;
use crate::fs::FsError;
use crate::model::api::{
    ConditionParameter, DescribeTimeToLiveRequest, Page, QueryRequest, ReturnConsumedCapacity, ScanRequest, Select,
    TimeToLiveStatus,
};
use crate::model::{AttributeType, AttributeValue, DocumentPath, Item, Number};

/// A query or scan as the API takes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Query(QueryRequest),
    Scan(ScanRequest),
}

impl Request {
    /// One page; its bill is added to `bills`.
    pub(super) fn run(&self, db: &dyn Browse, bills: &mut Vec<Bill>, rows: &mut Rows<'_>) -> Result<Page, FsError> {
        let request = match self {
            Self::Query(request) => PageRequest::Query(request),
            Self::Scan(request) => PageRequest::Scan(request),
        };
        let (page, bill) = db.page_on_account(request, rows)?;
        bills.push(bill);
        Ok(page)
    }

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

    pub(super) fn has_filter(&self) -> bool {
        match self {
            Self::Query(request) => request.filter != ConditionParameter::None,
            Self::Scan(request) => request.filter != ConditionParameter::None,
        }
    }

    /// Projects whole top-level attributes.
    pub(super) fn project(&mut self, names: &[&str]) {
        self.whole_entries();
        let mut expression = Expression::default();
        let paths: Vec<DocumentPath> = names.iter().map(|name| DocumentPath::top_level(*name)).collect();
        let text = expression.projection(&paths);
        self.add_projection(text, expression);
    }

    /// Projects these top-level attributes too, which no other part of the projection names.
    pub(super) fn project_also(&mut self, names: &[String]) {
        let projection = match self {
            Self::Query(request) => request.projection_expression.take(),
            Self::Scan(request) => request.projection_expression.take(),
        };
        let Some(mut text) = projection else { return };
        let mut expression = Expression::default();
        for (number, name) in names.iter().enumerate() {
            let placeholder = format!("{PROJECTED}_{number}");
            text.push_str(&format!(", {placeholder}"));
            expression.name(placeholder, name.clone());
        }
        self.add_projection(text, expression);
    }

    fn add_projection(&mut self, text: String, expression: Expression) {
        let (projection, placeholders) = match self {
            Self::Query(request) => (&mut request.projection_expression, &mut request.placeholders),
            Self::Scan(request) => (&mut request.projection_expression, &mut request.placeholders),
        };
        *projection = Some(text);
        placeholders.names.get_or_insert_default().extend(expression.placeholders().names.unwrap_or_default());
    }

    /// Drops the filter, so that everything that is read is shown.
    pub(super) fn drop_filter(&mut self) {
        let (filter, placeholders) = match self {
            Self::Query(request) => (&mut request.filter, &mut request.placeholders),
            Self::Scan(request) => (&mut request.filter, &mut request.placeholders),
        };
        *filter = ConditionParameter::None;
        if let Some(names) = &mut placeholders.names {
            names.retain(|placeholder, _| !placeholder.starts_with(super::expression::FILTERED_NAME));
        }
        if let Some(values) = &mut placeholders.values {
            values.retain(|placeholder, _| !placeholder.starts_with(super::expression::FILTERED_VALUE));
        }
        placeholders.names = placeholders.names.take().filter(|names| !names.is_empty());
        placeholders.values = placeholders.values.take().filter(|values| !values.is_empty());
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

/// A query's partition key and the check of its tokens; what needs the database is done.
#[derive(Debug, Clone)]
pub(super) struct Resolved {
    /// `None` for a scan.
    pub partition: Option<PartitionKey>,
    pub check: Check,
    /// What `live` comes to now.
    live: Option<Filter>,
}

/// How many items are wanted; `None` is all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Returned.
    pub limit: Option<u64>,
    /// Evaluated by one request after the other.
    pub eval: Option<u64>,
}

impl QueryPath {
    /// The request that this path stands for. `Limit` is `eval=` or `limit=`, whichever is less; a `limit=` beyond one page takes more
    /// requests, each starting where the one before ended.
    ///
    /// # Errors
    /// [`FsError::Clause`] for an incomplete query, a token of another, or several requests (`requests`);
    /// [`FsError::TokenExpired`] for an expired token; [`FsError::NotFound`] when a shortened partition key has no entries.
    pub fn request(&self, db: &dyn Browse) -> Result<Request, FsError> {
        let resolved = self.resolve_one(db, "request.json")?;
        let start = self.start(&resolved, db)?;
        Ok(self.build_request(&resolved, start))
    }

    /// The requests that this path stands for, one for each shard.
    pub(super) fn requests(&self, db: &dyn Browse) -> Result<Vec<Request>, FsError> {
        let all = self.resolve(db)?;
        all.iter().map(|resolved| Ok(self.build_request(resolved, self.start(resolved, db)?))).collect()
    }

    /// As [`Self::resolve`], for a result that stands for one request.
    pub(super) fn resolve_one(&self, db: &dyn Browse, result: &'static str) -> Result<Resolved, FsError> {
        if let Partition::Shards(_) = self.clauses.partition {
            return Err(ClauseFault::SeveralRequests(result).into());
        }
        self.resolve(db)?.pop().ok_or(FsError::NotFound)
    }

    /// Looks up a shortened partition key, and what time to live means now; one for each shard.
    pub(super) fn resolve(&self, db: &dyn Browse) -> Result<Vec<Resolved>, FsError> {
        self.clauses.check_complete(self.context())?;
        let live = if self.clauses.live { self.live_filter(db)? } else { None };
        let partitions = match (self.kind, &self.clauses.partition) {
            (QueryKind::Scan, _) => vec![None],
            (QueryKind::Query, Partition::Values(values)) => vec![Some(values.values().cloned().collect())],
            (QueryKind::Query, Partition::Shards(values)) => values.iter().map(|value| Some(vec![value.clone()])).collect(),
            (QueryKind::Query, Partition::Alias(alias)) => {
                vec![Some(db.partition_by_digest(&self.source(), alias.digest)?.ok_or(FsError::NotFound)?)]
            }
        };
        Ok(partitions.into_iter().map(|partition| Resolved { live: live.clone(), ..self.resolved(partition) }).collect())
    }

    pub(super) fn resolved(&self, partition: Option<PartitionKey>) -> Resolved {
        let check = self.token_check(partition.as_deref());
        Resolved { partition, check, live: None }
    }

    /// Keeps items whose time is not over: those without the attribute, with one that is no number, or a later one.
    fn live_filter(&self, db: &dyn Browse) -> Result<Option<Filter>, FsError> {
        let described = db.describe_time_to_live(DescribeTimeToLiveRequest { table_name: self.schema.name.clone() })?;
        let attribute = match described.status {
            TimeToLiveStatus::Disabled | TimeToLiveStatus::Disabling => return Ok(None),
            TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling => described.attribute_name,
        };
        let Some(attribute) = attribute else { return Ok(None) };
        let path = || Piece::Path(DocumentPath::top_level(attribute.clone()));
        let number = AttributeValue::S(AttributeType::N.tag().to_owned());
        let now = AttributeValue::N(Number::from_u64(SystemClock.now_ms() / 1000));
        let pieces = vec![
            Piece::text("NOT attribute_type("),
            path(),
            Piece::text(","),
            Piece::Value(number),
            Piece::text(")"),
            Piece::text("OR"),
            path(),
            Piece::text(">="),
            Piece::Value(now),
        ];
        let filter = Filter::unplaced(pieces)?;
        filter.check_place(self.context()).map_err(|fault| ClauseFault::Live { attribute, fault: Box::new(fault) })?;
        Ok(Some(filter))
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
        let filter = self.filter(resolved, &mut expression);
        let placeholders = expression.placeholders();
        match self.kind {
            QueryKind::Query => {
                let mut request = QueryRequest::new(self.schema.name.clone(), condition.unwrap_or_default(), placeholders);
                request.index_name = self.index.clone();
                request.filter = filter;
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
                request.filter = filter;
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

    /// All filters as one expression.
    fn filter(&self, resolved: &Resolved, expression: &mut Expression) -> ConditionParameter {
        let all: Vec<&Filter> = self.clauses.filters.iter().map(|filter| &**filter).chain(&resolved.live).collect();
        let texts: Vec<String> = all.iter().map(|filter| filter.write(expression, all.len() > 1)).collect();
        if texts.is_empty() { ConditionParameter::None } else { ConditionParameter::Expression(texts.join(" AND ")) }
    }

    /// What `limit=` and `eval=` say.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds { limit: self.clauses.limit, eval: self.clauses.eval }
    }

    /// How many items one request evaluates at most. Without a filter an evaluated item is a returned one; with one, a page of `limit`
    /// evaluated items holds no more than were asked for.
    fn items_max(&self) -> Option<u64> {
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
            parts.push(expression.condition(&tag, attribute, &SortRange::Equal(value.clone())));
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
        for value in expression.values().values() {
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
