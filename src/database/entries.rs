//! The vocabulary of [`super::Browse`] and of the caches, plain data: sources, their entries and
//! item collections, and counters.

use crate::codec::record::Record;
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::metrics::HashRange;
use crate::model::{AttributeValue, IndexName, Key, TableName};

/// A table, or one of its indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceName {
    pub table: TableName,
    pub index: Option<IndexName>,
}

impl From<&TableName> for SourceName {
    fn from(table: &TableName) -> Self {
        Self {
            table: table.clone(),
            index: None,
        }
    }
}

/// The partition key of a table (one value) or index (one to four).
pub type PartitionKey = Vec<AttributeValue>;

/// The key of an entry in a source: of a table the base key alone, of an index the index key values
/// and the base key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// Index key values in schema order: (partition, sort). `None` for a table.
    pub index: Option<(PartitionKey, Vec<AttributeValue>)>,
    pub base: Key,
}

impl From<Key> for EntryKey {
    fn from(base: Key) -> Self {
        Self { index: None, base }
    }
}

/// The facts of one stored version that stat shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryStat {
    /// Length of the plain JSON line.
    pub plain_json_bytes: u64,
    /// DynamoDB size.
    pub item_bytes: u32,
    pub version: Version,
    /// Commit time, milliseconds since the epoch.
    pub modified_ms: u64,
}

impl From<&Record<'_>> for EntryStat {
    fn from(record: &Record<'_>) -> Self {
        Self {
            plain_json_bytes: u64::from(record.plain_json_bytes()),
            item_bytes: record.item_bytes(),
            version: record.version(),
            modified_ms: record.modified_ms(),
        }
    }
}

/// The text forms of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextForm {
    /// One compact line and a newline.
    PlainJson,
    /// Typed JSON in one compact line, and a newline.
    DynamoDbJson,
}

impl TextForm {
    /// Returns the text of a record.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the record cannot be decoded.
    pub fn text(self, record: &Record<'_>) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::new();
        match self {
            Self::PlainJson => record.write_plain_json(&mut text)?,
            Self::DynamoDbJson => {
                record.write_dynamodb_json(&|_| true, &mut text)?;
                text.push(b'\n');
            }
        }
        Ok(text)
    }
}

/// An opaque position in the order of a listing. A listing resumes strictly after it, whether or
/// not the entry still exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListPosition(pub Box<[u8]>);

/// An item collection of a source, with at least one entry. Where collections are not counted, its
/// counters are those of the whole source, as an upper bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub partition: PartitionKey,
    pub entries: u64,
    /// DynamoDB bytes of its entries.
    pub bytes: u64,
    /// Commit time of its newest change, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// The range of entries that a listing walks, in the source's key order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EntryRange {
    /// The whole source, in hash order.
    All,
    /// One item collection, by sort key; with a prefix, only entries with a first sort key value
    /// (S, B) that begins with these bytes.
    Collection {
        partition: PartitionKey,
        sort_prefix: Option<Vec<u8>>,
    },
    /// The entries at these places of the hash space.
    Within(HashRange),
}

/// The counters of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceStats {
    pub entries: u64,
    /// DynamoDB bytes, without overhead.
    pub bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
}

/// Counters of reads that a cache did and did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounters {
    pub item_hits: u64,
    pub item_misses: u64,
    pub query_hits: u64,
    pub query_misses: u64,
}
