//! A saved request as a query path: `queries/<name>/`, whose clauses so far are those of a Query or Scan request of the API.

use std::sync::Arc;

use serde_json::Value;

use super::clause::Order;
use super::clauses::{Clauses, Partition};
use super::fault::ClauseFault;
use super::filter::Filter;
use super::path::{QueryPath, Saved};
use super::source::{Context, QueryKind};
use crate::codec::digest::digest;
use crate::codec::json::document::Document;
use crate::codec::wire;
use crate::codec::wire::error::WireError;
use crate::expr::{KeyCondition, KeyConditionShape, KeySchemaView, PlaceholderUse, SortRange, projection};
use crate::fs::FsError;
use crate::model::api::{ConditionParameter, Placeholders, QueryRequest, ScanRequest, Select};
use crate::model::{DocumentPath, Error, IndexName, TableSchema};

impl QueryPath {
    /// The path of the request in `text`, saved as `<name>.json`. A request without `TableName` is of this table.
    ///
    /// # Errors
    /// [`FsError::Body`] and [`FsError::Database`] for what is no request, [`FsError::Clause`] for what cannot be saved.
    pub fn of_request(schema: Arc<TableSchema>, name: &str, text: &[u8]) -> Result<Self, FsError> {
        let mut json: Value = Document::read_value(text).map_err(|error| FsError::Body(error.to_string()))?;
        if let Some(members) = json.as_object_mut() {
            let table = members.entry("TableName").or_insert_with(|| schema.name.as_str().into());
            if table.as_str() != Some(schema.name.as_str()) {
                return Err(refused("TableName", "a query is saved with the table that it reads; leave TableName out"));
            }
        }
        let is_query = ["KeyConditionExpression", "KeyConditions"].iter().any(|member| json.get(member).is_some());
        let document = Document::of(&json);
        let (kind, index, clauses) = if is_query {
            let request = wire::request::<QueryRequest>(document.root()).map_err(request_error)?;
            let index = request.index_name.clone();
            (QueryKind::Query, index.clone(), of_query(&schema, index.as_ref(), request)?)
        } else {
            let request = wire::request::<ScanRequest>(document.root()).map_err(request_error)?;
            let index = request.index_name.clone();
            (QueryKind::Scan, index.clone(), of_scan(&schema, index.as_ref(), request)?)
        };
        let path = Self::new(schema, index.as_ref(), kind).map_err(|_| refused("IndexName", "the table has no such index"))?;
        let saved = Saved { name: name.to_owned(), digest: digest(text), clauses: Arc::new(clauses.clone()) };
        Ok(Self { saved: Some(saved), clauses, ..path })
    }

    /// The name of the saved request that the path begins with.
    #[must_use]
    pub fn saved_name(&self) -> Option<&str> {
        self.saved.as_ref().map(|saved| saved.name.as_str())
    }

    /// The directory that the clauses begin in.
    #[must_use]
    pub fn start_of_clauses(&self) -> Self {
        let clauses = self.saved.as_ref().map(|saved| (*saved.clauses).clone()).unwrap_or_default();
        Self { names: Vec::new(), clauses, ..self.clone() }
    }
}

fn request_error(error: WireError) -> FsError {
    match error {
        WireError::Request(error) => FsError::Database(error),
        other => FsError::Body(other.to_string()),
    }
}

fn refused(member: &'static str, hint: &'static str) -> FsError {
    ClauseFault::SavedRequest { member, hint }.into()
}

fn context<'a>(schema: &'a TableSchema, index: Option<&IndexName>, kind: QueryKind) -> Result<Context<'a>, FsError> {
    let index = match index {
        Some(name) => Some(schema.index(name.as_str()).ok_or_else(|| refused("IndexName", "the table has no such index"))?),
        None => None,
    };
    Ok(Context { schema, index, kind })
}

fn of_query(schema: &TableSchema, index: Option<&IndexName>, request: QueryRequest) -> Result<Clauses, FsError> {
    let context = context(schema, index, QueryKind::Query)?;
    let mut used = PlaceholderUse::default();
    let shape = match (&request.key_condition_expression, &request.key_conditions) {
        (Some(text), _) => KeyConditionShape::parse(text, &request.placeholders, &mut used).map_err(Error::from)?,
        (None, Some(conditions)) => KeyConditionShape::of_conditions(conditions).map_err(Error::from)?,
        (None, None) => return Err(refused("KeyConditionExpression", "a query needs one")),
    };
    let keys = context.keys();
    let condition = shape.resolve(KeySchemaView { partition: keys.partition, sort: keys.sort })?;
    let common = Common {
        filter: request.filter,
        projection: request.projection_expression,
        attributes: request.attributes_to_get,
        placeholders: request.placeholders,
        select: request.select,
        starts: request.exclusive_start_key.is_some(),
    };
    let mut clauses = common.clauses(context)?;
    set_keys(&mut clauses, condition);
    clauses.eval = request.limit.map(u64::from);
    clauses.consistent = request.consistent_read;
    clauses.order = (!request.scan_index_forward).then_some(Order::Descending);
    Ok(clauses)
}

fn of_scan(schema: &TableSchema, index: Option<&IndexName>, request: ScanRequest) -> Result<Clauses, FsError> {
    let context = context(schema, index, QueryKind::Scan)?;
    let common = Common {
        filter: request.filter,
        projection: request.projection_expression,
        attributes: request.attributes_to_get,
        placeholders: request.placeholders,
        select: request.select,
        starts: request.exclusive_start_key.is_some(),
    };
    let mut clauses = common.clauses(context)?;
    clauses.eval = request.limit.map(u64::from);
    clauses.consistent = request.consistent_read;
    clauses.segment = request.segment;
    Ok(clauses)
}

fn set_keys(clauses: &mut Clauses, condition: KeyCondition) {
    clauses.partition = Partition::Values(condition.partition.into_iter().enumerate().collect());
    let last = condition.sort.len();
    let equal = condition.sort.into_iter().map(SortRange::Equal).enumerate();
    clauses.sort = equal.chain(condition.range.map(|range| (last, range))).collect();
}

/// What both operations have.
struct Common {
    filter: ConditionParameter,
    projection: Option<String>,
    attributes: Option<Vec<String>>,
    placeholders: Placeholders,
    select: Option<Select>,
    starts: bool,
}

impl Common {
    fn clauses(self, context: Context<'_>) -> Result<Clauses, FsError> {
        if self.starts {
            return Err(refused("ExclusiveStartKey", "a saved query begins at its start; go on with after="));
        }
        if matches!(self.select, Some(Select::AllAttributes)) && context.index.is_some() {
            return Err(refused("Select", "leave it out, and name what is to be fetched in ProjectionExpression"));
        }
        let mut clauses = Clauses::default();
        match self.filter {
            ConditionParameter::None => {}
            ConditionParameter::Expression(text) => {
                let filter = Filter::of_expression(&text, &self.placeholders)?;
                filter.check_place(context)?;
                clauses.filters.push(Arc::new(filter));
            }
            ConditionParameter::Legacy(_) => return Err(refused("QueryFilter", "write it as a FilterExpression")),
        }
        let paths = match (self.projection, self.attributes) {
            (Some(text), _) => Some(projection::parse(&text, &self.placeholders, &mut PlaceholderUse::default())?.paths().to_vec()),
            (None, Some(names)) => Some(names.into_iter().map(DocumentPath::top_level).collect()),
            (None, None) => None,
        };
        clauses.select = paths;
        Ok(clauses)
    }
}
