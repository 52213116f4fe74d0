//! The memory that a request may need, an upper bound computed from its body before the body is
//! parsed. The HTTP server and the files of `.ddb/api/` reserve it from a budget, so that many
//! requests at once cannot exhaust the memory.

use super::operation::{Operation, OperationLength};
use crate::codec::json::document::REQUEST_BYTES_MAX;
use crate::model::api::operation::OperationKind;

/// The memory for a request and its parsed forms, in lengths of its body; a tree is at most four,
/// the values more.
const BODY_FACTOR: usize = 8;
/// The maximum length of an inflated body, in lengths of the compressed one: deflate's bound.
const INFLATED_FACTOR: usize = 1032;
/// The maximum for an item of 400 KB as a tree of values and as text: in a list of empty strings
/// each takes 32 bytes and 9 characters.
pub const ITEM_BYTES: usize = 16 * 1024 * 1024;
/// A page of a megabyte and an item: the page's text, and the item as values.
const PAGE_BYTES: usize = 28 * 1024 * 1024;
/// The text of the items of a BatchGetItem, and one item as values.
const ROWS_BYTES: usize = 44 * 1024 * 1024;
/// The memory of an item's values, in lengths of its text in a response.
pub const READ_FACTOR: usize = 4;
/// The length at which an inflated body is cut off (docs/dynamodb.md 1.1).
const INFLATED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Returns the memory that a request with such a body may need, in bytes, the body not included.
#[must_use]
pub fn parsed_bytes(body_bytes: usize, is_coded: bool) -> usize {
    let text = if is_coded {
        body_bytes
            .saturating_mul(INFLATED_FACTOR)
            .min(INFLATED_BYTES_MAX)
    } else {
        body_bytes
    };
    text.saturating_mul(BODY_FACTOR).min(REQUEST_BYTES_MAX)
}

/// Returns the memory that a request may need until its response is made, in bytes: its parsed
/// forms, the items that it reads, and its response.
#[must_use]
pub fn request_bytes(operation: Option<&Operation>, body: &[u8], is_coded: bool) -> usize {
    let read = match operation.map(|operation| (operation.length, operation.kind)) {
        None => 0,
        Some((OperationLength::Long, _)) => REQUEST_BYTES_MAX,
        Some((OperationLength::LongByRows, _)) => ROWS_BYTES,
        Some((OperationLength::LongWithFilter, _)) => PAGE_BYTES,
        Some((OperationLength::Short, OperationKind::Read)) => ITEM_BYTES,
        // An item is only returned if the request asks for it; a compressed body may ask.
        Some((OperationLength::Short, _)) if is_coded || may_contain(body, b"ReturnValues") => {
            ITEM_BYTES
        }
        Some((OperationLength::Short, _)) => 0,
    };
    // The bound of every request, whatever it is.
    (parsed_bytes(body.len(), is_coded) + read).min(REQUEST_BYTES_MAX)
}

/// True if the body may have a member with `part` in its name, judged by its bytes. An escape may
/// hide one.
#[must_use]
pub fn may_contain(body: &[u8], part: &[u8]) -> bool {
    memchr::memchr(b'\\', body).is_some() || memchr::memmem::find(body, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::find;

    #[test]
    fn what_is_reserved_is_what_an_operation_may_read_and_answer() {
        let check = |name: &str, body: &str, expected| {
            assert_eq!(
                request_bytes(find(name), body.as_bytes(), false),
                BODY_FACTOR * body.len() + expected,
                "{name}"
            );
        };
        check("GetItem", "{}", ITEM_BYTES);
        check("Query", "{}", PAGE_BYTES);
        check("BatchGetItem", "{}", ROWS_BYTES);
        check("PutItem", "{}", 0);
        check("PutItem", r#"{"ReturnValues":"ALL_OLD"}"#, ITEM_BYTES);
        check(
            "TransactWriteItems",
            r#"{"Return\u0056alues":0}"#,
            ITEM_BYTES,
        );
        assert_eq!(
            request_bytes(find("Scan"), &[b' '; INFLATED_BYTES_MAX], false),
            REQUEST_BYTES_MAX
        );
    }

    #[test]
    fn what_a_request_may_need_is_known_from_its_length() {
        let mib = 1024 * 1024;
        let check = |body, is_coded, expected| {
            assert_eq!(parsed_bytes(body, is_coded), expected, "{body} {is_coded}")
        };
        check(1000, false, 8000);
        check(mib, false, 8 * mib);
        check(INFLATED_BYTES_MAX, false, REQUEST_BYTES_MAX);
        check(1000, true, 8 * 1_032_000);
        check(16_700, true, REQUEST_BYTES_MAX);
        check(usize::MAX, true, REQUEST_BYTES_MAX);
    }
}
