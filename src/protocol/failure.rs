//! Why a request to the API failed; `error_body` makes the answer of it.

use crate::codec::wire::WireError;
use crate::model::Error;

/// Why a request to the API failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The name is no operation's.
    UnknownOperation,
    Wire(WireError),
    Operation(Error),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

impl Failure {
    /// DynamoDB's name for it.
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::UnknownOperation => "UnknownOperationException",
            Self::Wire(error) => error.exception(),
            Self::Operation(error) => error.exception(),
        }
    }
}
