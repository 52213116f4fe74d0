//! The words of [`super::Browse`] and of caches: sources, their entries and collections, and how many were found.

use crate::codec::record::Record;
use crate::model::api::Version;
use crate::model::error::StoreError;
use crate::model::layout::PlaceRange;
use crate::model::{AttributeValue, IndexName, Key, TableName};

/// A table, or one of its indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    pub table: TableName,
    pub index: Option<IndexName>,
}

/// The partition key of a table (one value) or index (one to four).
pub type PartitionKey = Vec<AttributeValue>;

/// Which entry of a source: of a table its base key alone, of an index its index key values and the base key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// Index key values in schema order: (partition, sort). `None` for a table.
    pub index: Option<(PartitionKey, Vec<AttributeValue>)>,
    pub base: Key,
}

/// What stat needs of one stored version.
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
    /// One compact line, newline.
    PlainJson,
    /// Typed, one compact line, newline.
    DynamoDbJson,
}

impl TextForm {
    /// The text of a record.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]
    pub fn text(self, record: &Record<'_>) -> Result<Vec<u8>, StoreError> {
        let mut text = Vec::with_capacity(record.plain_json_bytes() as usize);
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

/// A place in the order of a listing, opaque; a listing goes on strictly after it, whether or not the entry still exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub Box<[u8]>);

/// An item collection of a source that has at least one entry. Where nobody counts collections, it has all that its source has, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub partition: PartitionKey,
    pub entries: u64,
    /// DynamoDB bytes of its entries.
    pub bytes: u64,
    /// Commit time of its newest change, milliseconds since the epoch.
    pub modified_ms: u64,
}

/// Which entries of a source a listing walks, in the source's key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// The whole source, in hash order.
    All,
    /// One collection, by sort key; with only those whose first sort key value begins with these bytes (S, B), if given.
    Collection {
        partition: PartitionKey,
        sort_prefix: Option<Vec<u8>>,
    },
    /// Those at these places.
    Within(PlaceRange),
}

/// Counters of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceStats {
    pub entries: u64,
    /// DynamoDB bytes, without overhead.
    pub bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
}

/// Reads that were and were not answered from a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounters {
    pub item_hits: u64,
    pub item_misses: u64,
    pub query_hits: u64,
    pub query_misses: u64,
}
