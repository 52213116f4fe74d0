//! A saved request as a query path: `queries/<name>/`, whose clauses so far are those of a Query or Scan request of the API.

use super::clauses::Clauses;
use super::fault::ClauseFault;
use super::filter::Filter;
use super::path::{QueryPath, Saved};
use super::source::{Context, QueryKind};
use crate::codec::{json::document::Document, wire};
use crate::expr::{KeyConditionShape, PlaceholderUse, projection};
use crate::fs::prelude::*;
use crate::model::api::{ConditionParameter, Segment};
use crate::model::api::{QueryRequest, ScanRequest, Select};

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
        let (kind, saved) = if is_query {
            let request = wire::request::<QueryRequest>(document.root())?;
            (QueryKind::Query, SavedRequest { request, segment: None })
        } else {
            (QueryKind::Scan, wire::request::<ScanRequest>(document.root())?.into())
        };
        let path = Self::new(schema, saved.request.index_name.as_ref(), kind)
            .map_err(|_| refused("IndexName", "the table has no such index"))?;
        let clauses = saved.clauses(path.context())?;
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

fn refused(member: &'static str, hint: &'static str) -> FsError {
    ClauseFault::SavedRequest { member, hint }.into()
}

/// A Query or Scan request.
pub(super) struct SavedRequest {
    /// A scan has no key condition, and is ascending.
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
        Self { request, segment: scan.segment }
    }
}

impl SavedRequest {
    fn clauses(&self, context: Context<'_>) -> Result<Clauses, FsError> {
        let (mut clauses, request, mut used) = (Clauses::default(), &self.request, PlaceholderUse::default());
        let shape = match (&request.key_condition_expression, &request.key_conditions) {
            (Some(text), _) => Some(KeyConditionShape::parse(text, &request.placeholders, &mut used).map_err(Error::from)?),
            (None, Some(conditions)) => Some(KeyConditionShape::of_conditions(conditions).map_err(Error::from)?),
            (None, None) if context.kind == QueryKind::Query => return Err(refused("KeyConditionExpression", "a query needs one")),
            (None, None) => None,
        };
        if let Some(shape) = shape {
            clauses.add_key(shape.resolve(context.keys())?);
        }
        if request.exclusive_start_key.is_some() {
            return Err(refused("ExclusiveStartKey", "a saved query begins at its start; go on with after="));
        }
        if matches!(request.select, Some(Select::AllAttributes)) && context.index.is_some() {
            return Err(refused("Select", "leave it out, and name what is to be fetched in ProjectionExpression"));
        }
        match &request.filter {
            ConditionParameter::None => {}
            ConditionParameter::Expression(text) => {
                let filter = Filter::of_expression(text, &request.placeholders)?;
                filter.check_place(context)?;
                clauses.filters.push(Arc::new(filter));
            }
            ConditionParameter::Legacy(_) => return Err(refused("QueryFilter", "write it as a FilterExpression")),
        }
        clauses.select = match (&request.projection_expression, &request.attributes_to_get) {
            (Some(text), _) => {
                Some(projection::parse(text, &request.placeholders, &mut PlaceholderUse::default())?.paths().to_vec())
            }
            (None, Some(names)) => Some(names.iter().map(DocumentPath::top_level).collect()),
            (None, None) => None,
        };
        clauses.add_saved(self);
        Ok(clauses)
    }
}
