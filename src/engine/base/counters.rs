//! The maintained counts of sources (tables and indexes) and of item collections, and their stored
//! forms. Each write adds a delta, so that a count or a size is read without a scan.
//!
//! ```text
//! source      entries u64 · bytes u64 · partition keys u64 · of a vector index saved u64
//! collection  entries u64 · bytes u64 · modified u64 · record of the partition key attributes
//! ```
//! Numbers are big-endian; bytes are DynamoDB sizes without overhead; modified is in milliseconds
//! since the epoch. The formats belong to the store's format version.

use super::stored_form::{decode_parts, encode_parts};
use crate::codec::record;
use crate::engine::prelude::*;
use crate::model::limits::ENTRY_OVERHEAD_BYTES;

const TRUNCATED: &str = "a value is cut short";

/// The counters of a table or index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCounters {
    pub entries: u64,
    /// DynamoDB bytes, without overhead.
    pub bytes: u64,
    /// Distinct partition key values.
    pub partition_keys: u64,
    /// By how many bytes the lists in the items are larger than the vectors in the entries. `None`
    /// for an index that is not of vectors, or was begun when this was not counted.
    pub saved: Option<u64>,
}

impl SourceCounters {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = encode_parts(&(self.entries, self.bytes, self.partition_keys));
        if let Some(saved) = self.saved {
            out.extend_from_slice(&saved.to_be_bytes());
        }
        out
    }

    /// Decodes the stored bytes.
    ///
    /// # Errors
    /// Fails with `Corrupt` if the bytes are not of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (entries, bytes, partition_keys, rest): (_, _, _, Option<&[u8]>) =
            decode_parts(bytes, TRUNCATED)?;
        let saved = rest.map(|rest| decode_parts(rest, "counters have a wrong length"));
        Ok(Self {
            entries,
            bytes,
            partition_keys,
            saved: saved.transpose()?,
        })
    }

    /// Returns `TableSizeBytes` or `IndexSizeBytes`: the bytes with the overhead of each entry.
    #[must_use]
    pub fn size_with_overhead(&self) -> u64 {
        self.bytes + self.entries * ENTRY_OVERHEAD_BYTES
    }
}

/// A change of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CounterDelta {
    pub entries: i64,
    pub bytes: i64,
    pub partition_keys: i64,
    /// `None` for what is no entry of a vector index.
    pub saved: Option<i64>,
}

impl CounterDelta {
    /// Adds another change.
    pub fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
        self.partition_keys += other.partition_keys;
        if let Some(saved) = other.saved {
            *self.saved.get_or_insert(0) += saved;
        }
    }

    /// Returns the counters after this change.
    ///
    /// # Errors
    /// Fails with `Corrupt` if a counter would be negative.
    pub fn apply(&self, counters: SourceCounters) -> Result<SourceCounters, StoreError> {
        Ok(SourceCounters {
            entries: adjust(counters.entries, self.entries)?,
            bytes: adjust(counters.bytes, self.bytes)?,
            partition_keys: adjust(counters.partition_keys, self.partition_keys)?,
            saved: match (counters.saved, self.saved) {
                (Some(saved), Some(change)) => Some(adjust(saved, change)?),
                (None, Some(change)) if counters.entries == 0 => Some(adjust(0, change)?),
                (saved, _) => saved,
            },
        })
    }
}

/// Returns a counter after a change.
fn adjust(counter: u64, delta: i64) -> Result<u64, StoreError> {
    counter
        .checked_add_signed(delta)
        .ok_or(StoreError::Corrupt("a counter fell below zero"))
}

/// Returns the size of a collection, entry or item as a signed number.
#[must_use]
pub fn signed(size: usize) -> i64 {
    debug_assert!(i64::try_from(size).is_ok(), "sizes are below 2^63");
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Returns the change in entries and bytes when something of the size `old` becomes one of the size
/// `new`; `None` is absent.
#[must_use]
pub fn size_change(old: Option<usize>, new: Option<usize>) -> CounterDelta {
    let count = |bytes: Option<usize>| i64::from(bytes.is_some());
    CounterDelta {
        entries: count(new) - count(old),
        bytes: signed(new.unwrap_or(0)) - signed(old.unwrap_or(0)),
        ..CounterDelta::default()
    }
}

/// Returns the partition key values of a record, by their attributes in schema order.
///
/// # Errors
/// Fails with `Corrupt` if one is missing or cannot be read.
pub fn partition_values(record: &[u8], names: &[&str]) -> Result<Vec<AttributeValue>, StoreError> {
    let record = Record::parse(record)?;
    let value = |name: &&str| {
        record
            .attribute(name)?
            .ok_or(StoreError::Corrupt("a record lacks its partition key"))
    };
    names.iter().map(value).collect()
}

/// The stored value of an item collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionRecord<'a> {
    pub entries: u64,
    pub bytes: u64,
    pub modified_ms: u64,
    /// The record of the partition key attributes.
    partition: &'a [u8],
}

impl<'a> CollectionRecord<'a> {
    /// Returns the bytes of the entries with the overhead of each.
    #[must_use]
    pub fn billed_bytes(&self) -> u64 {
        self.bytes + self.entries * ENTRY_OVERHEAD_BYTES
    }

    /// Decodes the stored bytes.
    ///
    /// # Errors
    /// Fails with `Corrupt` if the bytes are not of this format.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let (entries, bytes, modified_ms, partition) = decode_parts(bytes, TRUNCATED)?;
        Ok(Self {
            entries,
            bytes,
            modified_ms,
            partition,
        })
    }

    /// Returns the partition key values, by their attributes in schema order.
    ///
    /// # Errors
    /// Fails with `Corrupt` if one is missing or cannot be read.
    pub fn partition(&self, names: &[&str]) -> Result<Vec<AttributeValue>, StoreError> {
        partition_values(self.partition, names)
    }

    /// Returns the value after a change; `None` if the collection is empty then.
    ///
    /// # Errors
    /// Fails with `Corrupt` if a counter would be negative.
    pub fn updated(
        &self,
        change: CounterDelta,
        modified_ms: u64,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let entries = adjust(self.entries, change.entries)?;
        let bytes = adjust(self.bytes, change.bytes)?;
        if entries == 0 {
            return Ok(None);
        }
        Ok(Some(encode_collection(
            entries,
            bytes,
            self.modified_ms.max(modified_ms),
            self.partition,
        )))
    }
}

/// Encodes the value of a new collection with one entry.
#[must_use]
pub fn new_collection(
    partition: &[(&str, &AttributeValue)],
    bytes: usize,
    modified_ms: u64,
) -> Vec<u8> {
    let item = Item(
        partition
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
            .collect(),
    );
    let names: Vec<&str> = partition.iter().map(|(name, _)| *name).collect();
    encode_collection(
        1,
        bytes as u64,
        modified_ms,
        &record::encode(&item, &names, 0, 0),
    )
}

fn encode_collection(entries: u64, bytes: u64, modified_ms: u64, partition: &[u8]) -> Vec<u8> {
    encode_parts(&(entries, bytes, modified_ms, partition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let counters = SourceCounters {
            entries: 1,
            bytes: 258,
            partition_keys: 3,
            saved: None,
        };
        let bytes = [
            0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3,
        ];
        assert_eq!(counters.encode(), bytes);
        assert_eq!(SourceCounters::decode(&bytes), Ok(counters));
        assert!(SourceCounters::decode(&bytes[..23]).is_err());
        assert_eq!(counters.size_with_overhead(), 358);
        let of_vectors = SourceCounters {
            saved: Some(7),
            ..counters
        };
        let longer = [&bytes[..], &[0, 0, 0, 0, 0, 0, 0, 7]].concat();
        assert_eq!(of_vectors.encode(), longer);
        assert_eq!(SourceCounters::decode(&longer), Ok(of_vectors));
        assert!(SourceCounters::decode(&longer[..31]).is_err());

        let value = new_collection(&[("pk", &AttributeValue::S("a".into()))], 5, 9);
        assert_eq!(
            value[..24],
            [
                0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9
            ]
        );
    }

    #[test]
    fn a_collection_grows_shrinks_and_ends() {
        let value = new_collection(&[("pk", &AttributeValue::S("a".into()))], 5, 9);
        let parsed = CollectionRecord::parse(&value).unwrap();
        assert_eq!(
            parsed.partition(&["pk"]),
            Ok(vec![AttributeValue::S("a".into())])
        );
        let change = |entries, bytes| CounterDelta {
            entries,
            bytes,
            ..CounterDelta::default()
        };
        let grown = parsed.updated(change(1, 10), 12).unwrap().unwrap();
        let grown = CollectionRecord::parse(&grown).unwrap();
        assert_eq!((grown.entries, grown.bytes, grown.modified_ms), (2, 15, 12));
        assert_eq!(grown.updated(change(-2, -15), 13), Ok(None));
        assert!(grown.updated(change(-3, 0), 13).is_err());
    }

    #[test]
    fn a_counter_below_zero_is_corruption() {
        let delta = CounterDelta {
            entries: -1,
            ..CounterDelta::default()
        };
        assert!(delta.apply(SourceCounters::default()).is_err());
    }
}
