//! Errors of CreateTable and UpdateTable requests (docs/dynamodb.md 9.2, 11.1, 11.3), and errors of
//! control operations that conflict with a table's state or a limit.

use super::value::INVALID;
use crate::model::limits::{SAVED_QUERIES_MAX, VECTOR_DIMENSIONS_MAX, VECTOR_INDEXES_MAX};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error(
        "{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
    )]
    ThroughputOnDemand,
    #[error(
        "{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
    )]
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
    #[error(
        "{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: [{definitions}], keys used: [{used}]"
    )]
    UnusedDefinitionsWithIndexes { definitions: String, used: String },
    #[error("{INVALID}List of {0} is empty")]
    EmptyIndexList(&'static str),
    #[error(
        "{INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
    )]
    LocalOnHashOnly,
    #[error("{INVALID}Index KeySchema does not have a range key for index: {0}")]
    LocalWithoutRange(String),
    #[error(
        "{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. index hash key: {index_key}, table hash key: {table_key}"
    )]
    LocalOtherHash {
        index: String,
        index_key: String,
        table_key: String,
    },
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
    #[error("{INVALID}Vector indexes are only supported for PAY_PER_REQUEST tables")]
    VectorOnProvisioned,
    #[error("{INVALID}One element in SearchSchema is not defined in attribute definitions")]
    SearchSchemaUndefined,
    /// `role` is HASH or INLINE_FILTER.
    #[error(
        "{INVALID}Value '{count}' at 'SearchSchema' failed to satisfy constraint: Member must have {role} count less than or equal to {maximum}"
    )]
    SearchSchemaCount {
        count: usize,
        role: &'static str,
        maximum: usize,
    },
    #[error("{INVALID}SearchSchema contains a duplicate AttributeName")]
    SearchSchemaTwice,
    #[error(
        "{INVALID}Conflicting attribute definition for '{0}'. An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
    )]
    VectorDefined(String),
    #[error(
        "{INVALID}Number of dimensions must be between 1 and {VECTOR_DIMENSIONS_MAX} inclusive."
    )]
    VectorDimensions,
    #[error("{INVALID}VectorIndex count exceeds the per-table limit of {VECTOR_INDEXES_MAX}")]
    TooManyVector,
    #[error(
        "{INVALID}Conflicting attribute definition for '{0}'. All VectorIndexes on the same vector attribute must use the same dimensions."
    )]
    VectorConflict(String),
    #[error("{INVALID}The KeySchema exceeds the maximum allowed number of {0} key attributes")]
    TooManyKeyAttributes(&'static str),
    #[error("{INVALID}All HASH key attributes must precede RANGE key attributes in the KeySchema")]
    HashAfterRange,
    #[error("The KeySchema contains multiple key attributes with the same name")]
    RepeatedKeyAttribute,
    #[error(
        "{INVALID}ProvisionedThroughput should not be specified for index: {0} when BillingMode is PAY_PER_REQUEST"
    )]
    IndexThroughputOnDemand(String),
    #[error("{INVALID}ProvisionedThroughput is not specified for index: {0}")]
    IndexThroughputMissing(String),
    #[error(
        "{INVALID}Number of attributes in NonKeyAttributes over all indexes exceeds the limit of 100"
    )]
    TooManyProjected,
    /// `MaxReadRequestUnits` or `MaxWriteRequestUnits`.
    #[error(
        "{INVALID}{0} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
    )]
    OnDemandOnProvisioned(&'static str),
    /// `of` is `table` or `index : I`.
    #[error(
        "{INVALID}Requested {member} for OnDemandThroughput for {of} is outside of valid range"
    )]
    OnDemandRange { member: &'static str, of: String },
    /// `than` names the initial throughput of the table or index.
    #[error("{INVALID}Requested {member} for WarmThroughput for {of} is lower than {than}")]
    WarmBelowInitial {
        member: &'static str,
        of: String,
        than: &'static str,
    },
    #[error("{INVALID}Table is being created with a stream enabled, UpdateViewType is required")]
    StreamViewTypeMissing,
    #[error(
        "{INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified"
    )]
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

/// An error of UpdateTable: ValidationException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateTableError {
    #[error(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
    )]
    Nothing,
    #[error("{INVALID}List of GlobalSecondaryIndexUpdates is empty")]
    NoIndexUpdates,
    #[error("{INVALID}List of VectorIndexUpdates is empty")]
    NoVectorIndexUpdates,
    #[error("{INVALID}One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")]
    NoVectorAction,
    #[error("{INVALID}Only one vector index action is allowed per VectorIndexUpdate object")]
    SeveralVectorActions,
    #[error("{INVALID}Tables with vector indexes must be in PAY_PER_REQUEST mode")]
    VectorsNeedOnDemand,
    #[error(
        "{INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null"
    )]
    NoIndexAction,
    #[error(
        "{INVALID}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
    )]
    SeveralIndexActions,
    #[error(
        "{INVALID}Only one global secondary index update per index is allowed simultaneously. Index: {0}"
    )]
    SameIndexTwice(String),
    /// `of` is `table` or `index I`.
    #[error(
        "The provisioned throughput for the {of} will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the {kind}: {read}. Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the {kind}: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )]
    SameThroughput {
        of: String,
        kind: &'static str,
        read: u64,
        write: u64,
    },
    #[error(
        "{INVALID}The only Updates for index: {0} when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"
    )]
    IndexThroughputOnDemand(String),
    #[error("{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED")]
    ThroughputRequired,
    #[error("{INVALID}ProvisionedThroughput must be specified for index: {0}")]
    IndexThroughputRequired(String),
    #[error("Cannot {action} an index that is not a GlobalSecondaryIndex: {index}")]
    LocalIndex { action: &'static str, index: String },
    #[error(
        "This operation cannot be performed with given input values. Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
    )]
    ActionBlocked,
    #[error("Table already has an enabled stream: TableName: {0}")]
    StreamEnabled(String),
    #[error("Table has no stream to disable: TableName: {0}")]
    StreamDisabled(String),
    #[error("{INVALID}If stream is being enabled then UpdateViewType is required")]
    StreamViewTypeMissing,
    #[error("{INVALID}If stream is being disabled, then UpdateViewType must not be specified")]
    StreamViewTypeUnwanted,
    #[error("{INVALID}You cannot create or delete index while updating table IOPS")]
    IndexAndThroughput,
    #[error("{INVALID}You cannot create or delete index while changing stream status")]
    IndexAndStream,
    #[error("{INVALID}You cannot modify stream status while updating table IOPS")]
    StreamAndThroughput,
    #[error("{INVALID}{0} must be the only operation in the request")]
    NotAlone(&'static str),
    #[error("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")]
    OnDemandNotAlone,
    #[error(
        "{INVALID}{0} for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED"
    )]
    OnDemandOnProvisioned(&'static str),
    /// `of` is `table` or `index : I`.
    #[error(
        "{INVALID}Requested {member} for WarmThroughput for {of} is lower than current WarmThroughput, decreasing WarmThroughput is not supported"
    )]
    WarmDecrease { member: &'static str, of: String },
    #[error(
        "{INVALID}One of ProvisionedThroughput, OnDemandThroughput, WarmThroughput must be specified for index: {0}"
    )]
    EmptyIndexUpdate(String),
    #[error("{INVALID}AttributeDefinitions is not specified for index: {0}")]
    DefinitionsMissing(String),
    #[error(
        "{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {0}"
    )]
    CreateThroughputMissing(String),
    #[error(
        "{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {0} when BillingMode is PAY_PER_REQUEST"
    )]
    CreateThroughputOnDemand(String),
    #[error("Attempting to create an index which already exists")]
    IndexExists,
    /// `existing` and `new` are like `Schema:[SchemaElement: key{pk:S:HASH}]`.
    #[error(
        "{INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. Existing schema: {existing} New schema: {new}"
    )]
    Redefined { existing: String, new: String },
    /// An addition of this program: the service has no such operation.
    #[error("Table {0} has no global secondary indexes whose propagation could be paused")]
    NoGlobalIndexes(String),
    /// A table without a destination; `action` is `disable` or `update`.
    #[error(
        "Table is not in a valid state to {action} Kinesis Streaming Destination: No streaming destination with streamArn: {stream_arn} found for table with tableName: {table}"
    )]
    NoStreamingDestination {
        action: &'static str,
        stream_arn: String,
        table: String,
    },
}

/// LimitExceededException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error(
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    )]
    OnlineIndexes,
    #[error(
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20"
    )]
    GlobalIndexes,
    #[error(
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of {VECTOR_INDEXES_MAX}"
    )]
    VectorIndexes,
    /// The dates are in the service's long form.
    #[error(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. Number of decreases today: {today}. Last decrease at {last}. Next decrease can be made at {next}"
    )]
    Decreases {
        today: u64,
        last: String,
        next: String,
    },
    /// `ReadCapacityUnits` or `WriteCapacityUnits`.
    #[error(
        "The requested {member}, {value}, is above the per table maximum for the account in us-east-1. Per table maximum: {maximum}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )]
    TableMaximum {
        member: &'static str,
        value: u64,
        maximum: u64,
    },
    /// An addition of this program, for the filesystem's saved queries.
    #[error("a table keeps at most {SAVED_QUERIES_MAX} saved queries; remove some")]
    SavedQueries,
}

const IN_USE: &str = "Attempt to change a resource which is still in use: ";

/// ResourceInUseException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InUseError {
    #[error("{IN_USE}Table is being created: {0}")]
    Creating(String),
    #[error("{IN_USE}Table IOPS are currently being updated. Table: {0}")]
    Updating(String),
    #[error("{IN_USE}Table is being deleted: {0}")]
    Deleting(String),
    #[error(
        "{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the index is active. Table: {table} Index: {index}"
    )]
    IndexAllocating { table: String, index: String },
    /// An index with the name of one that is being created. The two blanks here and below are the
    /// service's.
    #[error("{IN_USE}Index is being created.  Table: {table} Index: {index}")]
    IndexCreating { table: String, index: String },
    #[error(
        "{IN_USE}Index is being created but is not backfilling yet.  Table: {table} Index: {index}"
    )]
    IndexNotBackfilling { table: String, index: String },
    #[error("{IN_USE}Index is being deleted.  Table: {table} Index: {index}")]
    IndexDeleting { table: String, index: String },
    /// `change` is `created` or `deleted`.
    #[error(
        "{IN_USE}Can't change table IOPS when an index is being {change}. Table: {table} Indexes: [{index}]"
    )]
    IndexAndThroughput {
        change: &'static str,
        table: String,
        index: String,
    },
    #[error("{IN_USE}Can't change stream status when an index is being created")]
    IndexAndStream,
    /// `change` is `creation` or `deletion`.
    #[error(
        "{IN_USE}OnDemandThroughput cannot be updated while index {change} is in progress for indexes: [{index}]"
    )]
    IndexAndOnDemand { change: &'static str, index: String },
    #[error("{IN_USE}Cannot delete table while indexes are being created, updated, or deleted.")]
    IndexesBusy,
    /// A backup, restore or export reads the table.
    #[error("{IN_USE}Table: {0} is being backed up, restored from or exported.")]
    BeingRead(String),
    /// The error of `DeleteTableRequest::only_if_empty`.
    #[error("The table has items: {0}")]
    HasItems(String),
}

/// A missing resource other than a table: ResourceNotFoundException.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFoundError {
    #[error("Requested resource not found: Index {index} for table {table}")]
    Index { index: String, table: String },
    /// The text of contributor insights for the same error.
    #[error("Requested resource not found: Index: {index} not found for table: {table}")]
    IndexOfTable { index: String, table: String },
    #[error("Requested resource not found: ResourceArn: {0} not found")]
    ResourceArn(String),
    #[error("Global table with name: '{0}' does not exist.")]
    GlobalTable(String),
    #[error("Requested resource not found: BulkOperationArn: {0} not found")]
    BulkOperation(String),
}
