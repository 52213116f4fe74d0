//! Bad CreateTable requests (docs/dynamodb.md 11.1, 9.2).

use super::value::INVALID;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")]
    ThroughputOnDemand,
    #[error("{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")]
    ThroughputMissing,
    #[error("Given value {value} for {member} is out of bounds")]
    ThroughputRange { member: &'static str, value: u64 },
    #[error("Attribute Name is duplicated: {0}")]
    DuplicateDefinition(String),
    #[error("Invalid KeySchema: Some index key attribute have no definition")]
    KeysWithoutDefinition,
    /// `keys` and `definitions` are joined by `, `.
    #[error(
        "{INVALID}Some index key attributes are not defined in AttributeDefinitions. Keys: [{keys}], AttributeDefinitions: [{definitions}]"
    )]
    UndefinedKeys { keys: String, definitions: String },
    #[error("Both the Hash Key and the Range Key element in the KeySchema have the same name")]
    SameKeyTwice,
    #[error("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")]
    FirstNotHash,
    #[error("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")]
    SecondNotRange,
    #[error(
        "{INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
    )]
    UnusedDefinitions,
    #[error("{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: [{definitions}], keys used: [{used}]")]
    UnusedDefinitionsWithIndexes { definitions: String, used: String },
    #[error("{INVALID}List of {0} is empty")]
    EmptyIndexList(&'static str),
    #[error("{INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")]
    LocalOnHashOnly,
    #[error("{INVALID}Index KeySchema does not have a range key for index: {0}")]
    LocalWithoutRange(String),
    #[error(
        "{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. index hash key: {index_key}, table hash key: {table_key}"
    )]
    LocalOtherHash { index: String, index_key: String, table_key: String },
    #[error("{INVALID}Unknown ProjectionType: null")]
    ProjectionTypeMissing,
    #[error("{INVALID}ProjectionType is {0}, but NonKeyAttributes is specified")]
    NonKeyAttributesUnwanted(&'static str),
    #[error("{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified")]
    NonKeyAttributesMissing,
    #[error("{INVALID}Duplicate element in NonKeyAttributes: {0}")]
    DuplicateNonKeyAttribute(String),
    #[error("{INVALID}Duplicate index name: {0}")]
    DuplicateIndexName(String),
    #[error("{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of 5")]
    TooManyLocal,
    #[error("{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20")]
    TooManyGlobal,
    #[error("{INVALID}The KeySchema exceeds the maximum allowed number of {0} key attributes")]
    TooManyKeyAttributes(&'static str),
    #[error("{INVALID}All HASH key attributes must precede RANGE key attributes in the KeySchema")]
    HashAfterRange,
    #[error("The KeySchema contains multiple key attributes with the same name")]
    RepeatedKeyAttribute,
    #[error("{INVALID}ProvisionedThroughput should not be specified for index: {0} when BillingMode is PAY_PER_REQUEST")]
    IndexThroughputOnDemand(String),
    #[error("{INVALID}ProvisionedThroughput is not specified for index: {0}")]
    IndexThroughputMissing(String),
    #[error("{INVALID}Number of attributes in NonKeyAttributes over all indexes exceeds the limit of 100")]
    TooManyProjected,
    /// `MaxReadRequestUnits` or `MaxWriteRequestUnits`.
    #[error("{INVALID}{0} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.")]
    OnDemandOnProvisioned(&'static str),
    /// `of` is `table` or `index : I`.
    #[error("{INVALID}Requested {member} for OnDemandThroughput for {of} is outside of valid range")]
    OnDemandRange { member: &'static str, of: String },
    /// `than` is what the table or index begins with.
    #[error("{INVALID}Requested {member} for WarmThroughput for {of} is lower than {than}")]
    WarmBelowInitial { member: &'static str, of: String, than: &'static str },
    #[error("{INVALID}Table is being created with a stream enabled, UpdateViewType is required")]
    StreamViewTypeMissing,
    #[error("{INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified")]
    StreamViewTypeUnwanted,
    /// `SSEType` or `KMSMasterKeyId`.
    #[error("{INVALID}{0} can not be specified if Enabled is false")]
    EncryptionOff(&'static str),
    #[error("{INVALID}SSEType KMS is required if KMSMasterKeyId is specified")]
    EncryptionKeyWithoutKms,
    #[error("{INVALID}SSEType AES256 is not supported")]
    EncryptionType,
    #[error(
        "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS]."
    )]
    TableClass,
    #[error("Duplicate Tag Keys provided as input: Duplicate Tag Key found {0}")]
    DuplicateTag(String),
    #[error("Tag Key cannot be prefixed with aws:, Key: {0}")]
    ReservedTag(String),
    #[error("Number of Tags exceed the current limit for the provided ResourceArn")]
    TooManyTags,
}
