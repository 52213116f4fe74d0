//! What is to be read, as requests of the API.

use crate::database::Rows;
use crate::database::prelude::*;
use crate::expr::ProjectionPaths;
use crate::expr::read_request::{ReadFilter, ReadRange, ReadRequest};
use crate::expr::write::Writer;
use crate::model::api::{ConditionParameter, QueryRequest, ReturnConsumedCapacity, ScanRequest};

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
    // Members that both have.
    macro_rules! asked {
        ($kind:ident { $($own:ident: $value:expr,)* ..$base:expr }) => {
            $kind {
                index_name: request.index_name.clone(),
                filter,
                projection_expression: projection,
                select: request.select.filter(|_| request.projection.is_none()),
                limit: request.limit,
                consistent_read: request.consistent_read,
                exclusive_start_key: request.exclusive_start_key.clone(),
                return_consumed_capacity: ReturnConsumedCapacity::Indexes,
                $($own: $value,)*
                ..$base
            }
        };
    }
    let table = request.table_name.clone();
    match &request.range {
        ReadRange::Query { condition, forward } => {
            let condition = writer.key_condition(condition)?;
            let query = QueryRequest::new(table, condition, writer.placeholders());
            service.query_rows(&asked!(QueryRequest { scan_index_forward: *forward, ..query }), rows)
        }
        ReadRange::Scan { segment } => {
            let placeholders = writer.placeholders();
            let scan = asked!(ScanRequest { segment: *segment, placeholders: placeholders, ..ScanRequest::new(table) });
            service.scan_rows(&scan, rows)
        }
    }
}
