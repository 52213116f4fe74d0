//! The JSON form of the DynamoDB API: the serializers and deserializers of its requests and
//! responses, a file for each family of operations. [`request`] decodes a body into a typed
//! request, with the service's own type and constraint errors in its order; [`encode`] writes a
//! typed response as a body. A client of another service goes the other way: [`encode_request`]
//! writes a typed request, and [`decode_response`] reads a response. Most of it is generated from
//! the declarations in [`crate::model::api`]; the files of the families have the parts that need
//! code.
//!
//! ```text
//! declared, field the wire form of declared structures              shape                   members, types and constraints as data
//! attribute_value values from JSON                                  json_type, constraint   the two walks over a request
//! names          TableName, ARNs, IndexName                         write                   JSON text into bytes
//! members        members that several operations share              capacity                ConsumedCapacity, ItemCollectionMetrics
//! items          also parameters from before expressions            pages                   Query and Scan, and their rows
//! tables, table_* definitions and descriptions as JSON              response                reading responses, and errors
//! ```

use constraint::{UPDATE_RETURN_VALUES, Violations};
use json_type::SerializationError;

use crate::model::Error;
use crate::model::error::RequestParser;
use crate::model::error::exception::VALIDATION;

pub mod attribute_value;
pub mod backup;
pub mod batches;
pub mod capacity;
pub mod constraint;
pub mod declared;
pub mod field;
pub mod items;
pub mod json_type;
pub mod members;
pub mod names;
pub mod pages;
pub mod resource;
pub mod response;
pub mod shape;
pub mod statements;
pub mod streams;
pub mod table_description;
pub mod table_settings;
pub mod tables;
pub mod transactions;
pub mod transfer;
pub mod write;

pub use declared::{Body, Declared, decode_response, encode, encode_request, request};
pub use write::{Context, UnitCounter};

#[cfg(test)]
mod round_trips;
#[cfg(test)]
#[path = "../wire_tests.rs"]
mod tests;

/// The reason why a body is no request; `Display` is the service's text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WireError {
    /// The body is not one JSON object: SerializationException without a message.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// SerializationException.
    #[error(transparent)]
    Serialization(#[from] SerializationError),
    /// SearchVectors finds a value of another type: SerializationException.
    #[error("{0}")]
    SearchType(String),
    /// SearchVectors misses a member: ValidationException.
    #[error("{0}")]
    SearchMember(String),
    /// ValidationException.
    #[error("{0}")]
    Constraints(Violations),
    /// TableName is missing in a control operation: ValidationException.
    #[error("The parameter 'TableName' is required but was not present in the request")]
    TableNameMissing,
    /// TableName is empty in a data operation; the one constraint text without a value:
    /// ValidationException.
    #[error(
        "1 validation error detected: Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )]
    TableNameEmpty,
    /// Query's own form of the constraint text: ValidationException.
    #[error(
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    )]
    QueryLimit,
    /// PutItem and DeleteItem have another legal value: ValidationException.
    #[error("ReturnValues can only be ALL_OLD or NONE")]
    ReturnValues,
    /// Query has several conditions in QueryFilter: ValidationException, bare and alone.
    #[error("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]")]
    QueryConditionalOperator,
    /// The same fault as the older layer reports it.
    #[error("ReturnValues can only be ALL_OLD or NONE")]
    LegacyReturnValues,
    /// UpdateItem has no legal value: ValidationException.
    #[error("1 validation error detected: {UPDATE_RETURN_VALUES}")]
    UpdateReturnValues,
    /// The request exceeds our own bound: ValidationException.
    #[error(
        "This request needs more than 112 MiB of memory: it has too many values; send them in several requests"
    )]
    TooManyValues,
    /// An error that an operation can report too.
    #[error(transparent)]
    Request(Error),
}

impl WireError {
    /// Returns DynamoDB's name of the exception (docs/dynamodb.md 24).
    #[must_use]
    pub fn exception(&self) -> &'static str {
        match self {
            Self::NotAnObject | Self::Serialization(_) | Self::SearchType(_) => {
                "SerializationException"
            }
            Self::Request(error) => error.exception(),
            _ => VALIDATION,
        }
    }

    /// Returns the text as an operation of that layer gives it.
    #[must_use]
    pub fn text(&self, parser: RequestParser) -> String {
        match self {
            Self::ReturnValues if parser == RequestParser::Write => {
                format!("1 validation error detected: {self}")
            }
            Self::Request(error) => error.text(parser),
            other => other.to_string(),
        }
    }

    /// Converts several violations to the form of PutItem and DeleteItem.
    #[must_use]
    pub fn into_write_form(self) -> Self {
        match self {
            Self::Constraints(violations) => Self::Constraints(violations.into_write_form()),
            other => other,
        }
    }

    /// Keeps the first broken rule: UpdateItem reports one, not all of them; missing members it
    /// does list.
    #[must_use]
    pub fn first_rule_only(self) -> Self {
        match self {
            Self::Constraints(violations) => Self::Constraints(violations.first_rule_only()),
            other => other,
        }
    }
}

impl<E: Into<Error>> From<E> for WireError {
    fn from(error: E) -> Self {
        Self::Request(error.into())
    }
}
