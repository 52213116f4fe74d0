//! The DynamoDB JSON protocol without its transport: an operation's name and its JSON body become a call on a
//! [`Database`], and its outcome a JSON body or an error with its `__type`, status and text.
//!
//! ```text
//! operation   what an operation is: name, service, handler; how one is run; why it failed
//! operations  the operations, of their rows in model::api                   memory    what one may need, before it is begun
//! error_body  errors to __type, status and body
//! ```
//!
//! HTTP and the files of the mount that take a request are its callers. A new operation is there by its row.

pub mod error_body;
pub mod memory;
pub mod operation;
pub mod operations;

use crate::codec::json::document::Document;
use crate::codec::wire::WireError;
use crate::database::Database;
use crate::model::api::CallContext;

pub use operation::{Answered, Context, Failure, Length, Operation, Service};

/// All operations of the API, those first that are asked for most.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    let of_rows = operations::OF_ROWS.iter().copied().flatten();
    operations::BESIDE_ROWS
        .iter()
        .chain(of_rows)
        .chain(operations::NEVER_USED)
}

/// The operation of that name; upper and lower case count.
#[must_use]
pub fn find(name: &str) -> Option<&'static Operation> {
    operations().find(|operation| operation.name == name)
}

/// Runs one request and waits for its outcome. `host` is what the client calls this server; DescribeEndpoints tells it back.
///
/// # Errors
/// What the request or its operation failed with.
pub fn call(
    name: &str,
    json: impl Into<Document>,
    database: &dyn Database,
    host: &str,
) -> Result<Vec<u8>, Failure> {
    call_by(CallContext::default(), name, json.into(), database, host)
}

/// The same, for whom `by` says.
///
/// # Errors
/// As of [`call`].
pub fn call_by(
    by: CallContext,
    name: &str,
    json: Document,
    database: &dyn Database,
    host: &str,
) -> Result<Vec<u8>, Failure> {
    let operation = find(name).ok_or(Failure::UnknownOperation)?;
    if !json.root().is_object() {
        return Err(WireError::NotAnObject.into());
    }
    operation.on(database).run(
        json,
        &Context {
            operation: operation.name,
            database,
            host,
        },
        by,
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
