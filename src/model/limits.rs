//! DynamoDB's quotas as named constants, each with its source. Units come last in the name. The
//! checks that use them are in `model`, `expr`, `codec::wire` and `engine`.

/// Item: 400 KB of names and values (DynamoDB quota "Item size").
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// Partition key value (quota "Partition key length").
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// Sort key value (quota "Sort key length").
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// Nested lists and maps, the top-level value being level 1 (quota "Nested attribute depth").
pub const NESTING_LEVELS_MAX: usize = 32;
/// Global secondary indexes of a table (default quota).
pub const GLOBAL_INDEXES_MAX: usize = 20;
/// Vector indexes of a table.
pub const VECTOR_INDEXES_MAX: usize = 5;
/// The numbers of a vector in an index.
pub const VECTOR_DIMENSIONS_MAX: u64 = 4096;
/// Inline filters of a vector index.
pub const INLINE_FILTERS_MAX: usize = 18;
/// Bytes of the value of an inline filter.
pub const INLINE_FILTER_BYTES_MAX: usize = 10_240;
/// The numbers of a vector in a SearchVectors request.
pub const SEARCH_NUMBERS_MAX: usize = 4096;
/// The items that a SearchVectors returns.
pub const TOP_K_MAX: u32 = 100;
/// Local secondary indexes of a table.
pub const LOCAL_INDEXES_MAX: usize = 5;
/// `NonKeyAttributes` over all INCLUDE indexes of a table; the same name in two indexes counts twice.
pub const PROJECTED_ATTRIBUTES_MAX: usize = 100;
/// `NonKeyAttributes` of one index.
pub const NON_KEY_ATTRIBUTES_MAX: usize = 20;
/// Data evaluated by one Query or Scan page.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// An expression string.
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Operators in one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// Values that an expression refers to, each counted as often as it is used; twice the bound of all
/// values would allow every use once. An addition of this engine.
pub const EXPRESSION_VALUES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A placeholder (`#x`, `:x`), sign included.
pub const PLACEHOLDER_BYTES_MAX: usize = 255;
/// `ExpressionAttributeNames` and `ExpressionAttributeValues` together (quota "Expression parameters").
pub const PLACEHOLDERS_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Elements of one document path.
pub const DOCUMENT_PATH_LEVELS_MAX: usize = 32;
/// Operands of `IN`.
pub const IN_OPERANDS_MAX: usize = 100;
/// Table and index names.
pub const NAME_CHARS_MIN: usize = 3;
/// Table and index names.
pub const NAME_CHARS_MAX: usize = 255;
/// Attribute name (quota "Attribute names").
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// Key attribute name, `NonKeyAttributes` entry, TTL attribute.
pub const KEY_NAME_CHARS_MAX: usize = 255;
/// `TotalSegments` of a parallel scan.
pub const SEGMENTS_MAX: u32 = 1_000_000;
/// ListTables page.
pub const LIST_TABLES_MAX: u32 = 100;
/// ListStreams page, and DescribeStream page of shards (service model's documentation).
pub const LIST_STREAMS_MAX: u32 = 100;
/// Records of a GetRecords page.
pub const STREAM_RECORDS_MAX: u32 = 1000;
/// Records of a GetRecords page, by their `SizeBytes`; one record is always returned.
pub const STREAM_PAGE_BYTES_MAX: u64 = 1024 * 1024;
/// Retention of a stream's records (developer guide, "Data retention limit").
pub const STREAM_RETENTION_MS: u64 = 24 * 60 * 60 * 1000;
/// Validity of a shard iterator.
pub const SHARD_ITERATOR_MS: u64 = 15 * 60 * 1000;
/// The age of expiry up to which time to live deletes an item: five years (developer guide, TTL).
pub const TTL_PAST_MS_MAX: u64 = 5 * 365 * 24 * 60 * 60 * 1000;
/// Storage overhead counted per item and per index entry in `TableSizeBytes`, `IndexSizeBytes` (developer guide, LSI storage).
pub const ENTRY_OVERHEAD_BYTES: u64 = 100;
/// Bytes of an item collection of a table with local indexes, overhead included (docs/dynamodb.md 9.7).
pub const COLLECTION_BYTES_MAX: u64 = 10 * 1024 * 1024 * 1024;
/// Provisioned units must stay below this (CreateTable check 3).
pub const CAPACITY_UNITS_MAX: u64 = 1_000_000_000_000;
/// Retention of the backup of a deleted table with point-in-time recovery (developer guide,
/// point-in-time recovery): 35 days.
pub const SYSTEM_BACKUP_RETENTION_MS: u64 = 35 * 24 * 60 * 60 * 1000;
/// Elements of a GSI's HASH part, and of its RANGE part.
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// Bytes one read unit covers.
pub const READ_UNIT_BYTES: usize = 4096;
/// Bytes one write unit covers.
pub const WRITE_UNIT_BYTES: usize = 1024;
/// Keys of BatchGetItem, over all tables.
pub const BATCH_GET_KEYS_MAX: usize = 100;
/// Items in a response of BatchGetItem; the rest is returned as unprocessed keys.
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Requests of BatchWriteItem, over all tables.
pub const BATCH_WRITE_REQUESTS_MAX: usize = 25;
/// Actions of TransactWriteItems, items of TransactGetItems.
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// Items and keys of TransactWriteItems, items read by TransactGetItems.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// `ClientRequestToken`.
pub const CLIENT_TOKEN_CHARS_MAX: usize = 36;
/// A PartiQL statement.
pub const STATEMENT_CHARS_MAX: usize = 8192;
/// Statements of BatchExecuteStatement.
pub const BATCH_STATEMENTS_MAX: usize = 25;
/// `NextToken` of ExecuteStatement (service model).
pub const STATEMENT_TOKEN_CHARS_MAX: usize = 32_768;
/// Validity of a `ClientRequestToken`.
pub const CLIENT_TOKEN_VALID_MS: u64 = 10 * 60 * 1000;
/// Provisioned read or write units of one table or index (quota "Table-level throughput").
pub const TABLE_CAPACITY_UNITS_MAX: u64 = 40_000;
/// Provisioned read or write units of all tables (quota "Account-level throughput"); enforced only
/// by the simulation of throttling.
pub const ACCOUNT_CAPACITY_UNITS_MAX: u64 = 80_000;
/// Decreases of provisioned throughput in a UTC day before they are limited.
pub const FREE_DECREASES: u64 = 4;
/// The minimum time between limited decreases.
pub const DECREASE_INTERVAL_MS: u64 = 60 * 60 * 1000;
/// Tags of a resource.
pub const TAGS_MAX: usize = 50;
/// Characters of a tag's key.
pub const TAG_KEY_CHARS_MAX: usize = 128;
/// Characters of a tag's value.
pub const TAG_VALUE_CHARS_MAX: usize = 256;
/// A resource-based policy.
pub const POLICY_BYTES_MAX: usize = 20_480;

/// Saved queries of a table. An addition of this engine.
pub const SAVED_QUERIES_MAX: usize = 200;
/// The text of a saved request. An addition of this engine.
pub const SAVED_REQUEST_BYTES_MAX: usize = 16 * 1024;
