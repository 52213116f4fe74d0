//! Tables: CreateTable, UpdateTable, DeleteTable, DescribeTable, ListTables and time to live, as requested and as they are told of
//! (docs/dynamodb.md 11, 16). A request is as sent: the engine's operation checks it and builds a `TableSchema` from it.

use serde::{Deserialize, Serialize};

use super::declare::{declare, rows};
use super::table_control::TableControl;
use crate::model::schema::{
    BillingMode, Encryption, IndexKind, KeyAttribute, KeyType, OnDemandThroughput,
    ProvisionedThroughput, StreamViewType, TableClass, ThroughputSettings, WarmThroughput,
};
use crate::model::word::words;
use crate::model::{IndexName, IndexSchema, Key, TableName, TableSchema, TableSettings};

rows! { $ table_operations
    Reads Own DescribeTable describe_table(DescribeTableRequest) -> DescribeTableResponse;
    Reads Own ListTables list_tables(ListTablesRequest) -> ListTablesResponse;
    Controls Own CreateTable create_table(CreateTableRequest) -> CreateTableResponse;
    Controls Own UpdateTable update_table(UpdateTableRequest) -> UpdateTableResponse;
    Controls Own DeleteTable delete_table(DeleteTableRequest) -> DeleteTableResponse;
    Reads Asked DescribeTimeToLive describe_time_to_live(DescribeTimeToLiveRequest) -> DescribeTimeToLiveResponse;
    Controls Asked UpdateTimeToLive update_time_to_live(UpdateTimeToLiveRequest) -> UpdateTimeToLiveResponse;
}

declare! { $ tables
    #[derive(Eq, Default)]
    ListTablesRequest = "ListTablesInput" {
        /// Names after this one; it need not exist.
        optional exclusive_start_table_name: String as Name,
        /// 1 to 100; default 100.
        optional limit: u32 [ValueMin(1), ValueMax(LIST_TABLES_MAX as i64)],
    }

    #[derive(Eq)]
    ListTablesResponse {
        /// Present exactly when more remain.
        optional last_evaluated_table_name: String,
        /// In byte order.
        required table_names: Vec<String> as List<Named>,
    }

    #[derive(Eq)]
    DescribeTableRequest = "DescribeTableInput" {
        control table_name: TableName,
    }

    DescribeTableResponse {
        required table: TableDescription,
    }

    #[derive(Eq)]
    DeleteTableRequest = "DeleteTableInput" fn new(table_name: TableName) {
        control table_name: TableName,
        /// Refuse with `InUseError::HasItems` unless the table is empty in the deleting transaction itself; the filesystem's rmdir.
        local only_if_empty: bool,
    }

    DeleteTableResponse {
        /// With status DELETING.
        required table_description: TableDescription as Going,
    }
}

words! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    TableStatus {
        Creating = "CREATING",
        Active = "ACTIVE",
        Deleting = "DELETING",
        Updating = "UPDATING",
    }
}

/// A table's definition with its state and counters.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDescription {
    pub schema: TableSchema,
    pub status: TableStatus,
    /// UUID text.
    pub table_id: String,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    pub item_count: u64,
    /// Item bytes plus 100 bytes an item.
    pub table_size_bytes: u64,
    /// One per index of the schema, in the schema's order.
    pub indexes: Vec<IndexDescription>,
    /// Of the newest stream, also when it is disabled.
    pub latest_stream_label: Option<String>,
    pub control: TableControl,
    /// Of its global indexes; `None` while they show every write.
    pub index_lag: Option<IndexLag>,
    /// When it was described, milliseconds since the epoch.
    pub at_ms: u64,
}

/// How far the backfill of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Items of the table looked at.
    pub done: u64,
    /// Items that the table had when the backfill began.
    pub total: u64,
    /// Entries that the backfill wrote; those of other writes are not counted.
    pub written: u64,
    /// Write units of these entries: `OnlineIndexConsumedWriteCapacity`.
    pub write_units: u64,
}

impl IndexProgress {
    /// `OnlineIndexPercentageProgress`, 0 to 100. The table may have grown meanwhile; where it was empty, nothing is done yet.
    #[must_use]
    pub fn percent(&self) -> u64 {
        (self.done.min(self.total) * 100)
            .checked_div(self.total)
            .unwrap_or(0)
    }
}

/// Writes that the global indexes of a table do not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLag {
    pub is_paused: bool,
    /// Writes.
    pub pending: u64,
    /// Age of the oldest, milliseconds.
    pub lag_ms: u64,
}

/// State and counters of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// CREATING, UPDATING, DELETING or ACTIVE; an LSI has the table's.
    pub status: TableStatus,
    /// `None` for an index that no UpdateTable is making.
    pub backfilling: Option<bool>,
    /// `None` unless it is being made.
    pub progress: Option<IndexProgress>,
    /// Items that are kept out by a value that cannot be the key of this index.
    pub violations: u64,
    pub item_count: u64,
    /// Entry bytes plus 100 bytes an entry.
    pub index_size_bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
}

words! {
    ProjectionType {
        All = "ALL",
        Include = "INCLUDE",
        KeysOnly = "KEYS_ONLY",
    }
}

declare! { $ create_table
    #[derive(Eq)]
    CreateTableRequest = "CreateTableInput" by check_create {
        required attribute_definitions: Vec<KeyAttribute>,
        control table_name: TableName,
        /// Default PROVISIONED.
        optional billing_mode: BillingMode,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        required key_schema: Vec<KeySchemaElement> [LengthMin(1), LengthMax(2)],
        /// `None` is an absent member; an empty list is an error of its own.
        optional global_indexes: Vec<IndexDefinition> as List<GlobalIndex> = "GlobalSecondaryIndexes",
        optional local_indexes: Vec<IndexDefinition> as List<LocalIndex> = "LocalSecondaryIndexes",
        ..&[STREAM_SPECIFICATION, SSE_SPECIFICATION, TAGS, TABLE_CLASS],
        default deletion_protection: bool = "DeletionProtectionEnabled",
        ..&[WARM_THROUGHPUT, ON_DEMAND_THROUGHPUT, Member::new("ResourcePolicy", Shape::String)],
        later settings: TableSettings as Flat,
        ..CREATE_REFUSED,
    }

    /// A member of `GlobalSecondaryIndexes` or `LocalSecondaryIndexes` as sent.
    #[derive(Eq)]
    IndexDefinition = "GlobalSecondaryIndex" {
        required name: IndexName = "IndexName",
        local kind: IndexKind,
        required key_schema: Vec<KeySchemaElement> [LengthMin(1), LengthMax(2 * INDEX_KEY_ATTRIBUTES_MAX)],
        required projection: ProjectionDefinition,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        group settings: ThroughputSettings as Flat,
    }

    /// An element of a `KeySchema`.
    #[derive(Eq)]
    KeySchemaElement = "KeySchemaElement" {
        required attribute_name: String as AttributeName,
        required key_type: KeyType,
    }

    /// `Projection` as sent; both members may be missing.
    #[derive(Eq, Default)]
    ProjectionDefinition = "Projection" {
        optional projection_type: ProjectionType,
        optional non_key_attributes: Vec<String> as List<AttributeName> [LengthMin(1), LengthMax(NON_KEY_ATTRIBUTES_MAX)],
    }

    CreateTableResponse {
        required table_description: TableDescription,
    }
}

/// What making an index would come to, told from the items that are there.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexForecast {
    pub index: IndexSchema,
    /// Of the table.
    pub items: u64,
    /// The items that all figures below are of: all, or the first in hash order of a very large table.
    pub looked_at: u64,
    /// Write units of putting them, without any index.
    pub put_units: f64,
    /// Items that have all key attributes, of the right types.
    pub entries: u64,
    /// DynamoDB bytes of these entries, without overhead.
    pub entry_bytes: u64,
    /// Write units of these entries.
    pub write_units: f64,
    /// Items that a value keeps out.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<Absence>,
}

impl UpdateTableRequest {
    /// The indexes to be created.
    pub fn index_creations(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.index_updates
            .iter()
            .flatten()
            .filter_map(|update| update.create.as_deref())
    }

    /// The changes of indexes that stay.
    pub fn index_changes(&self) -> impl Iterator<Item = &IndexChange> + Clone {
        self.index_updates
            .iter()
            .flatten()
            .filter_map(|update| update.update.as_ref())
    }
}

declare! { $ update_table
    #[derive(Eq)]
    UpdateTableRequest = "UpdateTableInput" by check_update fn new(table_name: TableName) {
        /// Types of the keys of a created index; `None` is an absent member.
        optional attribute_definitions: Vec<KeyAttribute>,
        control table_name: TableName,
        optional billing_mode: BillingMode,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        /// `None` is an absent member; an empty list is an error of its own.
        optional index_updates: Vec<IndexUpdate> = "GlobalSecondaryIndexUpdates",
        optional stream: StreamSpecification as WholeStream = "StreamSpecification",
        optional encryption: Encryption = "SSESpecification",
        /// `ReplicaUpdates` is there; refused after the checks of combinations.
        group has_replicas: bool as Replicas,
        optional table_class: TableClass as KnownClass,
        optional deletion_protection: bool = "DeletionProtectionEnabled",
        ..REGIONS,
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
        ..UPDATE_REFUSED,
    }

    /// A member of `GlobalSecondaryIndexUpdates` as sent; a well-formed one has exactly one of them.
    #[derive(Eq, Default)]
    IndexUpdate = "GlobalSecondaryIndexUpdate" {
        optional update: IndexChange,
        optional create: Box<IndexDefinition> as Boxed<CreateIndex>,
        optional delete: IndexName as DeleteIndex,
    }

    /// `GlobalSecondaryIndexUpdate.Update`.
    #[derive(Eq)]
    IndexChange = "UpdateGlobalSecondaryIndexAction" {
        required name: IndexName = "IndexName",
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
    }

    /// As sent.
    #[derive(Eq)]
    StreamSpecification = "StreamSpecification" {
        required enabled: bool = "StreamEnabled",
        /// There exactly when it is enabled.
        optional view_type: StreamViewType = "StreamViewType",
    }

    UpdateTableResponse {
        /// The new definition with the old throughput; what changes has status UPDATING.
        required table_description: TableDescription,
    }
}

words! {
    #[derive(Default)]
    TimeToLiveStatus {
        Enabling = "ENABLING",
        Enabled = "ENABLED",
        Disabling = "DISABLING",
        #[default]
        Disabled = "DISABLED",
    }
}

declare! { $ time_to_live
    #[derive(Eq)]
    UpdateTimeToLiveRequest = "UpdateTimeToLiveInput" {
        control table_name: TableName,
        required specification: TimeToLiveSpecification = "TimeToLiveSpecification",
    }

    /// Echoed by UpdateTimeToLive.
    #[derive(Eq)]
    TimeToLiveSpecification = "TimeToLiveSpecification" {
        required enabled: bool,
        /// Top-level; items may lack it, and it may be a key attribute.
        required attribute_name: String [LengthMin(1), LengthMax(KEY_NAME_CHARS_MAX)],
    }

    #[derive(Eq)]
    UpdateTimeToLiveResponse {
        required specification: TimeToLiveSpecification = "TimeToLiveSpecification",
    }

    #[derive(Eq)]
    DescribeTimeToLiveRequest = "DescribeTimeToLiveInput" {
        control table_name: TableName,
    }

    #[derive(Eq)]
    DescribeTimeToLiveResponse in "TimeToLiveDescription" {
        always status: TimeToLiveStatus = "TimeToLiveStatus",
        /// `None` when disabled.
        optional attribute_name: String,
    }
}

/// An item of the table without an entry in the index asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    pub key: Key,
    pub reason: AbsenceReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsenceReason {
    /// The item lacks these key attributes of the index: it is sparse.
    Lacks(Vec<String>),
    /// A value cannot be a key of the index.
    Refused(KeyViolation),
    /// The entry comes: the index is being made, or lags.
    NotYet,
}

/// A value that cannot be a key of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyViolation {
    pub attribute: String,
    /// As in `S` or `S of 1 to 2048 bytes`.
    pub expected: String,
    /// As in `N` or `S of 0 bytes`.
    pub found: String,
}
