//! Tables: CreateTable, UpdateTable, DeleteTable, DescribeTable, ListTables and time to live, as
//! requested and as described (docs/dynamodb.md 11, 16). A request is kept as sent: the engine's
//! operation checks it and builds a `TableSchema` from it.

use serde::{Deserialize, Serialize};

use super::declare::{declare, operation_rows};
use super::table_control::TableControl;
use crate::model::api_enum::api_enums;
use crate::model::schema::{
    BillingMode, DistanceFunction, Encryption, IndexKind, KeyAttribute, KeyType,
    OnDemandThroughput, ProvisionedThroughput, StreamViewType, TableClass, ThroughputSettings,
    VectorAttribute, WarmThroughput,
};
use crate::model::{
    AttributeValue, IndexName, IndexSchema, Key, Projection, TableName, TableSchema, TableSettings,
};

operation_rows! { $ table_operations
    Read Custom DescribeTable describe_table(DescribeTableRequest) -> DescribeTableResponse;
    Read Custom ListTables list_tables(ListTablesRequest) -> ListTablesResponse;
    Control Custom CreateTable create_table(CreateTableRequest) -> CreateTableResponse;
    Control Custom UpdateTable update_table(UpdateTableRequest) -> UpdateTableResponse;
    Control Custom DeleteTable delete_table(DeleteTableRequest) -> DeleteTableResponse;
    Read Forwarded DescribeTimeToLive describe_time_to_live(DescribeTimeToLiveRequest) -> DescribeTimeToLiveResponse;
    Control Forwarded UpdateTimeToLive update_time_to_live(UpdateTimeToLiveRequest) -> UpdateTimeToLiveResponse;
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
        /// Sorted by bytes.
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
        /// Refuse with `InUseError::HasItems` unless the table is empty in the deleting transaction
        /// itself; for the filesystem's rmdir.
        local only_if_empty: bool,
    }

    DeleteTableResponse {
        /// With status DELETING.
        required table_description: TableDescription as DeletedTable,
    }
}

api_enums! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    TableStatus {
        Creating = "CREATING",
        Active = "ACTIVE",
        Deleting = "DELETING",
        Updating = "UPDATING",
    }
}

/// The definition of a table with its state and counters.
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
    /// The label of the newest stream, also if it is disabled.
    pub latest_stream_label: Option<String>,
    pub control: TableControl,
    /// The lag of its global indexes; `None` while they show every write.
    pub index_lag: Option<IndexLag>,
    /// The time of the description, milliseconds since the epoch.
    pub at_ms: u64,
}

/// The progress of an index backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Items of the table that were visited.
    pub done: u64,
    /// Items in the table when the backfill began.
    pub total: u64,
    /// Entries that the backfill wrote; entries of other writes are not counted.
    pub written: u64,
    /// Write units of these entries: `OnlineIndexConsumedWriteCapacity`.
    pub write_units: u64,
}

impl IndexProgress {
    /// Returns `OnlineIndexPercentageProgress`, 0 to 100. The table may have grown since the
    /// backfill began; for a table that was empty then, it is 0.
    #[must_use]
    pub fn percent(&self) -> u64 {
        (self.done.min(self.total) * 100)
            .checked_div(self.total)
            .unwrap_or(0)
    }
}

/// The writes that the global indexes of a table do not show yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLag {
    pub is_paused: bool,
    /// The number of writes.
    pub pending: u64,
    /// The age of the oldest one, milliseconds.
    pub lag_ms: u64,
}

/// The state and counters of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// CREATING, UPDATING, DELETING or ACTIVE; a local index has the table's status.
    pub status: TableStatus,
    /// `None` for an index that UpdateTable is not creating.
    pub backfilling: Option<bool>,
    /// `None` unless it is being created.
    pub progress: Option<IndexProgress>,
    /// Items left out of this index because a value cannot be its key.
    pub violations: u64,
    pub item_count: u64,
    /// Entry bytes plus 100 bytes an entry.
    pub index_size_bytes: u64,
    /// The number of distinct partition key values.
    pub partition_keys: u64,
}

api_enums! {
    /// `SearchSchemaElementType`.
    SearchElementType {
        Hash = "HASH",
        InlineFilter = "INLINE_FILTER",
    }

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
        /// `None` is an absent member; an empty list is an error of its own.
        optional vector_indexes: Vec<IndexDefinition> as List<VectorIndex>,
        ..&[STREAM_SPECIFICATION, SSE_SPECIFICATION, TAGS, TABLE_CLASS],
        default deletion_protection: bool = "DeletionProtectionEnabled",
        ..&[WARM_THROUGHPUT, ON_DEMAND_THROUGHPUT, Member::new("ResourcePolicy", Shape::String)],
        later settings: TableSettings as Flat,
        ..CREATE_REFUSED,
    }

    /// A member of `GlobalSecondaryIndexes`, `LocalSecondaryIndexes` or `VectorIndexes` as sent.
    #[derive(Eq)]
    IndexDefinition = "GlobalSecondaryIndex" {
        required name: IndexName = "IndexName",
        local kind: IndexKind,
        /// `SearchSchema` of a vector index: RANGE is INLINE_FILTER.
        required key_schema: Vec<KeySchemaElement> [LengthMin(1), LengthMax(2 * INDEX_KEY_ATTRIBUTES_MAX)],
        required projection: ProjectionDefinition,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        group settings: ThroughputSettings as Flat,
        /// Only and always for a vector index.
        local vector: Option<VectorAttribute>,
    }

    /// A member of `VectorIndexes` as sent.
    #[derive(Eq)]
    VectorIndexDefinition = "VectorIndex" {
        required name: IndexName = "IndexName",
        required vector_attribute: VectorAttributeName,
        optional search_schema: Vec<SearchSchemaElement>,
        required projection: ProjectionDefinition,
        required dimensions: u64 [ValueMin(1)],
        required distance_function: DistanceFunction,
    }

    /// `VectorAttribute` of a vector index.
    #[derive(Eq)]
    VectorAttributeName = "VectorAttributeDefinition" {
        required attribute_name: String as AttributeName,
    }

    /// An element of a `SearchSchema`.
    #[derive(Eq)]
    SearchSchemaElement = "SearchSchemaElement" {
        required attribute_name: String as AttributeName,
        required element_type: SearchElementType = "SearchSchemaElementType",
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

/// An estimate of the size and cost of a new index, computed from the existing items.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEstimate {
    pub index: IndexSchema,
    /// The items in the table.
    pub items: u64,
    /// The number of items from which all figures below are computed: all items, or the first ones
    /// in hash order of a very large table.
    pub sampled: u64,
    /// Write units to put these items, without any index.
    pub put_units: f64,
    /// Items that have all key attributes with the right types.
    pub entries: u64,
    /// DynamoDB bytes of these entries, without overhead.
    pub entry_bytes: u64,
    /// Write units of these entries; of a vector index `VectorWriteRequestBytes`.
    pub write_units: f64,
    /// Distinct values of the index's partition key among these entries; of very many, the first
    /// ones are counted.
    pub partition_keys: u64,
    /// The partition key value with the most entries, and their number.
    pub largest: Option<(Vec<AttributeValue>, u64)>,
    /// Items left out because of a value.
    pub violations: u64,
    /// The first of these items.
    pub examples: Vec<AbsentEntry>,
}

impl From<VectorIndexDefinition> for IndexDefinition {
    fn from(index: VectorIndexDefinition) -> Self {
        let elements = index.search_schema.into_iter().flatten();
        Self {
            name: index.name,
            kind: IndexKind::Vector,
            key_schema: elements
                .map(|element| KeySchemaElement {
                    attribute_name: element.attribute_name,
                    key_type: match element.element_type {
                        SearchElementType::Hash => KeyType::Hash,
                        SearchElementType::InlineFilter => KeyType::Range,
                    },
                })
                .collect(),
            projection: index.projection,
            throughput: None,
            settings: ThroughputSettings::default(),
            vector: Some(VectorAttribute {
                name: index.vector_attribute.attribute_name,
                dimensions: index.dimensions,
                distance: index.distance_function,
            }),
        }
    }
}

impl VectorIndexDefinition {
    /// Returns the definition as it is sent; `None` unless it is of a vector index.
    #[must_use]
    pub fn of(index: &IndexDefinition) -> Option<Self> {
        let vector = index.vector.as_ref()?;
        let element = |element: &KeySchemaElement| SearchSchemaElement {
            attribute_name: element.attribute_name.clone(),
            element_type: match element.key_type {
                KeyType::Hash => SearchElementType::Hash,
                KeyType::Range => SearchElementType::InlineFilter,
            },
        };
        let search_schema: Vec<_> = index.key_schema.iter().map(element).collect();
        Some(Self {
            name: index.name.clone(),
            vector_attribute: VectorAttributeName {
                attribute_name: vector.name.clone(),
            },
            search_schema: Some(search_schema).filter(|elements| !elements.is_empty()),
            projection: index.projection.clone(),
            dimensions: vector.dimensions,
            distance_function: vector.distance,
        })
    }
}

/// The definition that a schema is made of.
impl From<&IndexSchema> for IndexDefinition {
    fn from(index: &IndexSchema) -> Self {
        let element = |key_type| {
            move |attribute: &KeyAttribute| KeySchemaElement {
                attribute_name: attribute.name.clone(),
                key_type,
            }
        };
        let partition = index.partition.iter().map(element(KeyType::Hash));
        Self {
            name: index.name.clone(),
            kind: index.kind,
            key_schema: partition
                .chain(index.sort.iter().map(element(KeyType::Range)))
                .collect(),
            projection: ProjectionDefinition::from(&index.projection),
            throughput: index.throughput,
            settings: index.settings,
            vector: index.vector.clone(),
        }
    }
}

impl From<&Projection> for ProjectionDefinition {
    fn from(projection: &Projection) -> Self {
        let (projection_type, names) = match projection {
            Projection::All => (ProjectionType::All, None),
            Projection::KeysOnly => (ProjectionType::KeysOnly, None),
            Projection::Include(names) => (ProjectionType::Include, Some(names.clone())),
        };
        Self {
            projection_type: Some(projection_type),
            non_key_attributes: names,
        }
    }
}

impl UpdateTableRequest {
    /// Returns the updates of global indexes, then those of vector indexes.
    pub fn all_index_updates(&self) -> impl Iterator<Item = &IndexUpdate> + Clone {
        let global = self.index_updates.iter().flatten();
        global.chain(self.vector_index_updates.iter().flatten())
    }

    /// Returns the definitions of the indexes to create.
    pub fn index_creations(&self) -> impl Iterator<Item = &IndexDefinition> {
        self.all_index_updates()
            .filter_map(|update| update.create.as_deref())
    }

    /// Returns the changes of existing indexes.
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
        /// The types of a created index's keys; `None` is an absent member.
        optional attribute_definitions: Vec<KeyAttribute>,
        control table_name: TableName,
        optional billing_mode: BillingMode,
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        /// `None` is an absent member; an empty list is an error of its own.
        optional index_updates: Vec<IndexUpdate> = "GlobalSecondaryIndexUpdates",
        optional stream: StreamSpecification as WholeStream = "StreamSpecification",
        optional encryption: Encryption = "SSESpecification",
        /// True if `ReplicaUpdates` is present; refused after the checks of combinations.
        group has_replicas: bool as Replicas,
        optional table_class: TableClass as KnownClass,
        optional deletion_protection: bool = "DeletionProtectionEnabled",
        ..REGIONS,
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
        ..UPDATE_REFUSED,
        /// `None` is an absent member; an empty list is an error of its own.
        optional vector_index_updates: Vec<IndexUpdate> as List<VectorIndexUpdate>,
    }

    /// A member of `GlobalSecondaryIndexUpdates` as sent; a well-formed one has exactly one of
    /// these members.
    #[derive(Eq, Default)]
    IndexUpdate = "GlobalSecondaryIndexUpdate" {
        optional update: IndexChange,
        optional create: Box<IndexDefinition> as Boxed<CreateIndex>,
        optional delete: IndexName as DeleteIndex,
    }

    /// A member of `VectorIndexUpdates` as sent.
    #[derive(Eq)]
    VectorUpdate = "VectorIndexUpdate" {
        optional create: Box<IndexDefinition> as Boxed<CreateVectorIndex>,
        optional delete: IndexName as DeleteVectorIndex,
    }

    /// `GlobalSecondaryIndexUpdate.Update`.
    #[derive(Eq)]
    IndexChange = "UpdateGlobalSecondaryIndexAction" {
        required name: IndexName = "IndexName",
        optional throughput: ProvisionedThroughput = "ProvisionedThroughput",
        optional on_demand: OnDemandThroughput = "OnDemandThroughput",
        optional warm: WarmThroughput = "WarmThroughput",
    }

    /// `StreamSpecification` as sent.
    #[derive(Eq)]
    StreamSpecification = "StreamSpecification" {
        required enabled: bool = "StreamEnabled",
        /// Present exactly if the stream is enabled.
        optional view_type: StreamViewType = "StreamViewType",
    }

    UpdateTableResponse {
        /// The new definition with the old throughput; the parts that change have status UPDATING.
        required table_description: TableDescription,
    }
}

api_enums! {
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

    /// Repeated in the response of UpdateTimeToLive.
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
        /// `None` if disabled.
        optional attribute_name: String,
    }
}

/// An item of the table without an entry in a given index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentEntry {
    pub key: Key,
    pub reason: AbsentReason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsentReason {
    /// The item lacks these key attributes of the index: the index is sparse.
    Lacks(Vec<String>),
    /// A value cannot be a key of the index.
    InvalidKey(KeyViolation),
    /// The entry is not written yet: the index is being created, or lags.
    Pending,
}

/// A value that cannot be a key of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyViolation {
    pub attribute: String,
    /// For example `S` or `S of 1 to 2048 bytes`.
    pub expected: String,
    /// For example `N` or `S of 0 bytes`.
    pub found: String,
}
