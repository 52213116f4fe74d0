//! Errors of a remote DynamoDB, for a database that is its client (`database::remote`). They keep
//! the service's own words; the only decision made from one is its errno.

use super::Error;
use super::exception::{INTERNAL, VALIDATION};

/// A failure that another service reported, or the loss of its response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    /// A name of [`EXCEPTIONS`]; for any other name the exception of its HTTP status, and
    /// [`INTERNAL`] if there was no response.
    pub exception: &'static str,
    /// The HTTP status; 0 if there was no response.
    pub status: u16,
    /// The service's own words, or a sentence about the reason for the missing response.
    pub message: String,
}

/// The kind of a remote failure, by its remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteCause {
    /// An impossible request.
    Invalid,
    /// The credentials, or their permissions.
    Denied,
    NotFound,
    /// The resource to change is in use, by this or by another request.
    InUse,
    /// Too many requests: a retry may succeed.
    Throttled,
    /// A quota of the account.
    Limit,
    /// The service has no such operation.
    Unsupported,
    /// The service failed, or cannot be reached.
    Failed,
}

/// The exceptions that services are known to return, beside those of the typed errors.
pub const EXCEPTIONS: [(&str, RemoteCause); 38] = [
    (VALIDATION, RemoteCause::Invalid),
    ("SerializationException", RemoteCause::Invalid),
    ("DuplicateItemException", RemoteCause::Invalid),
    ("InvalidRestoreTimeException", RemoteCause::Invalid),
    ("InvalidEndpointException", RemoteCause::Invalid),
    (
        "PointInTimeRecoveryUnavailableException",
        RemoteCause::Invalid,
    ),
    ("AccessDeniedException", RemoteCause::Denied),
    ("UnrecognizedClientException", RemoteCause::Denied),
    ("InvalidSignatureException", RemoteCause::Denied),
    ("IncompleteSignatureException", RemoteCause::Denied),
    ("MissingAuthenticationTokenException", RemoteCause::Denied),
    ("MissingAuthenticationToken", RemoteCause::Denied),
    ("ExpiredTokenException", RemoteCause::Denied),
    ("ExpiredToken", RemoteCause::Denied),
    ("RequestTimeTooSkewed", RemoteCause::Denied),
    ("RequestExpired", RemoteCause::Denied),
    ("RequestInTheFuture", RemoteCause::Denied),
    ("NotAuthorizedException", RemoteCause::Denied),
    ("OptInRequired", RemoteCause::Denied),
    ("ResourceNotFoundException", RemoteCause::NotFound),
    ("TableNotFoundException", RemoteCause::NotFound),
    ("IndexNotFoundException", RemoteCause::NotFound),
    ("PolicyNotFoundException", RemoteCause::NotFound),
    ("ResourceInUseException", RemoteCause::InUse),
    ("TableInUseException", RemoteCause::InUse),
    ("ReplicatedWriteConflictException", RemoteCause::InUse),
    ("TransactionConflictException", RemoteCause::InUse),
    ("TransactionInProgressException", RemoteCause::InUse),
    ("ContinuousBackupsUnavailableException", RemoteCause::InUse),
    (
        "ProvisionedThroughputExceededException",
        RemoteCause::Throttled,
    ),
    ("ThrottlingException", RemoteCause::Throttled),
    ("RequestLimitExceeded", RemoteCause::Throttled),
    ("LimitExceededException", RemoteCause::Limit),
    ("UnknownOperationException", RemoteCause::Unsupported),
    ("NotImplementedException", RemoteCause::Unsupported),
    ("ServiceUnavailable", RemoteCause::Failed),
    ("InternalFailure", RemoteCause::Failed),
    (INTERNAL, RemoteCause::Failed),
];

impl Error {
    /// True if the request failed for lack of capacity: a retry may succeed.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        EXCEPTIONS.contains(&(self.exception(), RemoteCause::Throttled))
    }
}

impl RemoteError {
    /// Returns the failure that a service reported under this exception name.
    #[must_use]
    pub fn new(name: &str, status: u16, message: impl Into<String>) -> Self {
        let known = EXCEPTIONS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(known, _)| *known);
        let exception = known.unwrap_or(match status {
            401 | 403 => "AccessDeniedException",
            429 => "ThrottlingException",
            400..500 => VALIDATION,
            _ => INTERNAL,
        });
        let message = message.into();
        let message = if known.is_some() || name.is_empty() {
            message
        } else {
            format!("{name}: {message}")
        };
        Self {
            exception,
            status,
            message,
        }
    }

    /// Returns a failure without a response; `sentence` gives reason and remedy.
    #[must_use]
    pub fn unreachable(sentence: impl Into<String>) -> Self {
        Self {
            exception: INTERNAL,
            status: 0,
            message: sentence.into(),
        }
    }

    /// Returns the failure of a response that cannot be parsed.
    #[must_use]
    pub fn unreadable(fault: impl std::fmt::Display) -> Self {
        let message = format!(
            "the answer of the service cannot be read: {fault}; is it DynamoDB that is asked?"
        );
        Self {
            exception: INTERNAL,
            status: 200,
            message,
        }
    }

    /// Returns the kind of the failure.
    #[must_use]
    pub fn cause(&self) -> RemoteCause {
        EXCEPTIONS
            .iter()
            .find(|(name, _)| *name == self.exception)
            .map_or(RemoteCause::Failed, |(_, cause)| *cause)
    }

    /// Returns the failure of a part of a request, by its `Code`: see
    /// [`code`](super::exception::code).
    #[must_use]
    pub fn from_reason(code: &str, message: impl Into<String>) -> Self {
        let name = match code {
            "ValidationError" => VALIDATION.to_owned(),
            "ThrottlingError" => "ThrottlingException".to_owned(),
            "InternalServerError" | "RequestLimitExceeded" => code.to_owned(),
            code => format!("{code}Exception"),
        };
        Self::new(&name, 400, message)
    }
}

#[cfg(test)]
mod tests {
    use super::super::exception;
    use super::*;

    #[test]
    fn names_are_known_or_said() {
        let check = |name: &str, status: u16, expected: (&str, RemoteCause, &str)| {
            let found = RemoteError::new(name, status, "x");
            assert_eq!(
                (found.exception, found.cause(), found.message.as_str()),
                expected,
                "{name}"
            );
        };
        check(
            "ThrottlingException",
            400,
            ("ThrottlingException", RemoteCause::Throttled, "x"),
        );
        check(
            "AccessDeniedException",
            400,
            ("AccessDeniedException", RemoteCause::Denied, "x"),
        );
        check(
            "NewException",
            400,
            (VALIDATION, RemoteCause::Invalid, "NewException: x"),
        );
        check("", 403, ("AccessDeniedException", RemoteCause::Denied, "x"));
        check("", 503, (INTERNAL, RemoteCause::Failed, "x"));
    }

    #[test]
    fn codes_of_reasons_are_exceptions() {
        for code in [
            "TransactionConflict",
            "ThrottlingError",
            "ProvisionedThroughputExceeded",
            "ValidationError",
        ] {
            assert_eq!(
                exception::code(RemoteError::from_reason(code, "x").exception),
                code
            );
        }
    }
}
