//! Entries counted group by group as a walk in key order meets them.

use crate::codec::digest::Digest;
use crate::codec::record::Record;
use crate::engine::base::counters::{CollectionValue, SourceCounters};
use crate::model::error::StoreError;
use crate::model::{AttributeValue, Item};

/// The entries of one partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub digest: Digest,
    /// The partition key attributes.
    pub partition: Item,
    names: Vec<String>,
    entries: u64,
    bytes: u64,
    newest_ms: u64,
}

impl Group {
    /// Does a stored collection say this? Its time may be newer than that of any entry left.
    pub fn is(&self, stored: &[u8]) -> Result<bool, StoreError> {
        let value = CollectionValue::parse(stored)?;
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let partition = value.partition(&names)?;
        let same_partition = names.iter().zip(&partition).all(|(name, value)| self.partition.get(name) == Some(value));
        let counted = (self.entries, self.bytes) == (value.entries, value.bytes);
        Ok(same_partition && counted && value.modified_ms >= self.newest_ms)
    }
}

/// The counters of a source and the group that the walk is in.
#[derive(Debug, Default)]
pub struct Groups {
    counters: SourceCounters,
    current: Option<Group>,
}

impl Groups {
    /// Counts an entry; returns the group before it when it begins another.
    pub fn count(&mut self, digest: Digest, record: &Record<'_>, partition: &[(&str, &AttributeValue)]) -> Option<Group> {
        let bytes = u64::from(record.item_bytes());
        self.counters.entries += 1;
        self.counters.bytes += bytes;
        if let Some(group) = self.current.as_mut().filter(|group| group.digest == digest) {
            group.entries += 1;
            group.bytes += bytes;
            group.newest_ms = group.newest_ms.max(record.modified_ms());
            return None;
        }
        self.counters.partition_keys += 1;
        let names = partition.iter().map(|(name, _)| (*name).to_owned()).collect();
        let partition = Item(partition.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect());
        let group = Group { digest, partition, names, entries: 1, bytes, newest_ms: record.modified_ms() };
        self.current.replace(group)
    }

    /// Counts an item of a table whose items are their own collections.
    pub fn count_alone(&mut self, record: &Record<'_>) {
        self.counters.entries += 1;
        self.counters.bytes += u64::from(record.item_bytes());
        self.counters.partition_keys += 1;
    }

    /// The last group.
    pub fn end(&mut self) -> Option<Group> {
        self.current.take()
    }

    pub fn counters(&self) -> SourceCounters {
        self.counters
    }
}
