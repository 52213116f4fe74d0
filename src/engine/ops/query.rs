//! Query: the items of one partition key in the order of the sort key, a page at a time (docs/dynamodb.md 13).

use crate::engine::read::projected::{self, RequestedProjection};
use crate::engine::read::{filter, select, start_key};
use crate::engine::runtime::{Engine, Rows};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::expr::{KeyConditionShape, PlaceholderUse, key_condition, placeholders};
use crate::model::Error;
use crate::model::api::{Page, QueryRequest};
use crate::model::error::QueryError;
use crate::model::error::expression::ExpressionParameter;

impl Engine {
    /// One page, its rows given to `rows` as they are found.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Query`, `Key`; those of the store.
    pub fn query(&self, request: &QueryRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.read_page(parsed(request)?, rows)
    }
}

/// A request whose own parts are right; no table was looked at.
fn parsed(request: &QueryRequest) -> Result<ReadRequest, Error> {
    let asked = RequestedProjection::new(request.projection_expression.as_ref(), request.attributes_to_get.as_ref())?;
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
    let filter = filter::parse(&request.filter, &request.placeholders, &mut used)?;
    let projection = asked.paths(&request.placeholders, &mut used)?;
    used.finish(&request.placeholders)?;
    // What the key condition means is looked at after all that is only read (docs/dynamodb.md 2.6).
    let condition = match (condition, &request.key_conditions) {
        (Some(condition), _) => KeyConditionShape::of_condition(condition)?,
        (None, Some(conditions)) => KeyConditionShape::of_conditions(conditions)?,
        (None, None) => return Err(QueryError::NoKeyCondition.into()),
    };
    start_key::check_values(request.exclusive_start_key.as_ref(), request.start_key_fault.as_ref())?;
    Ok(ReadRequest {
        table_name: request.table_name.clone(),
        index_name: request.index_name.clone(),
        range: ReadRange::Query { condition, forward: request.scan_index_forward },
        filter,
        projection,
        select: request.select,
        limit: request.limit,
        consistent_read: request.consistent_read,
        exclusive_start_key: request.exclusive_start_key.clone(),
    })
}
