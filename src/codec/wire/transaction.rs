//! What TransactGetItems and TransactWriteItems share: why one was cancelled (SEMANTICS 15.1).

use super::write::{self, ObjectWriter};
use crate::codec::dynamodb_json;
use crate::model::error::Cancellation;

/// The value of `CancellationReasons`.
pub fn reasons(cancellation: &Cancellation, out: &mut Vec<u8>) {
    write::list(cancellation.0.iter(), out, |reason, out| {
        let mut object = ObjectWriter::start(out);
        write::string(reason.code(), object.member("Code"));
        if let Some(message) = reason.message() {
            write::string(&message, object.member("Message"));
        }
        if let Some(item) = reason.item() {
            dynamodb_json::write_item(item, object.member("Item"));
        }
        object.end();
    });
}
