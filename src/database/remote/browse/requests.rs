//! What is to be read, as requests of the API.

use crate::database::{Database, Rows};
use crate::expr::ProjectionPaths;
use crate::expr::read_request::{ReadFilter, ReadRange, ReadRequest};
use crate::expr::write::Writer;
use crate::model::api::{ConditionParameter, Page, QueryRequest, ReturnConsumedCapacity, ScanRequest};
use crate::model::{Error, Item};

/// One page, item by item until `each` fails.
///
/// # Errors
/// As of [`page`]; that of `each`, or of an item that cannot be read.
pub fn items(
    service: &dyn Database,
    request: &ReadRequest,
    each: &mut dyn FnMut(Item) -> Result<(), Error>,
) -> Result<Page, Error> {
    let mut read = Ok(());
    let page = page(service, request, &mut |row| {
        if read.is_ok() {
            read = row.to_item().map_err(Error::from).and_then(&mut *each);
        }
    })?;
    read.map(|()| page)
}

/// One page.
///
/// # Errors
/// Those of the operations; `Unavailable` of what the API has no words for.
pub fn page(service: &dyn Database, request: &ReadRequest, rows: &mut Rows<'_>) -> Result<Page, Error> {
    let mut writer = Writer::default();
    let filter = match &request.filter {
        Some(ReadFilter { condition, .. }) => ConditionParameter::Expression(writer.condition(condition)?),
        None => ConditionParameter::None,
    };
    let projection = request.projection.as_ref().map(|paths: &ProjectionPaths| writer.projection(paths));
    match &request.range {
        ReadRange::Query { condition, forward } => {
            let condition = writer.key_condition(condition)?;
            let query = QueryRequest::new(request.table_name.clone(), condition, writer.placeholders());
            let query = QueryRequest {
                index_name: request.index_name.clone(),
                filter,
                projection_expression: projection,
                select: request.select.filter(|_| request.projection.is_none()),
                limit: request.limit,
                consistent_read: request.consistent_read,
                scan_index_forward: *forward,
                exclusive_start_key: request.exclusive_start_key.clone(),
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
                ..query
            };
            service.query_rows(&query, rows)
        }
        ReadRange::Scan { segment } => {
            let scan = ScanRequest {
                index_name: request.index_name.clone(),
                filter,
                projection_expression: projection,
                placeholders: writer.placeholders(),
                select: request.select.filter(|_| request.projection.is_none()),
                limit: request.limit,
                consistent_read: request.consistent_read,
                segment: *segment,
                exclusive_start_key: request.exclusive_start_key.clone(),
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
                ..ScanRequest::new(request.table_name.clone())
            };
            service.scan_rows(&scan, rows)
        }
    }
}
