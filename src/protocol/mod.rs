//! The DynamoDB JSON protocol without its transport: an operation's name and its JSON body become a
//! call on a [`Database`], and the outcome becomes a JSON body or an error with `__type`, status
//! and text.
//!
//! ```text
//! operation   an operation: its name, service and handler; running one; the reasons for failure
//! operations  the operations, from their rows in model::api                 memory    the memory that a request may need
//! error_body  errors to __type, status and body                             slow_log  the log of slow requests
//! ```
//!
//! HTTP and the files of the mount that take a request call this module. A new operation appears
//! here by its row.

pub mod error_body;
pub mod memory;
pub mod operation;
pub mod operations;
pub mod slow_log;

use crate::codec::json::document::Document;
use crate::codec::wire::{UnitCounter, WireError};
use crate::database::Database;
use crate::model::api::CallContext;

pub use operation::{
    ApiService, Operation, OperationLength, RequestContext, RequestError, ResponseCompletion,
};

/// Returns all operations of the API, the most frequent ones first.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    let of_rows = operations::OF_ROWS.iter().copied().flatten();
    operations::WITHOUT_ROW
        .iter()
        .chain(of_rows)
        .chain(operations::NEVER_USED)
}

/// Returns the operation with this name, which is case-sensitive.
#[must_use]
pub fn find(name: &str) -> Option<&'static Operation> {
    operations().find(|operation| operation.name == name)
}

/// Runs one request and waits for its outcome. `host` is the client's name for this server;
/// DescribeEndpoints returns it.
///
/// # Errors
/// Fails if the request is malformed, or with the failure of its operation.
pub fn call(
    name: &str,
    json: impl Into<Document>,
    database: &dyn Database,
    host: &str,
) -> Result<Vec<u8>, RequestError> {
    call_with(CallContext::default(), name, json.into(), database, host)
}

/// Runs one request as [`call`] does, in that context.
pub fn call_with(
    context: CallContext,
    name: &str,
    json: Document,
    database: &dyn Database,
    host: &str,
) -> Result<Vec<u8>, RequestError> {
    let operation = find(name).ok_or(RequestError::UnknownOperation)?;
    if !json.root().is_object() {
        return Err(WireError::NotAnObject.into());
    }
    operation.for_database(database).run(
        json,
        &RequestContext {
            operation: operation.name,
            database,
            host,
            units: &UnitCounter::default(),
        },
        context,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Callers find an operation by its name alone.
    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<&str> = operations().map(|operation| operation.name).collect();
        assert_eq!(names.len(), operations().count());
        assert_eq!(
            find("PutItem").map(|operation| operation.name),
            Some("PutItem")
        );
        assert!(find("putitem").is_none());
    }
}
