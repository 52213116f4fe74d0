//! The body of an error that another service answered, as an [`Error`] (docs/dynamodb.md 1.4, 24): typed where anything is decided by
//! it, else in the service's words.

use super::answer;
use super::shape::Members;
use crate::codec::json::document::{Document, Json};
use crate::model::Error;
use crate::model::error::{
    Cancellation, CancellationReason, InUseError, KeyError, LimitError, RemoteError, StatementError, StreamError, UpdateError,
    ValueError,
};

/// Of a body that is no JSON, as a proxy's.
const SHOWN_CHARS_MAX: usize = 200;

/// The error that a body with this HTTP status tells of.
#[must_use]
pub fn read(status: u16, body: &[u8]) -> Error {
    let document = Document::parse(body.to_vec()).ok();
    let members = document.as_ref().and_then(|document| Members::of(document.root()));
    let Some(members) = members else { return of_no_service(status, body) };
    let name = members.string("__type").unwrap_or_default();
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    let message = members.string("message").or(members.string("Message")).unwrap_or(name);
    by_name(name, members).or_else(|| by_text(name, message)).unwrap_or_else(|| {
        let message = format!("{message}{}", throttling(members));
        RemoteError::new(name, status, message).into()
    })
}

/// Which limits were met, of what: ` (TableReadProvisionedThroughputExceeded of arn:…)`; nothing where that is not told.
fn throttling(members: Members<'_>) -> String {
    let reasons = members.list("throttlingReasons").or(members.list("ThrottlingReasons")).unwrap_or_default();
    let told = |json: Json<'_>| {
        let member = |name: &str| json.get(name).and_then(Json::as_str);
        let of = member("resource").map(|resource| format!(" of {resource}")).unwrap_or_default();
        Some(format!("{}{of}", member("reason")?))
    };
    let told: Vec<String> = reasons.filter_map(told).collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

fn of_no_service(status: u16, body: &[u8]) -> Error {
    let text: String = String::from_utf8_lossy(body).chars().take(SHOWN_CHARS_MAX).collect();
    RemoteError::new("", status, format!("HTTP status {status}: {}", text.trim())).into()
}

/// Where the name says it all.
fn by_name(name: &str, members: Members<'_>) -> Option<Error> {
    Some(match name {
        "ConditionalCheckFailedException" => Error::ConditionalCheckFailed { item: existing(members) },
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
    answer::item(members, "Item").ok().flatten().map(Box::new)
}

fn reasons(members: Members<'_>) -> Option<Vec<CancellationReason>> {
    Some(members.list("CancellationReasons")?.map(reason).collect())
}

fn reason(json: Json<'_>) -> CancellationReason {
    let Some(members) = Members::of(json).filter(|members| members.string("Code") != Some("None")) else {
        return CancellationReason::None;
    };
    match of_code(members) {
        Error::ConditionalCheckFailed { item } => CancellationReason::ConditionalCheckFailed { item },
        Error::ItemCollectionSizeLimitExceeded => CancellationReason::ItemCollectionSizeLimitExceeded,
        Error::Statement(StatementError::Duplicate) => CancellationReason::DuplicateItem,
        Error::Remote(remote) => CancellationReason::Remote(remote),
        typed => CancellationReason::ValidationError(Box::new(typed)),
    }
}

/// The error of one part of a request: `Code`, `Message` and `Item`.
#[must_use]
pub fn of_code(members: Members<'_>) -> Error {
    match members.string("Code").unwrap_or_default() {
        "ConditionalCheckFailed" => Error::ConditionalCheckFailed { item: existing(members) },
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
    let found = plain.into_iter().find(|error| error.exception() == name && message.ends_with(&error.to_string()));
    found.or_else(|| named(name, message))
}

/// Makes the error that names it.
type OfName = fn(String) -> Error;

/// The same of texts with a name in them.
fn named(exception: &str, message: &str) -> Option<Error> {
    let within: [(&str, &str, OfName); 6] = [
        ("Requested resource not found: Table: ", " not found", Error::TableNotFound),
        ("Requested resource not found: Stream: ", " not found", |arn| StreamError::NotFound(arn).into()),
        ("Table already exists: ", "", Error::TableAlreadyExists),
        ("Attempt to change a resource which is still in use: Table is being deleted: ", "", Error::TableBeingDeleted),
        ("Attempt to change a resource which is still in use: Table is being created: ", "", |table| {
            InUseError::Creating(table).into()
        }),
        ("Cannot do operations on a non-existent table", "", |_| Error::ResourceNotFound),
    ];
    let name_in = |before: &str, behind: &str| Some(message.strip_prefix(before)?.strip_suffix(behind)?.to_owned());
    let found = within.iter().find_map(|(before, behind, error)| Some(error(name_in(before, behind)?)));
    found.filter(|error| error.exception() == exception)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::exception::VALIDATION;
    use crate::model::{AttributeValue, Item};

    #[track_caller]
    fn check(status: u16, body: &str, expected: impl Into<Error>) {
        assert_eq!(read(status, body.as_bytes()), expected.into(), "{body}");
    }

    #[test]
    fn what_is_decided_by_is_typed() {
        let own = |name: &str, rest: &str| format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{name}"{rest}}}"#);
        let item = Item([("a".to_owned(), AttributeValue::S("x".to_owned()))].into());
        check(
            400,
            &own("ConditionalCheckFailedException", r#","message":"The conditional request failed","Item":{"a":{"S":"x"}}"#),
            Error::ConditionalCheckFailed { item: Some(Box::new(item.clone())) },
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
                CancellationReason::ConditionalCheckFailed { item: Some(Box::new(item)) },
                CancellationReason::Remote(Box::new(RemoteError::new("TransactionConflictException", 400, "busy"))),
                CancellationReason::ValidationError(Box::new(ValueError::ItemTooLarge.into())),
            ]),
        );
        let not_found = |text: &str| own("ResourceNotFoundException", &format!(r#","message":"{text}""#));
        check(400, &not_found("Requested resource not found"), Error::ResourceNotFound);
        check(400, &not_found("Cannot do operations on a non-existent table"), Error::ResourceNotFound);
        check(400, &not_found("Requested resource not found: Table: abc not found"), Error::TableNotFound("abc".to_owned()));
        check(
            400,
            &own("ResourceInUseException", r#","message":"Table already exists: abc""#),
            Error::TableAlreadyExists("abc".to_owned()),
        );
        check(400, &own("ExpiredIteratorException", ""), StreamError::ExpiredIterator);
        check(
            400,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"1 validation error detected: Item size has exceeded the maximum allowed size"}"#,
            ValueError::ItemTooLarge,
        );
    }

    #[test]
    fn the_rest_is_told_in_the_service_s_words() {
        let remote = |exception, status, message: &str| RemoteError { exception, status, message: message.to_owned() };
        check(400, r#"{"__type":"ThrottlingException","message":"slow"}"#, remote("ThrottlingException", 400, "slow"));
        let reasons = r#"[{"reason":"TableReadKeyRangeThroughputExceeded","resource":"arn:t"},{"reason":"x"}]"#;
        check(
            400,
            &format!(r#"{{"__type":"ThrottlingException","message":"slow","throttlingReasons":{reasons}}}"#),
            remote("ThrottlingException", 400, "slow (TableReadKeyRangeThroughputExceeded of arn:t, x)"),
        );
        check(400, r#"{"__type":"a#ValidationException","message":"odd"}"#, remote(VALIDATION, 400, "odd"));
        check(400, r#"{"__type":"a#AccessDeniedException","Message":"no"}"#, remote("AccessDeniedException", 400, "no"));
        check(500, r#"{"__type":"a#InternalServerError"}"#, remote("InternalServerError", 500, "InternalServerError"));
        check(502, "<html>bad gateway</html>", remote("InternalServerError", 502, "HTTP status 502: <html>bad gateway</html>"));
    }
}
