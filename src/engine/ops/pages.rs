//! Query and Scan: the items of one partition key in sort key order, or all items of a source in
//! hash order, a page at a time (docs/dynamodb.md 13).

use crate::engine::{
    read::{
        page::{self, PageBill, PagePlan},
        select::{self, EntryFilter, RequestedProjection},
        source::{self, CheckedStartKey, ReadSource},
    },
    runtime::{RowSink, prelude::*},
};
use crate::expr::{
    KeyConditionShape, PlaceholderScope, key_condition,
    read_request::{ReadRange, ReadRequest},
};
use crate::model::{
    api::{Page, QueryRequest, ScanRequest},
    error::{QueryError, expression::ExpressionParameter},
};

impl Engine {
    /// Runs a Query: reads one page and calls `rows` with each row as it is found.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound`, `Query` or `Key`, or with an error of the
    /// store.
    pub fn query(&self, request: &QueryRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.read_page(parse_query(request)?, rows)
    }
}

/// Parses a request and checks it without any table.
fn parse_query(request: &QueryRequest) -> Result<ReadRequest, Error> {
    let requested = RequestedProjection::new(
        request.projection_expression.as_ref(),
        request.attributes_to_get.as_ref(),
    )?;
    select::check_select(
        request.select,
        requested.parameter(),
        request.index_name.is_some(),
    )?;
    let condition = request.key_condition_expression.as_deref();
    let has_condition = condition.is_some() || request.filter.expression().is_some();
    let values_missing = (!has_condition).then_some(ExpressionParameter::OF_QUERY);
    let mut scope = PlaceholderScope::checked(
        &request.placeholders,
        requested.has_expression() || has_condition,
        values_missing,
    )?;
    let condition = match (condition, &request.key_conditions) {
        (Some(_), Some(_)) => {
            return Err(
                select::mixed_parameters_error("KeyConditions", "KeyConditionExpression").into(),
            );
        }
        (Some(text), None) => Some(key_condition::parse(text, &mut scope)?),
        (None, _) => None,
    };
    let filter = select::parse_filter(&request.filter, &mut scope)?;
    let projection = requested.paths(&mut scope)?;
    scope.finish()?;
    // The shape of the key condition is checked after everything is parsed (docs/dynamodb.md 2.6).
    let condition = match (condition, &request.key_conditions) {
        (Some(condition), _) => KeyConditionShape::from_condition(condition)?,
        (None, Some(conditions)) => KeyConditionShape::from_legacy(conditions)?,
        (None, None) => return Err(QueryError::NoKeyCondition.into()),
    };
    source::check_start_values(
        request.exclusive_start_key.as_ref(),
        request.start_key_fault.as_ref(),
    )?;
    Ok(ReadRequest {
        table_name: request.table_name.clone(),
        index_name: request.index_name.clone(),
        range: ReadRange::Query {
            condition,
            forward: request.scan_index_forward,
        },
        filter,
        projection,
        select: request.select,
        limit: request.limit,
        consistent_read: request.consistent_read,
        exclusive_start_key: request.exclusive_start_key.clone(),
    })
}

impl Engine {
    /// Runs a Scan: reads one page and calls `rows` with each row as it is found.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound` or `Query`, or with an error of the store.
    pub fn scan(&self, request: &ScanRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        self.read_page(parse_scan(request)?, rows)
    }
}

/// Runs the checks that need no table.
fn parse_scan(request: &ScanRequest) -> Result<ReadRequest, Error> {
    let requested = RequestedProjection::new(
        request.projection_expression.as_ref(),
        request.attributes_to_get.as_ref(),
    )?;
    select::check_select(
        request.select,
        requested.parameter(),
        request.index_name.is_some(),
    )?;
    let has_filter = request.filter.expression().is_some();
    let values_missing = (!has_filter).then_some(ExpressionParameter::OF_SCAN);
    let mut scope = PlaceholderScope::checked(
        &request.placeholders,
        requested.has_expression() || has_filter,
        values_missing,
    )?;
    let filter = select::parse_filter(&request.filter, &mut scope)?;
    let projection = requested.paths(&mut scope)?;
    scope.finish()?;
    source::check_start_values(
        request.exclusive_start_key.as_ref(),
        request.start_key_fault.as_ref(),
    )?;
    request.segment_fault.clone().map_or(Ok(()), Err)?;
    request.segment.map_or(Ok(()), walks::check_segment)?;
    Ok(ReadRequest {
        table_name: request.table_name.clone(),
        index_name: request.index_name.clone(),
        range: ReadRange::Scan {
            segment: request.segment,
        },
        filter,
        projection,
        select: request.select,
        limit: request.limit,
        consistent_read: request.consistent_read,
        exclusive_start_key: request.exclusive_start_key.clone(),
    })
}

impl Engine {
    /// Reads one page and calls `rows` with each row as it is found.
    ///
    /// # Errors
    /// Fails with `Expression`, `ResourceNotFound`, `Query` or `Key`, or with an error of the
    /// store.
    pub fn read_page(&self, request: ReadRequest, rows: &mut RowSink<'_>) -> Result<Page, Error> {
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        page::read(&view, &plan(source, request)?, rows)
    }

    /// Reads a page as [`Engine::read_page`] does, without consuming capacity: the units are in the
    /// bill.
    ///
    /// # Errors
    /// Fails as [`Engine::read_page`] does, but never with `Throttled`.
    pub fn read_page_unbilled(
        &self,
        request: ReadRequest,
        rows: &mut RowSink<'_>,
    ) -> Result<(Page, PageBill), Error> {
        let view = self.view()?;
        let source = ReadSource::find(&view, &request.table_name, request.index_name.as_ref())?;
        page::read_unbilled(&view, &plan(source, request)?, rows)
    }
}

/// Runs the checks against table and index, in DynamoDB's order (docs/dynamodb.md 13.3).
fn plan(source: ReadSource, request: ReadRequest) -> Result<PagePlan, Error> {
    let is_vector = source.is_index(IndexKind::Vector);
    if is_vector && matches!(request.range, ReadRange::Scan { .. }) {
        return Err(QueryError::ScanOnVector.into());
    }
    if request.consistent_read && (is_vector || source.is_index(IndexKind::Global)) {
        return Err(QueryError::ConsistentOnGlobal.into());
    }
    if is_vector {
        return Err(QueryError::QueryOnVector.into());
    }
    let (condition, segment, direction) = match request.range {
        ReadRange::Query {
            condition,
            forward: true,
        } => (Some(condition), None, Direction::Forward),
        ReadRange::Query {
            condition,
            forward: false,
        } => (Some(condition), None, Direction::Reverse),
        ReadRange::Scan { segment } => (None, segment, Direction::Forward),
    };
    let condition = condition
        .map(|condition| condition.resolve(source.key_schema()))
        .transpose()?;
    let start = request.exclusive_start_key.as_ref().map(|item| {
        let start = CheckedStartKey::new(&source, item, condition.is_none())?;
        match &condition {
            Some(condition) => start.for_query(&source, condition),
            None => start.for_scan(&source, segment),
        }
    });
    let start = start.transpose()?;
    select::check_no_path_into_keys(request.projection.as_ref(), &source.table.schema)?;
    let filter = request.filter.map(EntryFilter::new);
    // A scan's filter may name keys and attributes that the scanned index does not project: only a
    // query has a key condition for its keys.
    let filter_of_query = filter.as_ref().filter(|_| condition.is_some());
    filter_of_query.map_or(Ok(()), |filter| filter.check_no_keys(&source))?;
    let selection = select::resolve_select(&source, request.select, request.projection)?;
    filter_of_query.map_or(Ok(()), |filter| filter.check_projected(&source))?;
    filter
        .as_ref()
        .map_or(Ok(()), |filter| filter.check_paths(&source))?;
    let range = match (&condition, segment) {
        (Some(condition), _) => source::range_of_condition(&source, condition),
        (None, Some(segment)) => {
            let (lower, upper) = walks::segment_digests(segment);
            Space::Entry.between(source.id(), &lower, upper.as_ref().map(|upper| &upper[..]))
        }
        (None, None) => Space::Entry.range(source.id()),
    };
    let range = match start {
        Some(address) => source::range_after(range, address.encode(), direction),
        None => range,
    };
    let is_query = condition.is_some();
    let restartable = !condition.is_some_and(|condition| source.is_single_row(&condition));
    let (limit, consistent) = (request.limit, request.consistent_read);
    Ok(PagePlan {
        source,
        selection,
        filter,
        range,
        direction,
        limit,
        consistent,
        restartable,
        is_query,
    })
}
