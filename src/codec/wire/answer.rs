//! Reading what another service answered. A member of a wrong type is an error, not an absent one: what is read here becomes files. The
//! body of an error becomes an [`Error`] (docs/dynamodb.md 1.4, 24): typed where anything is decided by it, else in the service's words.

use super::shape::Members;
use super::{WireError, attribute_value, json_type};
use crate::codec::json::document::{Document, Json, List};
use crate::model::error::{
    Cancellation, CancellationReason, InUseError, KeyError, LimitError, RemoteError,
    StatementError, StreamError, UpdateError, ValueError,
};
use crate::model::limits::ITEM_BYTES_MAX;
use crate::model::{Error, IndexName, Item, TableName, arn};

/// Services weigh numbers and limits differently; twice DynamoDB's is nobody's.
const ITEM_BYTES_TAKEN: usize = 2 * ITEM_BYTES_MAX;

/// What is wrong with an answer.
pub fn unreadable(what: impl std::fmt::Display) -> Error {
    RemoteError::unreadable(what).into()
}

/// What a reader of requests says of an answer.
pub fn of_wire(error: WireError) -> Error {
    match error {
        WireError::Request(error @ Error::Remote(_)) => error,
        error => unreadable(error),
    }
}

/// The answer's members.
///
/// # Errors
/// It is no object.
pub fn members(json: Json<'_>) -> Result<Members<'_>, Error> {
    Members::of(json).ok_or_else(|| unreadable("it is no JSON object"))
}

/// The structure `name`, which must be there.
///
/// # Errors
/// It is not.
pub fn structure<'a>(members: Members<'a>, name: &str) -> Result<Members<'a>, Error> {
    members.structure(name).ok_or_else(|| missing(name))
}

/// The text `name`, which must be there.
///
/// # Errors
/// It is not.
pub fn text<'a>(members: Members<'a>, name: &str) -> Result<&'a str, Error> {
    members.string(name).ok_or_else(|| missing(name))
}

/// The whole number `name`; one that is not there is 0.
pub fn whole(members: Members<'_>, name: &str) -> u64 {
    members
        .integer(name)
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(0)
}

/// A member that must be there.
pub fn missing(name: &str) -> Error {
    unreadable(format_args!("it has no {name}"))
}

/// The item under `name`, if there is one.
///
/// # Errors
/// Something in it is no value.
pub fn item(members: Members<'_>, name: &str) -> Result<Option<Item>, Error> {
    members.get(name).map(item_of).transpose()
}

/// An item.
///
/// # Errors
/// Something in it is no value: it is not to be taken for an empty one.
pub fn item_of(json: Json<'_>) -> Result<Item, Error> {
    json_type::check_item(json).map_err(unreadable)?;
    let item = attribute_value::item(json).map_err(unreadable)?;
    match item.size() {
        ..=ITEM_BYTES_TAKEN => Ok(item),
        bytes => Err(unreadable(format_args!(
            "it has an item of {bytes} bytes, which is larger than any of DynamoDB's"
        ))),
    }
}

/// Checks that an item is the one under `key`: whole ones have all of the key, others of it only what was projected.
///
/// # Errors
/// It is another's.
pub fn check_key(item: &Item, key: &Item, is_whole: bool) -> Result<(), Error> {
    if has_key(item, key, is_whole) {
        Ok(())
    } else {
        Err(unreadable(
            "it has the item of another key than was asked for",
        ))
    }
}

/// Is it the item under `key`, as far as it can be seen?
pub fn has_key(item: &Item, key: &Item, is_whole: bool) -> bool {
    key.0
        .iter()
        .all(|(name, value)| item.get(name).map_or(!is_whole, |found| found == value))
}

/// The items of `list`.
///
/// # Errors
/// The first that is none.
pub fn items(list: Option<List<'_>>) -> Result<Vec<Item>, Error> {
    list.unwrap_or_default().map(item_of).collect()
}

/// A table named plainly or by its ARN.
///
/// # Errors
/// It is no name.
pub fn table_name(text: &str) -> Result<TableName, Error> {
    arn::table_named(text)
        .map_err(|fault| unreadable(format_args!("{text:?} names no table: {fault}")))
}

/// An index's name.
///
/// # Errors
/// It is none.
pub fn index_name(text: &str) -> Result<IndexName, Error> {
    IndexName::new(text)
        .map_err(|fault| unreadable(format_args!("{text:?} names no index: {fault}")))
}

/// Of a body that is no JSON, as a proxy's.
const SHOWN_CHARS_MAX: usize = 200;

/// The error that a body with this HTTP status tells of.
#[must_use]
pub fn read_error(status: u16, body: &[u8]) -> Error {
    let document = Document::parse(body.to_vec()).ok();
    let members = document
        .as_ref()
        .and_then(|document| Members::of(document.root()));
    let Some(members) = members else {
        return of_no_service(status, body);
    };
    let name = members.string("__type").unwrap_or_default();
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    let message = members
        .string("message")
        .or(members.string("Message"))
        .unwrap_or(name);
    by_name(name, members)
        .or_else(|| by_text(name, message))
        .unwrap_or_else(|| {
            let message = format!("{message}{}", throttling(members));
            RemoteError::new(name, status, message).into()
        })
}

/// Which limits were met, of what: ` (TableReadProvisionedThroughputExceeded of arn:…)`; nothing where that is not told.
fn throttling(members: Members<'_>) -> String {
    let reasons = members
        .list("throttlingReasons")
        .or(members.list("ThrottlingReasons"))
        .unwrap_or_default();
    let told = |json: Json<'_>| {
        let member = |name: &str| json.get(name).and_then(Json::as_str);
        let of = member("resource")
            .map(|resource| format!(" of {resource}"))
            .unwrap_or_default();
        Some(format!("{}{of}", member("reason")?))
    };
    let told: Vec<String> = reasons.filter_map(told).collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(" ({})", told.join(", "))
    }
}

fn of_no_service(status: u16, body: &[u8]) -> Error {
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .take(SHOWN_CHARS_MAX)
        .collect();
    RemoteError::new("", status, format!("HTTP status {status}: {}", text.trim())).into()
}

/// Where the name says it all.
fn by_name(name: &str, members: Members<'_>) -> Option<Error> {
    Some(match name {
        "ConditionalCheckFailedException" => Error::ConditionalCheckFailed {
            item: existing(members),
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

/// `Item`; one that cannot be read is none, as the failure alone is worth telling.
fn existing(members: Members<'_>) -> Option<Box<crate::model::Item>> {
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
    match of_code(members) {
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

/// The error of one part of a request: `Code`, `Message` and `Item`.
#[must_use]
pub fn of_code(members: Members<'_>) -> Error {
    match members.string("Code").unwrap_or_default() {
        "ConditionalCheckFailed" => Error::ConditionalCheckFailed {
            item: existing(members),
        },
        "ItemCollectionSizeLimitExceeded" => Error::ItemCollectionSizeLimitExceeded,
        "DuplicateItem" => StatementError::Duplicate.into(),
        code => {
            let remote = RemoteError::of_reason(code, members.string("Message").unwrap_or(code));
            by_text(remote.exception, &remote.message).unwrap_or_else(|| remote.into())
        }
    }
}

/// Where the words say it: those of this name whose text a typed error has, a count before it or not.
fn by_text(name: &str, message: &str) -> Option<Error> {
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
    found.or_else(|| named(name, message))
}

/// Makes the error that names it.
type OfName = fn(String) -> Error;

/// The same of texts with a name in them.
fn named(exception: &str, message: &str) -> Option<Error> {
    let within: [(&str, &str, OfName); 6] = [
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
            read_error(status, body.as_bytes()),
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
