//! The dispatch table of operations: the operations from the rows in `model::api`, the ones that
//! return rows while they read them, and the ones for features that do not exist here. `operation`
//! has their type.

use super::operation::{Operation, RequestContext, RequestError, ResponseCompletion, begin, body};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, *};
use crate::model::Error;
use crate::model::api::operation::{OperationKind, operations};
use crate::model::api::resource::DescribeLimitsRequest;
use crate::model::api::{Call, QueryRequest, ScanRequest};
use crate::model::error::RequestParser;

/// Makes the operation of a row, if the API names it.
macro_rules! operation_of_row {
    ($name:ident unnamed) => { &[] };
    ($name:ident $($property:ident $argument:tt),*) => {
        &[Operation::new(stringify!($name), OperationKind::$name, |json, context, answered| begin(json, context, answered, Call::$name))
            $(.$property $argument)*]
    };
}

macro_rules! operations_of_rows {
    ($($kind:ident $remote:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        /// A slice for each row: its operation, or empty for a row without a name of the API.
        pub const OF_ROWS: &[&[Operation]] = &[$(operation_of_row!($name $($($served)*)?)),*];
    };
}
operations!(operations_of_rows);

/// Makes the handler of a read that returns a page of rows.
macro_rules! page_of {
    ($request:ty, $read:ident) => {
        |json, context, answered| {
            let request: $request = wire::request(json.root())?;
            let mut writer = pages::PageWriter::new(request.select);
            let page = context
                .database
                .$read(&request, &mut |row| writer.row(row))?;
            answered.complete(
                writer
                    .finish(
                        &page,
                        &wire::Context::of(json.root()).with_units(context.units),
                    )
                    .map_err(Error::Store)?,
            );
            Ok(())
        }
    };
}

/// The operations without a row.
pub const WITHOUT_ROW: &[Operation] = &[
    Operation::new(
        "Query",
        OperationKind::Read,
        page_of!(QueryRequest, query_rows),
    )
    .long_with_filter()
    .parsed_by(RequestParser::Query),
    // No `parsed_by`: unlike Query, Scan still reports wrong values as the older layer does
    // (docs/dynamodb.md 3.4).
    Operation::new(
        "Scan",
        OperationKind::Read,
        page_of!(ScanRequest, scan_rows),
    )
    .long_with_filter(),
    Operation::new("BatchGetItem", OperationKind::Read, batch_get)
        .long_by_rows()
        .parsed_by(RequestParser::Read),
    Operation::new("DescribeEndpoints", OperationKind::Read, endpoints),
];

fn batch_get(
    json: Document,
    context: &RequestContext<'_>,
    completion: ResponseCompletion,
) -> Result<(), RequestError> {
    let request = wire::request(json.root())?;
    let written = wire::Context::of(json.root()).with_units(context.units);
    let mut writer = batches::BatchWriter::new(&request, written);
    let page = context
        .database
        .batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    completion.complete(writer.finish(&page).map_err(Error::Store)?);
    Ok(())
}

fn endpoints(
    json: Document,
    context: &RequestContext<'_>,
    completion: ResponseCompletion,
) -> Result<(), RequestError> {
    wire::request::<DescribeLimitsRequest>(json.root())?;
    completion.complete(body(&resource::endpoints_to_json(context.host)));
    Ok(())
}

/// The operations for features that do not exist here.
pub const NEVER_USED: &[Operation] = &{
    let mut named =
        [Operation::new("", OperationKind::Read, never_used); resource::NEVER_USED.len()];
    let mut place = 0;
    // A constant has no iterators.
    while place < named.len() {
        named[place].name = resource::NEVER_USED[place].0;
        place += 1;
    }
    named
};

fn never_used(
    json: Document,
    context: &RequestContext<'_>,
    completion: ResponseCompletion,
) -> Result<(), RequestError> {
    let (request, answer) = resource::never_used_request(context.operation, json.root())?;
    let write = move |(): &(), out: &mut Vec<u8>| out.extend(body(&answer));
    context
        .database
        .start(Call::NeverUsed(request, completion.into_completion(write)));
    Ok(())
}
