//! Scan: all of a table or index, or a segment of it, in the order of the hash (docs/dynamodb.md 13).

use crate::engine::base::segment;
use crate::engine::read::projected::RequestedProjection;
use crate::engine::read::{filter, select, start_key};
use crate::engine::runtime::{Engine, Rows};
use crate::expr::read_request::{ReadRange, ReadRequest};
use crate::expr::{PlaceholderUse, placeholders};
use crate::model::Error;
use crate::model::api::{Page, ScanRequest};
use crate::model::error::expression::ExpressionParameter;

impl Engine {
    /// One page, its rows given to `rows` as they are found.
    ///
    /// # Errors
    /// `Expression`, `ResourceNotFound`, `Query`; those of the store.
    pub fn scan(&self, request: &ScanRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
        self.read_page(parsed(request)?, rows)
    }
}

/// The checks that need no table.
fn parsed(request: &ScanRequest) -> Result<ReadRequest, Error> {
    let asked = RequestedProjection::new(request.projection_expression.as_ref(), request.attributes_to_get.as_ref())?;
    select::check(request.select, asked.parameter(), request.index_name.is_some())?;
    let has_filter = request.filter.expression().is_some();
    let values_missing = (!has_filter).then_some(ExpressionParameter::OF_SCAN);
    placeholders::check(&request.placeholders, asked.has_expression() || has_filter, values_missing)?;
    let mut used = PlaceholderUse::default();
    let filter = filter::parse(&request.filter, &request.placeholders, &mut used)?;
    let projection = asked.paths(&request.placeholders, &mut used)?;
    used.finish(&request.placeholders)?;
    start_key::check_values(request.exclusive_start_key.as_ref(), request.start_key_fault.as_ref())?;
    request.segment_fault.clone().map_or(Ok(()), Err)?;
    request.segment.map_or(Ok(()), segment::check)?;
    Ok(ReadRequest {
        table_name: request.table_name.clone(),
        index_name: request.index_name.clone(),
        range: ReadRange::Scan { segment: request.segment },
        filter,
        projection,
        select: request.select,
        limit: request.limit,
        consistent_read: request.consistent_read,
        exclusive_start_key: request.exclusive_start_key.clone(),
    })
}
