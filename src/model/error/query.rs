//! Errors of reads and keys: bad combinations of parameters in GetItem, Query and Scan
//! (docs/dynamodb.md 13.2, 13.6, 13.7), and bad keys: of a put item, of a `Key` parameter, and
//! index keys in an item (6.2, 9.4). `expression` has the errors of the expressions of the same
//! requests.

use super::ValueError;
use super::value::INVALID;
use crate::model::attribute_value::AttributeType;
use crate::model::limits::{INLINE_FILTER_BYTES_MAX, PARTITION_KEY_BYTES_MAX, TOP_K_MAX};

#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum QueryError {
    #[error(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    )]
    NoKeyCondition,
    #[error(
        "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"
    )]
    SegmentMissing,
    #[error(
        "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
    )]
    TotalSegmentsMissing,
    #[error(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {segment} is not less than TotalSegments: {total}"
    )]
    SegmentRange { segment: u32, total: u32 },
    #[error("The table does not have the specified index: {0}")]
    UnknownIndex(String),
    #[error("Cannot read from backfilling global secondary index: {0}")]
    Backfilling(String),
    #[error("Cannot search backfilling vector index: {0}")]
    SearchBackfilling(String),
    // The full stop is in one of the two texts.
    #[error("Query operation not supported on this index type.")]
    QueryOnVector,
    #[error("Scan operation not supported on this index type")]
    ScanOnVector,
    #[error(
        "Provided TopK value '{0}' is out of valid range. The value must be between 1 and {TOP_K_MAX} inclusive"
    )]
    TopK(u32),
    #[error("SearchConditionExpression must be provided when SearchSchema has a HASH key")]
    SearchWithoutHash,
    #[error("SearchConditionExpression must have all HASH attributes in configured SearchSchema")]
    SearchLacksHash,
    #[error(
        "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression"
    )]
    SearchComparator,
    #[error(
        "Invalid SearchConditionExpression: Invalid operator used in SearchConditionExpression"
    )]
    SearchOperator,
    #[error(
        "Invalid SearchConditionExpression: SearchConditionExpression cannot have conditions on nested attributes"
    )]
    SearchNested,
    #[error(
        "Invalid SearchConditionExpression: SearchConditionExpression must only contain one condition per attribute"
    )]
    SearchTwice,
    #[error(
        "Type of '{name}' attribute in SearchConditionExpression ({actual}) does not match type in search schema ({expected})"
    )]
    SearchType {
        name: String,
        actual: AttributeType,
        expected: AttributeType,
    },
    #[error(
        "SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid attribute: {0}"
    )]
    SearchAttribute(String),
    #[error(
        "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number attribute"
    )]
    SearchValues,
    #[error(
        "Input search vector dimension {actual} does not match vector index dimension {expected}"
    )]
    SearchDimensions { actual: usize, expected: u64 },
    #[error("Consistent reads are not supported on global secondary indexes")]
    ConsistentOnGlobal,
    #[error(
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
    )]
    SpecificWithoutProjection,
    /// `parameter` is `ProjectionExpression` or `AttributesToGet`, `what` is `ALL_ATTRIBUTES`, `ALL_PROJECTED_ATTRIBUTES` or `only the Count`.
    #[error("Cannot specify the {parameter} when choosing to get {what}")]
    ProjectionWithSelect {
        parameter: &'static str,
        what: &'static str,
    },
    #[error("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")]
    AllProjectedWithoutIndex,
    #[error(
        "{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {0} because its projection type is not ALL"
    )]
    AllAttributesOnGlobal(String),
    /// `names` joined by `, `.
    #[error("{INVALID}Global secondary index {index} does not project [{names}]")]
    NotProjected { index: String, names: String },
    /// `parameter` is `Filter Expression`, `QueryFilter`.
    #[error(
        "{parameter} can only contain non-primary key attributes: Primary key attribute: {name}"
    )]
    FilterOnKey {
        parameter: &'static str,
        name: String,
    },
    /// `names` joined by `, `.
    #[error(
        "{INVALID}Secondary index {index} does not project one or more filter attributes: [{names}]"
    )]
    FilterNotProjected { index: String, names: String },
    /// A document path into a key attribute.
    #[error(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {role}: {name}"
    )]
    PathIntoKey { role: &'static str, name: String },
    #[error("The provided starting key is invalid")]
    StartKey,
    #[error("{}", Self::start_key_text(.0, &.0.to_string()))]
    StartKeyValue(ValueError),
    #[error("The provided starting key is invalid: {0}")]
    StartKeyEmpty(KeyError),
    #[error(
        "The provided starting key is invalid: The provided key element does not match the schema"
    )]
    StartKeySchema,
    #[error("The provided starting key is outside query boundaries based on provided conditions")]
    StartKeyOutside,
    #[error("The provided starting key does not match the range key predicate")]
    StartKeyPredicate,
    #[error("The query can return at most one row and cannot be restarted")]
    StartKeyOneRow,
    #[error(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: {total} Segment: {segment}"
    )]
    StartKeySegment { total: u32, segment: u32 },
}

impl QueryError {
    /// Returns the text of a fault in ExclusiveStartKey; `text` is the fault's own text
    /// (docs/dynamodb.md 2.6).
    #[must_use]
    pub fn start_key_text(fault: &ValueError, text: &str) -> String {
        let inner = match fault {
            ValueError::Number(_)
            | ValueError::EmptyNumberSet
            | ValueError::DuplicateStrings(_)
            | ValueError::DuplicateBinaries(_)
            | ValueError::DuplicateNumbers => return text.to_owned(),
            ValueError::NullFalse | ValueError::EmptyStringSet | ValueError::EmptyBinarySet => text,
            ValueError::NoType
            | ValueError::SeveralTypes
            | ValueError::NullInSet(_)
            | ValueError::Nesting
            | ValueError::EmptyAttributeName
            | ValueError::AttributeNameTooLong
            | ValueError::ItemTooLarge => text.strip_prefix(INVALID).unwrap_or(text),
        };
        format!("The provided starting key is invalid: {inner}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum KeyError {
    #[error("{INVALID}Missing the key {0} in the item")]
    Missing(String),
    #[error("{INVALID}Type mismatch for key {name} expected: {expected} actual: {actual}")]
    TypeMismatch {
        name: String,
        expected: AttributeType,
        actual: AttributeType,
    },
    /// A `Key` parameter with an attribute missing, extra or of another type.
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
    #[error(
        "{INVALID}Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"
    )]
    IndexTypeMismatch {
        index: String,
        name: String,
        expected: AttributeType,
        actual: AttributeType,
    },
    #[error(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: {index}, IndexKey: {name}"
    )]
    IndexEmptyString { index: String, name: String },
    #[error(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty binary value. IndexName: {index}, IndexKey: {name}"
    )]
    IndexEmptyBinary { index: String, name: String },
    // The three texts differ in the sign before `IndexName`, as the service's do.
    #[error(
        "One or more parameter values were invalid. Invalid size for parameter {name}, Expected: {expected}, Actual: {actual} IndexName: {index}"
    )]
    VectorSize {
        index: String,
        name: String,
        expected: u64,
        actual: usize,
    },
    #[error(
        "One or more parameter values were invalid. Invalid type for parameter {name}[{place}], Expected: 32-bit floating point number, Actual: {actual}. IndexName: {index}"
    )]
    VectorElement {
        index: String,
        name: String,
        place: usize,
        actual: AttributeType,
    },
    /// `value` is in scientific form.
    #[error(
        "One or more parameter values were invalid. Invalid value for parameter {name}[{place}], Value: {value} is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: {index}"
    )]
    VectorRange {
        index: String,
        name: String,
        place: usize,
        value: String,
    },
    #[error(
        "One or more parameter values were invalid. Attribute '{name}' type mismatch. Expected: {expected}, Actual: {actual}. IndexName: {index}"
    )]
    SearchSchemaType {
        index: String,
        name: String,
        expected: AttributeType,
        actual: AttributeType,
    },
    #[error(
        "{INVALID}Aggregate size for HASH key attributes exceeds the maximum of {PARTITION_KEY_BYTES_MAX} bytes"
    )]
    SearchHashTooLarge,
    #[error(
        "{INVALID}Size limit exceeded for SearchSchema attribute '{0}': maximum {INLINE_FILTER_BYTES_MAX} bytes"
    )]
    InlineFilterTooLarge(String),
    #[error(
        "One or more parameter values were invalid. Invalid type for parameter {name}, Expected: 32-bit floating point number list IndexName: {index}"
    )]
    VectorType { index: String, name: String },
}
