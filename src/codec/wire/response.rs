//! The deserializer of another service's responses, for `database::remote`. A member of a wrong
//! type is an error, not an absent one: the values read here become files. The body of an error
//! becomes an [`Error`] (docs/dynamodb.md 1.4, 24): typed where the caller depends on it, else in
//! the service's words.

use super::shape::{Members, integer};
use super::{WireError, attribute_value, json_type};
use crate::codec::json::document::{Document, Json, JsonList};
use crate::model::error::{
    Cancellation, CancellationReason, InUseError, KeyError, LimitError, RemoteError,
    StatementError, StreamError, UpdateError, ValueError,
};
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{Error, IndexName, Item, TableName, arn};

/// The largest item taken. Services weigh numbers and limits differently; no service allows twice
/// DynamoDB's limit.
const READ_ITEM_BYTES_MAX: usize = 2 * ITEM_BYTES_MAX;

/// Returns the error of a response that cannot be read.
pub fn unreadable(fault: impl std::fmt::Display) -> Error {
    RemoteError::unreadable(fault).into()
}

/// Converts the error of a request reader used on a response.
pub fn from_wire_error(error: WireError) -> Error {
    match error {
        WireError::Request(error @ Error::Remote(_)) => error,
        error => unreadable(error),
    }
}

/// Returns the response's members.
///
/// # Errors
/// [`RemoteError`] if the body is no object.
pub fn members(json: Json<'_>) -> Result<Members<'_>, Error> {
    Members::of(json).ok_or_else(|| unreadable("it is no JSON object"))
}

/// Returns the required structure `name`.
///
/// # Errors
/// [`missing`] if it is absent.
pub fn structure<'a>(members: Members<'a>, name: &str) -> Result<Members<'a>, Error> {
    members.structure(name).ok_or_else(|| missing(name))
}

/// Returns the required text `name`.
///
/// # Errors
/// [`missing`] if it is absent.
pub fn text<'a>(members: Members<'a>, name: &str) -> Result<&'a str, Error> {
    members.string(name).ok_or_else(|| missing(name))
}

/// Returns the whole number `name`; 0 if it is absent.
///
/// # Errors
/// [`RemoteError`] if it is no number of at least 0.
pub fn count(members: Members<'_>, name: &str) -> Result<u64, Error> {
    let Some(json) = members.get(name) else {
        return Ok(0);
    };
    let value = integer(json).and_then(|value| u64::try_from(value).ok());
    value.ok_or_else(|| unreadable(format_args!("its {name} is no count")))
}

/// Returns the list `name`; an empty one if it is absent.
///
/// # Errors
/// [`RemoteError`] if it is another value.
pub fn list<'a>(members: Members<'a>, name: &str) -> Result<JsonList<'a>, Error> {
    members
        .get(name)
        .map_or(Ok(JsonList::default()), |json| list_of(json, name))
}

/// Returns the elements of the list under `name`.
///
/// # Errors
/// [`RemoteError`] if it is another value.
pub fn list_of<'a>(json: Json<'a>, name: &str) -> Result<JsonList<'a>, Error> {
    json.as_list()
        .ok_or_else(|| unreadable(format_args!("its {name} is no list")))
}

/// Returns the members of the object `name`; none if it is absent.
///
/// # Errors
/// [`RemoteError`] if it is another value.
pub fn entries<'a>(
    members: Members<'a>,
    name: &str,
) -> Result<impl Iterator<Item = (&'a str, Json<'a>)> + use<'a>, Error> {
    let object = members.get(name).map(|json| {
        Members::of(json).ok_or_else(|| unreadable(format_args!("its {name} is no object")))
    });
    Ok(object.transpose()?.into_iter().flat_map(Members::iter))
}

/// Returns the error of a required member that is absent.
pub fn missing(name: &str) -> Error {
    unreadable(format_args!("it has no {name}"))
}

/// Returns the item under `name`, if present.
///
/// # Errors
/// [`RemoteError`] if an attribute is no value.
pub fn item(members: Members<'_>, name: &str) -> Result<Option<Item>, Error> {
    members.get(name).map(read_item).transpose()
}

/// Returns an item.
///
/// # Errors
/// [`RemoteError`] if an attribute is no value: such an item must not count as an empty one.
pub fn read_item(json: Json<'_>) -> Result<Item, Error> {
    json_type::check_item(json).map_err(unreadable)?;
    let item = attribute_value::item(json).map_err(unreadable)?;
    match item.size() {
        ..=READ_ITEM_BYTES_MAX => Ok(item),
        bytes => Err(unreadable(format_args!(
            "it has an item of {bytes} bytes, which is larger than any of DynamoDB's"
        ))),
    }
}

/// Checks that an item has the key `key`. Whole items have all of it, others only the projected
/// part.
///
/// # Errors
/// [`RemoteError`] if the item has another key.
pub fn check_key(item: &Item, key: &Item, is_whole: bool) -> Result<(), Error> {
    if has_key(item, key, is_whole) {
        Ok(())
    } else {
        Err(unreadable(
            "it has the item of another key than was asked for",
        ))
    }
}

/// True if the item has the key `key`, as far as its attributes show.
pub fn has_key(item: &Item, key: &Item, is_whole: bool) -> bool {
    key.0
        .iter()
        .all(|(name, value)| item.get(name).map_or(!is_whole, |found| found == value))
}

/// Returns the items of `list`.
///
/// # Errors
/// The error of the first element that is no item.
pub fn items(list: JsonList<'_>) -> Result<Vec<Item>, Error> {
    list.map(read_item).collect()
}

/// Parses a table's name or ARN.
///
/// # Errors
/// [`RemoteError`] if it names no table.
pub fn table_name(text: &str) -> Result<TableName, Error> {
    arn::parse_table(text)
        .map_err(|fault| unreadable(format_args!("{text:?} names no table: {fault}")))
}

/// Parses an index's name.
///
/// # Errors
/// [`RemoteError`] if it is no name.
pub fn index_name(text: &str) -> Result<IndexName, Error> {
    IndexName::new(text)
        .map_err(|fault| unreadable(format_args!("{text:?} names no index: {fault}")))
}

/// The most characters shown of a body that is no error of DynamoDB, such as a proxy's.
const SHOWN_CHARS_MAX: usize = 200;
/// The most characters of a message: the service's own are shorter, even with an item in them.
const MESSAGE_CHARS_MAX: usize = 4 * 1024;

/// Returns the error of a body with this HTTP status.
#[must_use]
pub fn decode_error(status: u16, body: &[u8]) -> Error {
    let document = Document::parse(body.to_vec()).ok();
    let members = document
        .as_ref()
        .and_then(|document| Members::of(document.root()));
    let Some(members) = members else {
        return unknown_error(status, body);
    };
    let name = members.string("__type").unwrap_or_default();
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    let message = members
        .string("message")
        .or(members.string("Message"))
        .filter(|message| !message.is_empty())
        .unwrap_or(name);
    if message.is_empty() {
        return unknown_error(status, body);
    }
    typed_by_name(name, members)
        .or_else(|| typed_by_text(name, message))
        .unwrap_or_else(|| {
            let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
            let message = format!("{message}{}", throttling(members));
            RemoteError::new(name, status, message).into()
        })
}

/// Returns the limits that were met and their resources: ` (TableReadProvisionedThroughputExceeded
/// of arn:…)`; empty if the body does not say.
fn throttling(members: Members<'_>) -> String {
    let reasons = members
        .list("throttlingReasons")
        .or(members.list("ThrottlingReasons"))
        .unwrap_or_default();
    let text_of = |json: Json<'_>| {
        let member = |name: &str| json.get(name).and_then(Json::as_str);
        let of = member("resource")
            .map(|resource| format!(" of {resource}"))
            .unwrap_or_default();
        Some(format!("{}{of}", member("reason")?))
    };
    let text_of: Vec<String> = reasons.filter_map(text_of).collect();
    if text_of.is_empty() {
        String::new()
    } else {
        format!(" ({})", text_of.join(", "))
    }
}

fn unknown_error(status: u16, body: &[u8]) -> Error {
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .take(SHOWN_CHARS_MAX)
        .collect();
    RemoteError::new("", status, format!("HTTP status {status}: {}", text.trim())).into()
}

/// Returns the typed error if the exception's name suffices.
fn typed_by_name(name: &str, members: Members<'_>) -> Option<Error> {
    Some(match name {
        "ConditionalCheckFailedException" => Error::ConditionalCheckFailed {
            item: current_item(members),
        },
        "TransactionCanceledException" => Cancellation(reasons(members)?).into(),
        "ItemCollectionSizeLimitExceededException" => Error::ItemCollectionSizeLimitExceeded,
        "IdempotentParameterMismatchException" => Error::IdempotentParameterMismatch,
        "ExpiredIteratorException" => StreamError::ExpiredIterator.into(),
        "TrimmedDataAccessException" => StreamError::Trimmed.into(),
        "DuplicateItemException" => StatementError::Duplicate.into(),
        _ => return None,
    })
}

/// Returns `Item`. An unreadable item counts as absent: the failure itself is worth reporting.
fn current_item(members: Members<'_>) -> Option<Box<crate::model::Item>> {
    item(members, "Item").ok().flatten().map(Box::new)
}

fn reasons(members: Members<'_>) -> Option<Vec<CancellationReason>> {
    Some(members.list("CancellationReasons")?.map(reason).collect())
}

fn reason(json: Json<'_>) -> CancellationReason {
    let Some(members) = Members::of(json).filter(|members| members.string("Code") != Some("None"))
    else {
        return CancellationReason::None;
    };
    match read_part_error(members) {
        Error::ConditionalCheckFailed { item } => {
            CancellationReason::ConditionalCheckFailed { item }
        }
        Error::ItemCollectionSizeLimitExceeded => {
            CancellationReason::ItemCollectionSizeLimitExceeded
        }
        Error::Statement(StatementError::Duplicate) => CancellationReason::DuplicateItem,
        Error::Remote(remote) => CancellationReason::Remote(remote),
        typed => CancellationReason::ValidationError(Box::new(typed)),
    }
}

/// Returns the error of one part of a request: `Code`, `Message` and `Item`.
#[must_use]
pub fn read_part_error(members: Members<'_>) -> Error {
    match members.string("Code").unwrap_or_default() {
        "ConditionalCheckFailed" => Error::ConditionalCheckFailed {
            item: current_item(members),
        },
        "ItemCollectionSizeLimitExceeded" => Error::ItemCollectionSizeLimitExceeded,
        "DuplicateItem" => StatementError::Duplicate.into(),
        code => {
            let remote = RemoteError::from_reason(code, members.string("Message").unwrap_or(code));
            typed_by_text(remote.exception, &remote.message).unwrap_or_else(|| remote.into())
        }
    }
}

/// Returns the typed error with this name and text, with or without a violation count before it.
fn typed_by_text(name: &str, message: &str) -> Option<Error> {
    let plain: [Error; 9] = [
        ValueError::ItemTooLarge.into(),
        UpdateError::ItemTooLarge.into(),
        KeyError::PartitionTooLarge.into(),
        KeyError::SortTooLarge.into(),
        Error::DeletionProtected,
        LimitError::OnlineIndexes.into(),
        Error::ResourceNotFound,
        StreamError::Iterator.into(),
        StreamError::ShardNotFound.into(),
    ];
    let found = plain
        .into_iter()
        .find(|error| error.exception() == name && message.ends_with(&error.to_string()));
    found.or_else(|| typed_with_name(name, message))
}

/// A constructor of an error from the name in its text.
type ErrorOfName = fn(String) -> Error;

/// Returns the typed error if the text contains a name.
fn typed_with_name(exception: &str, message: &str) -> Option<Error> {
    let within: [(&str, &str, ErrorOfName); 6] = [
        (
            "Requested resource not found: Table: ",
            " not found",
            Error::TableNotFound,
        ),
        (
            "Requested resource not found: Stream: ",
            " not found",
            |arn| StreamError::NotFound(arn).into(),
        ),
        ("Table already exists: ", "", Error::TableAlreadyExists),
        (
            "Attempt to change a resource which is still in use: Table is being deleted: ",
            "",
            Error::TableBeingDeleted,
        ),
        (
            "Attempt to change a resource which is still in use: Table is being created: ",
            "",
            |table| InUseError::Creating(table).into(),
        ),
        ("Cannot do operations on a non-existent table", "", |_| {
            Error::ResourceNotFound
        }),
    ];
    let name_in = |before: &str, behind: &str| {
        Some(
            message
                .strip_prefix(before)?
                .strip_suffix(behind)?
                .to_owned(),
        )
    };
    let found = within
        .iter()
        .find_map(|(before, behind, error)| Some(error(name_in(before, behind)?)));
    found.filter(|error| error.exception() == exception)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::exception::VALIDATION;
    use crate::model::{AttributeValue, Item};

    #[track_caller]
    fn check(status: u16, body: &str, expected: impl Into<Error>) {
        assert_eq!(
            decode_error(status, body.as_bytes()),
            expected.into(),
            "{body}"
        );
    }

    #[test]
    fn what_is_decided_by_is_typed() {
        let own = |name: &str, rest: &str| {
            format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{name}"{rest}}}"#)
        };
        let item = Item([("a".to_owned(), AttributeValue::S("x".to_owned()))].into());
        check(
            400,
            &own(
                "ConditionalCheckFailedException",
                r#","message":"The conditional request failed","Item":{"a":{"S":"x"}}"#,
            ),
            Error::ConditionalCheckFailed {
                item: Some(Box::new(item.clone())),
            },
        );
        check(
            400,
            &own(
                "TransactionCanceledException",
                r#","Message":"x","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"x"}}},
                {"Code":"TransactionConflict","Message":"busy"},
                {"Code":"ValidationError","Message":"Item size has exceeded the maximum allowed size"}]"#,
            ),
            Cancellation(vec![
                CancellationReason::None,
                CancellationReason::ConditionalCheckFailed {
                    item: Some(Box::new(item)),
                },
                CancellationReason::Remote(Box::new(RemoteError::new(
                    "TransactionConflictException",
                    400,
                    "busy",
                ))),
                CancellationReason::ValidationError(Box::new(ValueError::ItemTooLarge.into())),
            ]),
        );
        let not_found = |text: &str| {
            own(
                "ResourceNotFoundException",
                &format!(r#","message":"{text}""#),
            )
        };
        check(
            400,
            &not_found("Requested resource not found"),
            Error::ResourceNotFound,
        );
        check(
            400,
            &not_found("Cannot do operations on a non-existent table"),
            Error::ResourceNotFound,
        );
        check(
            400,
            &not_found("Requested resource not found: Table: abc not found"),
            Error::TableNotFound("abc".to_owned()),
        );
        check(
            400,
            &own(
                "ResourceInUseException",
                r#","message":"Table already exists: abc""#,
            ),
            Error::TableAlreadyExists("abc".to_owned()),
        );
        check(
            400,
            &own("ExpiredIteratorException", ""),
            StreamError::ExpiredIterator,
        );
        check(
            400,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"1 validation error detected: Item size has exceeded the maximum allowed size"}"#,
            ValueError::ItemTooLarge,
        );
    }

    #[test]
    fn the_rest_is_told_in_the_service_s_words() {
        let remote = |exception, status, message: &str| RemoteError {
            exception,
            status,
            message: message.to_owned(),
        };
        check(
            400,
            r#"{"__type":"ThrottlingException","message":"slow"}"#,
            remote("ThrottlingException", 400, "slow"),
        );
        let reasons = r#"[{"reason":"TableReadKeyRangeThroughputExceeded","resource":"arn:t"},{"reason":"x"}]"#;
        check(
            400,
            &format!(
                r#"{{"__type":"ThrottlingException","message":"slow","throttlingReasons":{reasons}}}"#
            ),
            remote(
                "ThrottlingException",
                400,
                "slow (TableReadKeyRangeThroughputExceeded of arn:t, x)",
            ),
        );
        check(
            400,
            r#"{"__type":"a#ValidationException","message":"odd"}"#,
            remote(VALIDATION, 400, "odd"),
        );
        check(
            400,
            r#"{"__type":"a#AccessDeniedException","Message":"no"}"#,
            remote("AccessDeniedException", 400, "no"),
        );
        check(
            500,
            r#"{"__type":"a#InternalServerError"}"#,
            remote("InternalServerError", 500, "InternalServerError"),
        );
        check(
            502,
            "<html>bad gateway</html>",
            remote(
                "InternalServerError",
                502,
                "HTTP status 502: <html>bad gateway</html>",
            ),
        );
    }
}
