//! Bad keys: of an item put, of a `Key` parameter, and index keys in an item (docs/dynamodb.md 6.2, 9.4).

use super::value::INVALID;
use crate::model::attribute_value::AttributeType;

#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum KeyError {
    #[error("{INVALID}Missing the key {0} in the item")]
    Missing(String),
    #[error("{INVALID}Type mismatch for key {name} expected: {expected} actual: {actual}")]
    TypeMismatch { name: String, expected: AttributeType, actual: AttributeType },
    /// Of a `Key` parameter: an attribute missing, extra or of another type.
    #[error("The provided key element does not match the schema")]
    SchemaMismatch,
    #[error(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: {0}"
    )]
    EmptyString(String),
    #[error(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: {0}"
    )]
    EmptyBinary(String),
    // The missing blank is the service's own.
    #[error("{INVALID}Size of hashkey has exceeded the maximum size limit of2048 bytes")]
    PartitionTooLarge,
    #[error("{INVALID}Aggregated size of all range keys has exceeded the size limit of 1024 bytes")]
    SortTooLarge,
    #[error("{INVALID}Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}")]
    IndexTypeMismatch { index: String, name: String, expected: AttributeType, actual: AttributeType },
    #[error(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: {index}, IndexKey: {name}"
    )]
    IndexEmptyString { index: String, name: String },
    #[error(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty binary value. IndexName: {index}, IndexKey: {name}"
    )]
    IndexEmptyBinary { index: String, name: String },
}
