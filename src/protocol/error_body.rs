//! Conversion of errors to a response body: status, `__type` and text (docs/dynamodb.md 1.4, 24).
//! No other module does this. `model::error` has the errors and their texts; `fs::error` converts
//! the same errors to an errno.

use super::operation::{Operation, RequestError};
use crate::codec::dynamodb_json;
use crate::codec::wire::write::{self, ObjectWriter};
use crate::codec::wire::{WireError, transactions};
use crate::model::arn;
use crate::model::error::exception::{INTERNAL, VALIDATION};
use crate::model::error::{Cancellation, RequestParser, Throttled};
use crate::model::{Error, Item};

/// Exceptions of routing, JSON and authentication; their namespace is not that of DynamoDB.
const CORAL_EXCEPTIONS: [&str; 7] = [
    "AccessDeniedException",
    "UnknownOperationException",
    "SerializationException",
    "MissingAuthenticationTokenException",
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "UnrecognizedClientException",
];

/// Exceptions with their text in `Message` (docs/dynamodb.md 1.4).
const CAPITALIZED_MESSAGE: [&str; 3] = [
    "SerializationException",
    "TransactionCanceledException",
    "IdempotentParameterMismatchException",
];

/// An error in the protocol's form.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorBody<'a> {
    /// For example `ValidationException`.
    pub exception: &'static str,
    /// `None` for a request body that is no JSON object, as in the service.
    pub text: Option<String>,
    /// The item that a failed condition returns.
    pub item: Option<&'a Item>,
    pub cancellation: Option<&'a Cancellation>,
    pub throttled: Option<&'a Throttled>,
}

impl ErrorBody<'_> {
    /// Returns an exception with a text and nothing else.
    #[must_use]
    pub fn new(exception: &'static str, text: impl Into<String>) -> Self {
        Self {
            exception,
            text: Some(text.into()),
            item: None,
            cancellation: None,
            throttled: None,
        }
    }

    /// Returns the HTTP status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        // SDKs retry a request after a 5xx: a failure that only the client can mend must be a 400.
        if self.exception == INTERNAL { 500 } else { 400 }
    }

    /// Returns the value of `__type`.
    #[must_use]
    pub fn type_name(&self) -> String {
        let namespace = match self.exception {
            VALIDATION => "com.amazon.coral.validate",
            name if CORAL_EXCEPTIONS.contains(&name) => "com.amazon.coral.service",
            _ => "com.amazonaws.dynamodb.v20120810",
        };
        format!("{namespace}#{}", self.exception)
    }

    /// Returns the JSON body.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut object = ObjectWriter::start(&mut body);
        write::string(&self.type_name(), object.member("__type"));
        if let Some(text) = &self.text {
            let member = if CAPITALIZED_MESSAGE.contains(&self.exception) {
                "Message"
            } else {
                "message"
            };
            write::string(text, object.member(member));
        }
        if let Some(item) = self.item {
            dynamodb_json::write_item(item, object.member("Item"));
        }
        if let Some(cancellation) = self.cancellation {
            transactions::reasons(cancellation, object.member("CancellationReasons"));
        }
        if let Some(throttled) = self.throttled {
            let member = throttled.reasons_member();
            write::list(
                std::iter::once(throttled),
                object.member(member),
                |throttled, out| {
                    let mut object = ObjectWriter::start(out);
                    write::string(&throttled.reason(), object.member("reason"));
                    let index = throttled
                        .index
                        .as_ref()
                        .map(|index| format!("/index/{index}"))
                        .unwrap_or_default();
                    write::string(
                        &format!("{}{index}", arn::table(&throttled.table)),
                        object.member("resource"),
                    );
                    object.end();
                },
            );
        }
        object.end();
        body
    }
}

impl RequestError {
    /// Returns the error for the caller of `operation`, if the operation is known.
    #[must_use]
    pub fn error_body(&self, operation: Option<&Operation>) -> ErrorBody<'_> {
        let mut body = ErrorBody {
            text: self.text(operation),
            ..ErrorBody::new(self.exception(), "")
        };
        match self {
            Self::Operation(Error::ConditionalCheckFailed { item }) => body.item = item.as_deref(),
            Self::Operation(Error::TransactionCanceled(cancellation)) => {
                body.cancellation = Some(cancellation)
            }
            Self::Operation(Error::Throttled(throttled)) => body.throttled = Some(throttled),
            _ => {}
        }
        body
    }

    fn text(&self, operation: Option<&Operation>) -> Option<String> {
        let parser = operation.map_or(RequestParser::Older, |operation| operation.parser);
        match self {
            Self::UnknownOperation | Self::Wire(WireError::NotAnObject) => None,
            Self::Wire(error) => Some(error.text(parser)),
            Self::Operation(error) => Some(error.text(parser)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::AttributeValue;
    use crate::model::error::{CancellationReason, StoreError, ValueError};
    use crate::protocol::find;

    /// Checks status and body of a `failure` of `operation`.
    fn check(failure: &RequestError, operation: &str, expected: (u16, Value)) {
        let body = failure.error_body(find(operation));
        let json: Value = serde_json::from_slice(&body.json()).unwrap();
        assert_eq!((body.status(), json), expected, "{failure:?}");
    }

    #[test]
    fn failures_are_told() {
        let null_false = || RequestError::Wire(ValueError::NullFalse.into());
        let text = ValueError::NullFalse.to_string();
        let validation = "com.amazon.coral.validate#ValidationException";
        check(
            &null_false(),
            "PutItem",
            (
                400,
                json!({ "__type": validation, "message": format!("1 validation error detected: {text}") }),
            ),
        );
        check(
            &null_false(),
            "GetItem",
            (400, json!({ "__type": validation, "message": text })),
        );
        check(
            &null_false(),
            "",
            (400, json!({ "__type": validation, "message": text })),
        );
        let unknown = "com.amazon.coral.service#UnknownOperationException";
        check(
            &RequestError::UnknownOperation,
            "",
            (400, json!({ "__type": unknown })),
        );
        let own = |name: &str| format!("com.amazonaws.dynamodb.v20120810#{name}");
        let item = Item([("a".to_owned(), AttributeValue::Bool(true))].into());
        let typed = json!({ "a": { "BOOL": true } });
        check(
            &RequestError::Operation(Error::ConditionalCheckFailed {
                item: Some(Box::new(item)),
            }),
            "UpdateItem",
            (
                400,
                json!({ "__type": own("ConditionalCheckFailedException"), "message": "The conditional request failed", "Item": typed }),
            ),
        );
        let cancellation = Cancellation(vec![CancellationReason::None]);
        let message = cancellation.to_string();
        check(
            &RequestError::Operation(cancellation.into()),
            "TransactWriteItems",
            (
                400,
                json!({
                    "__type": own("TransactionCanceledException"),
                    "Message": message,
                    "CancellationReasons": [{ "Code": "None" }],
                }),
            ),
        );
        let closed = Error::Store(StoreError::Closed);
        let message = closed.to_string();
        check(
            &closed.into(),
            "Scan",
            (500, json!({ "__type": own(INTERNAL), "message": message })),
        );
    }
}
