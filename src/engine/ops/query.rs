//! Query (docs/dynamodb.md 13).

use crate::engine::read::filter::Filter;
use crate::engine::read::page::{self, PageBill, PagePlan};
use crate::engine::read::projected::{self, Asked, KeyRoles};
use crate::engine::read::source::ReadSource;
use crate::engine::read::start_key::{self, StartKey};
use crate::engine::read::{range, select};
use crate::engine::{Engine, Rows};
use crate::expr::{KeyConditionShape, PlaceholderUse, ProjectionPaths, key_condition, placeholders};
use crate::model::api::{Page, QueryRequest};
use crate::model::error::QueryError;
use crate::model::error::expression::ExpressionParameter;
use crate::model::{Error, IndexKind};
use crate::store::Direction;

impl Engine {
    /// One page, its rows given to `rows` as they are found.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Query`, `Key`; those of the store.
    pub fn query(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        let shape = Shape::check(request)?;
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        let plan = shape.plan(source, request)?;
        page::read(&view, &plan, rows)
    }

    /// As [`Engine::query`], but nothing is consumed: that is in the bill.
    ///
    /// # Errors
    /// As [`Engine::query`], but `Throttled`.
    pub fn query_on_account(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<(Page, PageBill), Error> {
        let shape = Shape::check(request)?;
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        let plan = shape.plan(source, request)?;
        page::read_on_account(&view, &plan, rows)
    }
}

/// A request whose own parts are right; no table was looked at.
struct Shape {
    condition: KeyConditionShape,
    filter: Option<Filter>,
    projection: Option<ProjectionPaths>,
}

impl Shape {
    fn check(request: &QueryRequest) -> Result<Self, Error> {
        let asked = Asked::new(request.projection_expression.as_ref(), request.attributes_to_get.as_ref())?;
        select::check(request.select, asked.parameter(), request.index_name.is_some())?;
        let condition = request.key_condition_expression.as_deref();
        let has_condition = condition.is_some() || request.filter.expression().is_some();
        let values_missing = (!has_condition).then_some(ExpressionParameter::OF_QUERY);
        placeholders::check(&request.placeholders, asked.has_expression() || has_condition, values_missing)?;
        let mut used = PlaceholderUse::default();
        let condition = match (condition, &request.key_conditions) {
            (Some(_), Some(_)) => return Err(projected::mixed("KeyConditions", "KeyConditionExpression").into()),
            (Some(text), None) => Some(key_condition::parse(text, &request.placeholders, &mut used)?),
            (None, _) => None,
        };
        let filter = Filter::parse(&request.filter, &request.placeholders, &mut used)?;
        let projection = asked.paths(&request.placeholders, &mut used)?;
        used.finish(&request.placeholders)?;
        // What the key condition means is looked at after all that is only read (docs/dynamodb.md 2.6).
        let condition = match (condition, &request.key_conditions) {
            (Some(condition), _) => KeyConditionShape::of_condition(condition)?,
            (None, Some(conditions)) => KeyConditionShape::of_conditions(conditions)?,
            (None, None) => return Err(QueryError::NoKeyCondition.into()),
        };
        start_key::check_values(request.exclusive_start_key.as_ref(), request.start_key_fault.as_ref())?;
        Ok(Self { condition, filter, projection })
    }

    /// The checks against table and index, in DynamoDB's order (docs/dynamodb.md 13.3).
    fn plan(self, source: ReadSource, request: &QueryRequest) -> Result<PagePlan, Error> {
        if request.consistent_read && source.is_index(IndexKind::Global) {
            return Err(QueryError::ConsistentOnGlobal.into());
        }
        let condition = self.condition.resolve(source.key_schema())?;
        let start = request.exclusive_start_key.as_ref().map(|item| StartKey::new(&source, item, false)).transpose()?;
        let start = start.map(|start| start.of_query(&source, &condition)).transpose()?;
        if let Some(paths) = &self.projection {
            projected::check_no_path_into_keys(paths, KeyRoles::of_table(&source.table.schema))?;
        }
        if let Some(filter) = &self.filter {
            filter.check_no_keys(&source)?;
        }
        let selection = select::resolve(&source, request.select, self.projection)?;
        if let Some(filter) = &self.filter {
            filter.check_projected(&source)?;
            filter.check_paths(&source)?;
        }
        let restartable = !source.has_one_row_at_most(&condition);
        let direction = if request.scan_index_forward { Direction::Forward } else { Direction::Reverse };
        let mut range = range::of_condition(&source, &condition);
        if let Some(address) = start {
            range = range::after(range, address.encode(), direction);
        }
        let (limit, consistent) = (request.limit, request.consistent_read);
        Ok(PagePlan { source, selection, filter: self.filter, range, direction, limit, consistent, restartable })
    }
}
