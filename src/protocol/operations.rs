//! The dispatch table of operations: the operations from the rows in `model::api`, the ones that
//! return rows while they read them, and the ones for features that do not exist here. `operation`
//! has their type.

use super::operation::{Completion, Operation, RequestContext, RequestError, begin, body};
use crate::codec::json::document::Document;
use crate::codec::wire::{self, *};
use crate::model::Error;
use crate::model::api::operation::{Way, operations};
use crate::model::api::resource::DescribeLimitsRequest;
use crate::model::api::{Call, QueryRequest, ScanRequest};
use crate::model::error::Layer;

/// Makes the operation of a row, if the API names it.
macro_rules! served {
    ($name:ident unnamed) => { &[] };
    ($name:ident $($said:ident $what:tt),*) => {
        &[Operation::new(stringify!($name), Way::$name, |json, context, answered| begin(json, context, answered, Call::$name))
            $(.$said $what)*]
    };
}

macro_rules! operations_of_rows {
    ($($way:ident $elsewhere:ident $name:ident $method:ident($request:ty) -> $response:ty $([$($served:tt)*])?;)*) => {
        /// A slice for each row: its operation, or empty for a row without a name of the API.
        pub const OF_ROWS: &[&[Operation]] = &[$(served!($name $($($served)*)?)),*];
    };
}
operations!(operations_of_rows);

/// The operations without a row.
pub const WITHOUT_ROW: &[Operation] = &[
    Operation::new("Query", Way::Reads, run_query)
        .long_with_filter()
        .read_by(Layer::Query),
    // No `read_by`: unlike Query, Scan still reports wrong values as the older layer does
    // (docs/dynamodb.md 3.4).
    Operation::new("Scan", Way::Reads, run_scan).long_with_filter(),
    Operation::new("BatchGetItem", Way::Reads, batch_get)
        .long_by_rows()
        .read_by(Layer::Read),
    Operation::new("DescribeEndpoints", Way::Reads, endpoints),
];

fn run_query(
    json: Document,
    context: &RequestContext<'_>,
    answered: Completion,
) -> Result<(), RequestError> {
    let request: QueryRequest = wire::request(json.root())?;
    let mut writer = pages::PageWriter::new(request.select);
    let page = context
        .database
        .query_rows(&request, &mut |row| writer.row(row))?;
    answered.complete(
        writer
            .finish(&page, &wire::Context::of(json.root()))
            .map_err(Error::Store)?,
    );
    Ok(())
}

fn run_scan(
    json: Document,
    context: &RequestContext<'_>,
    answered: Completion,
) -> Result<(), RequestError> {
    let request: ScanRequest = wire::request(json.root())?;
    let mut writer = pages::PageWriter::new(request.select);
    let page = context
        .database
        .scan_rows(&request, &mut |row| writer.row(row))?;
    answered.complete(
        writer
            .finish(&page, &wire::Context::of(json.root()))
            .map_err(Error::Store)?,
    );
    Ok(())
}

fn batch_get(
    json: Document,
    context: &RequestContext<'_>,
    answered: Completion,
) -> Result<(), RequestError> {
    let request = wire::request(json.root())?;
    let mut writer = batches::BatchWriter::new(&request, wire::Context::of(json.root()));
    let page = context
        .database
        .batch_get_rows(&request, &mut |place, row| writer.row(place, row))?;
    answered.complete(writer.finish(&page).map_err(Error::Store)?);
    Ok(())
}

fn endpoints(
    json: Document,
    context: &RequestContext<'_>,
    answered: Completion,
) -> Result<(), RequestError> {
    wire::request::<DescribeLimitsRequest>(json.root())?;
    answered.complete(body(&resource::endpoints_to_json(context.host)));
    Ok(())
}

/// The operations for features that do not exist here.
pub const NEVER_USED: &[Operation] = &{
    let mut named = [Operation::new("", Way::Reads, never_used); resource::NEVER_USED.len()];
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
    answered: Completion,
) -> Result<(), RequestError> {
    let (request, answer) = resource::never_used_request(context.operation, json.root())?;
    let write = move |(): &(), out: &mut Vec<u8>| out.extend(body(&answer));
    context
        .database
        .start(Call::NeverUsed(request, answered.into_done(write)));
    Ok(())
}
