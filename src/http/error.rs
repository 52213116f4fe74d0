//! What can be wrong with a request before it is one of the protocol, and every failure as a reply (docs/dynamodb.md 1.4, 1.6).

use hyper::StatusCode;
use hyper::header::HeaderValue;

use super::auth::AuthError;
use super::body::BodyError;
use super::reply::{PLAIN, Reply};
use super::sigv4::SignatureError;
use crate::codec::wire::WireError;
use crate::model::error::exception::INTERNAL;
use crate::protocol::error_body::ErrorBody;
use crate::protocol::{self, Operation};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The body is compressed in a way not known here.
    ContentEncoding,
    /// The compressed body is broken.
    Inflate,
    Auth(AuthError),
    Protocol(protocol::Failure),
    /// Too large when inflated, or no memory for it.
    Body(BodyError),
    /// A bug: the handler panicked.
    Panic,
}

impl From<protocol::Failure> for Failure {
    fn from(error: protocol::Failure) -> Self {
        Self::Protocol(error)
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Protocol(error.into())
    }
}

/// The answer to a failed request; `operation` when it was known.
pub fn reply(failure: &Failure, operation: Option<&Operation>, content_type: HeaderValue) -> Reply {
    let told = match failure {
        Failure::Protocol(failure) => failure.error_body(operation),
        Failure::ContentEncoding => ErrorBody::new("SerializationException", "Content-Encoding must be gzip, deflate or identity"),
        // A 500 though the client is at fault: the service's own answer.
        Failure::Inflate => ErrorBody::new(INTERNAL, "The compressed request body is broken"),
        Failure::Auth(error) => ErrorBody::new(auth_exception(error), error.to_string()),
        Failure::Body(error) => return body_reply(*error),
        Failure::Panic => ErrorBody::new(INTERNAL, "ddbfs failed on this request; its log says where"),
    };
    let status = StatusCode::from_u16(told.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply::new(status, content_type, told.json())
}

/// The answer to a body that could not be taken.
pub fn body_reply(error: BodyError) -> Reply {
    let status = match error {
        BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Idle => StatusCode::REQUEST_TIMEOUT,
        BodyError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        BodyError::Broken => StatusCode::BAD_REQUEST,
    };
    Reply::new(status, PLAIN, error.to_string())
}

fn auth_exception(error: &AuthError) -> &'static str {
    match error {
        AuthError::Missing => "MissingAuthenticationTokenException",
        AuthError::Wrong(SignatureError::UnknownKey) => "UnrecognizedClientException",
        AuthError::Both | AuthError::Wrong(_) => "InvalidSignatureException",
        AuthError::Incomplete(_) => "IncompleteSignatureException",
    }
}
