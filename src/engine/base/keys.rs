//! The keys under which everything is stored.
//!
//! ```text
//! 01 · what u8                          one value of the whole store, see Meta
//! 02 · table name                       catalog entry
//! 03 · source u32                       a dropped source whose entries are still to be removed
//! 04 · source u32 · digest 16 · order   entry -> record
//! 05 · source u32 · digest 16           item collection -> its counters and partition key
//! 06 · source u32                       counters of a source
//! 07                                    the item version given last: u64
//! 0A · table name · 00 · label          a stream's definition
//! 0B · stream u32 · version u64         stream record; ids of streams are of the same sequence as those of sources
//! 0C · list u32 · time u64 · digest 16 · order   when the entry at that place of a table expires; no value. Milliseconds; a list's id is a source id
//! 0D · token                            a client request token and what was done for it
//! 0E · time u64 · token                 when it expires, milliseconds since the epoch
//! 10 · source u32 · version u64         an item before a change, see `history`
//! 11 · kind u8 · name                   a record of the account, see `account`
//! 14 · source u32                       the partitions of a table or global index, see `partitions`
//! 18 · index u32                        how far the backfill of an index is, see `index_life`
//! 19 · list u32 · digest 16 · order     the item at that place of a table is kept out of an index; no value. A list's id is a source id
//! 1A · table u32 · version u64          a write that the global indexes of a table do not show yet, see `index_lag`
//! 1B · table u32 · folder · name        a parked file, see `parked`; folder is 00, or 01 and the digest 16 of a partition key
//! 1C · source u32 · kind u8 · level u8 · start u64   what was counted of a source in a while, see `meter::stored`; milliseconds
//! ```
//! Numbers are big-endian. A source is a table or an index; its id is never used again. The digest is that of the partition
//! key values, so a source is in hash order and a collection is contiguous. `order` is, of concatenated ordered key encodings
//! (prefix-free, see `codec::key`):
//! ```text
//! table         sort key, if it has one
//! local index   index sort key · base sort key
//! global index  index sort keys · base partition digest 16 · base sort key, if it has one
//! ```
//! The first byte is never FF, so every prefix has an end.

use serde::{Deserialize, Serialize};
use std::ops::Bound;

use crate::codec::digest::Digest;
use crate::codec::key::{encode, partition_digest};
use crate::model::api::{StreamName, Version};
use crate::model::{AttributeValue, Key, TableName};
use crate::store::{KeyRange, prefix_end};

const META: u8 = 0x01;
const TABLE: u8 = 0x02;
const PURGE: u8 = 0x03;
const ENTRY: u8 = 0x04;
const COLLECTION: u8 = 0x05;
const COUNTERS: u8 = 0x06;
/// Right behind the counters: a write changes both, and so one page.
const VERSION_SEQUENCE: u8 = 0x07;
const STREAM: u8 = 0x0A;
const STREAM_RECORD: u8 = 0x0B;
const EXPIRY: u8 = 0x0C;
const TOKEN: u8 = 0x0D;
const TOKEN_EXPIRY: u8 = 0x0E;
const HISTORY: u8 = 0x10;
const ACCOUNT: u8 = 0x11;
const PARTITIONS: u8 = 0x14;
const BACKFILL: u8 = 0x18;
const VIOLATION: u8 = 0x19;
const PENDING: u8 = 0x1A;
const PARKED: u8 = 0x1B;
const COUNTED: u8 = 0x1C;

/// Bytes before the digest in an entry's or collection's key.
const SOURCE_HEAD_BYTES: usize = 5;
const DIGEST_BYTES: usize = 16;

/// A table or an index in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// Single values of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meta {
    /// Version of all formats: one byte.
    Format = 0x01,
    /// The source id to give next: u32.
    NextSource = 0x02,
    /// Raised with every change of the catalog: u64.
    CatalogGeneration = 0x03,
    /// The item version given last, in stores that were not written since format 1: u64.
    VersionSequence = 0x04,
    /// Refused requests that were counted: u64.
    UserErrors = 0x05,
}

/// What a record of the account is, see `account`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// By ARN.
    Backup,
    /// By ARN.
    Export,
    /// By ARN.
    Import,
    /// By number.
    Job,
    /// By table name, or table name, slash, index name.
    Insights,
    /// By stream ARN.
    StreamPolicy,
}

impl RecordKind {
    /// Its byte in keys.
    fn tag(self) -> u8 {
        match self {
            Self::Backup => 0x01,
            Self::Export => 0x02,
            Self::Import => 0x03,
            Self::Job => 0x04,
            Self::Insights => 0x05,
            Self::StreamPolicy => 0x06,
        }
    }
}

/// Any key of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreKey<'a> {
    Meta(Meta),
    Table(&'a str),
    Purge(SourceId),
    Entry(&'a EntryAddress),
    Collection(SourceId, Digest),
    Counters(SourceId),
    VersionSequence,
    /// Table name and label.
    Stream(&'a str, &'a str),
    StreamRecord(SourceId, Version),
    /// List, milliseconds since the epoch, place of the entry in its table.
    Expiry(SourceId, u64, &'a [u8]),
    Token(&'a str),
    TokenExpiry(u64, &'a str),
    History(SourceId, Version),
    Account(RecordKind, &'a str),
    Partitions(SourceId),
    Backfill(SourceId),
    /// List, place of the item in its table.
    Violation(SourceId, &'a [u8]),
    /// Table and version of the write.
    Pending(SourceId, Version),
    /// Table, digest of the folder's partition key if it is in one, file name.
    Parked(SourceId, Option<&'a Digest>, &'a str),
    /// Source, kind of the record, its level and start.
    Counted(SourceId, u8, u8, u64),
}

impl StoreKey<'_> {
    /// The stored bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Meta(what) => vec![META, *what as u8],
            Self::Table(name) => [&[TABLE], name.as_bytes()].concat(),
            Self::Purge(source) => source_head(PURGE, *source).to_vec(),
            Self::Entry(address) => address.encode(),
            Self::Collection(source, digest) => [&source_head(COLLECTION, *source)[..], digest].concat(),
            Self::Counters(source) => source_head(COUNTERS, *source).to_vec(),
            Self::VersionSequence => vec![VERSION_SEQUENCE],
            Self::Stream(table, label) => [&[STREAM], table.as_bytes(), &[0], label.as_bytes()].concat(),
            Self::StreamRecord(stream, version) => [&source_head(STREAM_RECORD, *stream)[..], &version.to_be_bytes()].concat(),
            Self::Expiry(list, ms, place) => [&source_head(EXPIRY, *list)[..], &ms.to_be_bytes(), place].concat(),
            Self::Token(token) => [&[TOKEN], token.as_bytes()].concat(),
            Self::TokenExpiry(ms, token) => [&[TOKEN_EXPIRY], &ms.to_be_bytes()[..], token.as_bytes()].concat(),
            Self::History(source, version) => [&source_head(HISTORY, *source)[..], &version.to_be_bytes()].concat(),
            Self::Backfill(index) => source_head(BACKFILL, *index).to_vec(),
            Self::Violation(list, place) => [&source_head(VIOLATION, *list)[..], place].concat(),
            Self::Pending(table, version) => [&source_head(PENDING, *table)[..], &version.to_be_bytes()].concat(),
            Self::Parked(table, folder, name) => [&parked_head(*table, *folder)[..], name.as_bytes()].concat(),
            Self::Counted(source, kind, level, start) => {
                [&source_head(COUNTED, *source)[..], &[*kind, *level], &start.to_be_bytes()].concat()
            }
            Self::Account(kind, name) => [&[ACCOUNT, kind.tag()], name.as_bytes()].concat(),
            Self::Partitions(source) => source_head(PARTITIONS, *source).to_vec(),
        }
    }
}

fn source_head(space: u8, source: SourceId) -> [u8; SOURCE_HEAD_BYTES] {
    let [a, b, c, d] = source.0.to_be_bytes();
    [space, a, b, c, d]
}

fn parked_head(table: SourceId, folder: Option<&Digest>) -> Vec<u8> {
    match folder {
        None => [&source_head(PARKED, table)[..], &[0]].concat(),
        Some(digest) => [&source_head(PARKED, table)[..], &[1], digest].concat(),
    }
}

/// Where an entry of a table or index is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryAddress {
    pub source: SourceId,
    pub digest: Digest,
    /// See the module's header.
    pub order: Vec<u8>,
}

impl EntryAddress {
    /// Of an item in its table.
    #[must_use]
    pub fn of_item(source: SourceId, key: &Key) -> Self {
        let mut order = Vec::new();
        if let Some(sort) = &key.sort {
            encode(sort, &mut order);
        }
        Self { source, digest: partition_digest(&[&key.partition]), order }
    }

    /// Of an item's entry in a local index.
    #[must_use]
    pub fn in_local_index(source: SourceId, index_sort: &AttributeValue, base: &Key) -> Self {
        let mut order = Vec::new();
        encode(index_sort, &mut order);
        if let Some(sort) = &base.sort {
            encode(sort, &mut order);
        }
        Self { source, digest: partition_digest(&[&base.partition]), order }
    }

    /// Of an item's entry in a global index; index key values in schema order.
    #[must_use]
    pub fn in_global_index(source: SourceId, partition: &[&AttributeValue], sort: &[&AttributeValue], base: &Key) -> Self {
        let mut order = Vec::new();
        for value in sort {
            encode(value, &mut order);
        }
        order.extend_from_slice(&partition_digest(&[&base.partition]));
        if let Some(sort) = &base.sort {
            encode(sort, &mut order);
        }
        Self { source, digest: partition_digest(partition), order }
    }

    /// The address in a stored key; `None` when it is no entry's key.
    #[must_use]
    pub fn parse(key: &[u8]) -> Option<Self> {
        let (source, rest) = parse_source(ENTRY, key)?;
        let (digest, order) = rest.split_first_chunk::<DIGEST_BYTES>()?;
        Some(Self { source, digest: *digest, order: order.to_vec() })
    }

    /// The stored bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&source_head(ENTRY, self.source)[..], &self.digest, &self.order].concat()
    }

    /// Where it is in its source: digest and order.
    #[must_use]
    pub fn place(&self) -> Vec<u8> {
        [&self.digest[..], &self.order].concat()
    }
}

fn parse_source(space: u8, key: &[u8]) -> Option<(SourceId, &[u8])> {
    let (head, rest) = key.split_first_chunk::<SOURCE_HEAD_BYTES>()?;
    let [first, id @ ..] = *head;
    (first == space).then_some((SourceId(u32::from_be_bytes(id)), rest))
}

/// The source of the key of an entry, collection, counters, stream record, expiry, backfill, violation, pending write, parked file, counts or partitions; `None` when it is none of them.
#[must_use]
pub fn source_of(key: &[u8]) -> Option<SourceId> {
    let spaces = [ENTRY, COLLECTION, COUNTERS, STREAM_RECORD, EXPIRY, BACKFILL, VIOLATION, PENDING, PARKED, COUNTED, PARTITIONS];
    spaces.into_iter().find_map(|space| parse_source(space, key)).map(|(source, _)| source)
}

/// The part of an entry's or collection's key after the source: its place in the order of the source.
#[must_use]
pub fn place_in_source(key: &[u8]) -> &[u8] {
    key.get(SOURCE_HEAD_BYTES..).unwrap_or_default()
}

/// The collection of a stored key; `None` when it is no collection's key.
#[must_use]
pub fn parse_collection(key: &[u8]) -> Option<(SourceId, Digest)> {
    let (source, rest) = parse_source(COLLECTION, key)?;
    Some((source, rest.try_into().ok()?))
}

/// The source of a purge key; `None` when it is none.
#[must_use]
pub fn parse_purge(key: &[u8]) -> Option<SourceId> {
    parse_source(PURGE, key).map(|(source, _)| source)
}

/// The stream of a definition's key; `None` when it is none.
#[must_use]
pub fn parse_stream(key: &[u8]) -> Option<StreamName> {
    let (STREAM, name) = key.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    let (table, label) = std::str::from_utf8(name).ok()?.split_once('\0')?;
    Some(StreamName { table_name: TableName::new(table).ok()?, label: label.to_owned() })
}

/// Stream and version of a record's key; `None` when it is none.
#[must_use]
pub fn parse_stream_record(key: &[u8]) -> Option<(SourceId, Version)> {
    let (stream, rest) = parse_source(STREAM_RECORD, key)?;
    Some((stream, u64::from_be_bytes(rest.try_into().ok()?)))
}

/// Time and place of an expiry's key; `None` when it is none.
#[must_use]
pub fn parse_expiry(key: &[u8]) -> Option<(u64, &[u8])> {
    let (_, rest) = parse_source(EXPIRY, key)?;
    let (ms, place) = rest.split_first_chunk()?;
    Some((u64::from_be_bytes(*ms), place))
}

/// The table name in a catalog key; `None` when it is none.
#[must_use]
pub fn parse_table(key: &[u8]) -> Option<&str> {
    let (first, name) = key.split_first()?;
    if *first != TABLE {
        return None;
    }
    std::str::from_utf8(name).ok()
}

/// The token in a token's key; `None` when it is none.
#[must_use]
pub fn parse_token(key: &[u8]) -> Option<&str> {
    let (first, token) = key.split_first()?;
    if *first != TOKEN {
        return None;
    }
    std::str::from_utf8(token).ok()
}

/// Time and token of an expiry's key; `None` when it is none.
#[must_use]
pub fn parse_token_expiry(key: &[u8]) -> Option<(u64, &str)> {
    let (first, rest) = key.split_first()?;
    let (ms, token) = rest.split_first_chunk()?;
    if *first != TOKEN_EXPIRY {
        return None;
    }
    Some((u64::from_be_bytes(*ms), std::str::from_utf8(token).ok()?))
}

/// All client request tokens.
#[must_use]
pub fn tokens() -> KeyRange {
    KeyRange::prefix(&[TOKEN])
}

/// The expiries of all client request tokens, the first first.
#[must_use]
pub fn token_expiries() -> KeyRange {
    KeyRange::prefix(&[TOKEN_EXPIRY])
}

/// All catalog entries, or those after a name.
#[must_use]
pub fn tables_after(name: Option<&str>) -> KeyRange {
    let lower = match name {
        Some(name) => Bound::Excluded(StoreKey::Table(name).encode()),
        None => Bound::Included(vec![TABLE]),
    };
    KeyRange { lower, upper: Bound::Excluded(vec![TABLE + 1]) }
}

/// All sources that are being removed.
#[must_use]
pub fn purges() -> KeyRange {
    KeyRange::prefix(&[PURGE])
}

/// Every entry from `source` on, over all sources.
#[must_use]
pub fn entries_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(ENTRY, source).to_vec()), upper: Bound::Excluded(vec![ENTRY + 1]) }
}

/// Every collection from `source` on, over all sources.
#[must_use]
pub fn collections_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(COLLECTION, source).to_vec()), upper: Bound::Excluded(vec![COLLECTION + 1]) }
}

/// Every stream record from `stream` on, over all streams.
#[must_use]
pub fn all_stream_records_from(stream: SourceId) -> KeyRange {
    let lower = source_head(STREAM_RECORD, stream).to_vec();
    KeyRange { lower: Bound::Included(lower), upper: Bound::Excluded(vec![STREAM_RECORD + 1]) }
}

/// Every expiry from `list` on, over all lists.
#[must_use]
pub fn expiries_from(list: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(EXPIRY, list).to_vec()), upper: Bound::Excluded(vec![EXPIRY + 1]) }
}

/// Every backfill from the index `source` on.
#[must_use]
pub fn backfills_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(BACKFILL, source).to_vec()), upper: Bound::Excluded(vec![BACKFILL + 1]) }
}

/// Every violation from `list` on, over all lists.
#[must_use]
pub fn violations_from(list: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(VIOLATION, list).to_vec()), upper: Bound::Excluded(vec![VIOLATION + 1]) }
}

/// The violations on a list.
#[must_use]
pub fn violations(list: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(VIOLATION, list))
}

/// Every pending write from `table` on, over all tables.
#[must_use]
pub fn all_pending_from(table: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(PENDING, table).to_vec()), upper: Bound::Excluded(vec![PENDING + 1]) }
}

/// The pending writes of a table, the first first.
#[must_use]
pub fn pending(table: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(PENDING, table))
}

/// The version of a pending write's key; `None` when it is none.
#[must_use]
pub fn parse_pending(key: &[u8]) -> Option<Version> {
    let (_, rest) = parse_source(PENDING, key)?;
    Some(u64::from_be_bytes(rest.try_into().ok()?))
}

/// Every parked file from `table` on, over all tables.
#[must_use]
pub fn all_parked_from(table: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(PARKED, table).to_vec()), upper: Bound::Excluded(vec![PARKED + 1]) }
}

/// The parked files of a table.
#[must_use]
pub fn parked(table: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(PARKED, table))
}

/// The parked files of a table in one folder, or in none.
#[must_use]
pub fn parked_in(table: SourceId, folder: Option<&Digest>) -> KeyRange {
    KeyRange::prefix(&parked_head(table, folder))
}

/// Table, folder and file name of a parked file's key; `None` when it is none.
#[must_use]
pub fn parse_parked(key: &[u8]) -> Option<(SourceId, Option<Digest>, &str)> {
    let (table, rest) = parse_source(PARKED, key)?;
    let (folder, name) = match rest.split_first()? {
        (0, name) => (None, name),
        (1, rest) => rest.split_first_chunk::<DIGEST_BYTES>().map(|(digest, name)| (Some(*digest), name))?,
        _ => return None,
    };
    Some((table, folder, std::str::from_utf8(name).ok()?))
}

/// Everything that was counted, from `source` on.
#[must_use]
pub fn all_counted_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(COUNTED, source).to_vec()), upper: Bound::Excluded(vec![COUNTED + 1]) }
}

/// Everything that was counted of a source.
#[must_use]
pub fn counted(source: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(COUNTED, source))
}

/// What was counted of a source, of a kind and level, in whiles that begin at a time or later and before another.
#[must_use]
pub fn counted_between(source: SourceId, kind: u8, level: u8, from_ms: u64, before_ms: u64) -> KeyRange {
    let at = |ms| StoreKey::Counted(source, kind, level, ms).encode();
    KeyRange { lower: Bound::Included(at(from_ms)), upper: Bound::Excluded(at(before_ms)) }
}

/// Source, kind, level and start of a key of what was counted; `None` when it is none.
#[must_use]
pub fn parse_counted(key: &[u8]) -> Option<(SourceId, u8, u8, u64)> {
    let (source, rest) = parse_source(COUNTED, key)?;
    let ([kind, level], start) = rest.split_first_chunk()?;
    Some((source, *kind, *level, u64::from_be_bytes(start.try_into().ok()?)))
}

/// All streams, by table name and label.
#[must_use]
pub fn streams() -> KeyRange {
    KeyRange::prefix(&[STREAM])
}

/// The streams of a table, by label.
#[must_use]
pub fn streams_of(table: &str) -> KeyRange {
    KeyRange::prefix(&StoreKey::Stream(table, "").encode())
}

/// The records of a stream from `version` on.
#[must_use]
pub fn stream_records_from(stream: SourceId, version: Version) -> KeyRange {
    let lower = StoreKey::StreamRecord(stream, version).encode();
    let upper = prefix_end(&source_head(STREAM_RECORD, stream));
    KeyRange { lower: Bound::Included(lower), upper: upper.map_or(Bound::Unbounded, Bound::Excluded) }
}

/// The expiries of a list.
#[must_use]
pub fn expiries(list: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(EXPIRY, list))
}

/// The expiries of a list from a time on and before another, milliseconds since the epoch.
#[must_use]
pub fn expiries_between(list: SourceId, from_ms: u64, before_ms: u64) -> KeyRange {
    let at = |ms| StoreKey::Expiry(list, ms, &[]).encode();
    KeyRange { lower: Bound::Included(at(from_ms)), upper: Bound::Excluded(at(before_ms)) }
}

/// The counters of every source from `source` on.
#[must_use]
pub fn counters_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(COUNTERS, source).to_vec()), upper: Bound::Excluded(vec![COUNTERS + 1]) }
}

/// The partitions of every source from `source` on.
#[must_use]
pub fn partitions_from(source: SourceId) -> KeyRange {
    KeyRange { lower: Bound::Included(source_head(PARTITIONS, source).to_vec()), upper: Bound::Excluded(vec![PARTITIONS + 1]) }
}

/// The history of a source.
#[must_use]
pub fn history(source: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(HISTORY, source))
}

/// Source and version of a history key; `None` when it is none.
#[must_use]
pub fn parse_history(key: &[u8]) -> Option<(SourceId, Version)> {
    let (source, rest) = parse_source(HISTORY, key)?;
    Some((source, Version::from_be_bytes(rest.try_into().ok()?)))
}

/// The entries of a source.
#[must_use]
pub fn entries(source: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(ENTRY, source))
}

/// The collections of a source.
#[must_use]
pub fn collections(source: SourceId) -> KeyRange {
    KeyRange::prefix(&source_head(COLLECTION, source))
}

/// The entries of a source whose digests are in `lower..upper`; no upper is the end.
#[must_use]
pub fn entries_of_digests(source: SourceId, lower: &Digest, upper: Option<&Digest>) -> KeyRange {
    let head = source_head(ENTRY, source);
    let end = match upper {
        Some(digest) => Some([&head[..], digest].concat()),
        None => prefix_end(&head),
    };
    KeyRange { lower: Bound::Included([&head[..], lower].concat()), upper: end.map_or(Bound::Unbounded, Bound::Excluded) }
}

/// The bytes with which the key of every entry of a collection begins.
#[must_use]
pub fn collection_prefix(source: SourceId, digest: &Digest) -> Vec<u8> {
    [&source_head(ENTRY, source)[..], digest].concat()
}

/// The key of the entry at a place of a source, see [`place_in_source`].
#[must_use]
pub fn entry_at(source: SourceId, place: &[u8]) -> Vec<u8> {
    [&source_head(ENTRY, source)[..], place].concat()
}

/// The key of the collection at a place of a source.
#[must_use]
pub fn collection_at(source: SourceId, place: &[u8]) -> Vec<u8> {
    [&source_head(COLLECTION, source)[..], place].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let digest = [7; 16];
        let address = EntryAddress { source: SourceId(258), digest, order: vec![0x61, 0, 0] };
        let entry = [&[4, 0, 0, 1, 2][..], &[7; 16], &[0x61, 0, 0]].concat();
        let collection = [&[5, 0, 0, 0, 9][..], &[7; 16]].concat();
        let parked = [&[0x1B, 0, 0, 0, 1, 1][..], &[7; 16], &[0x61]].concat();
        let cases: &[(StoreKey<'_>, &[u8])] = &[
            (StoreKey::Meta(Meta::Format), &[1, 1]),
            (StoreKey::Meta(Meta::NextSource), &[1, 2]),
            (StoreKey::Meta(Meta::CatalogGeneration), &[1, 3]),
            (StoreKey::Meta(Meta::VersionSequence), &[1, 4]),
            (StoreKey::Table("abc"), &[2, 0x61, 0x62, 0x63]),
            (StoreKey::Purge(SourceId(1)), &[3, 0, 0, 0, 1]),
            (StoreKey::Entry(&address), &entry),
            (StoreKey::Collection(SourceId(9), digest), &collection),
            (StoreKey::Counters(SourceId(0xFFFF_FFFF)), &[6, 255, 255, 255, 255]),
            (StoreKey::VersionSequence, &[7]),
            (StoreKey::Stream("abc", "2"), &[10, 0x61, 0x62, 0x63, 0, 0x32]),
            (StoreKey::StreamRecord(SourceId(9), 258), &[11, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2]),
            (StoreKey::Expiry(SourceId(9), 258, &[7, 8]), &[12, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 7, 8]),
            (StoreKey::Token("abc"), &[13, 0x61, 0x62, 0x63]),
            (StoreKey::TokenExpiry(258, "a"), &[14, 0, 0, 0, 0, 0, 0, 1, 2, 0x61]),
            (StoreKey::History(SourceId(1), 2), &[0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]),
            (StoreKey::Account(RecordKind::Job, "9"), &[0x11, 4, 0x39]),
            (StoreKey::Partitions(SourceId(1)), &[0x14, 0, 0, 0, 1]),
            (StoreKey::Backfill(SourceId(1)), &[0x18, 0, 0, 0, 1]),
            (StoreKey::Violation(SourceId(1), &[7, 8]), &[0x19, 0, 0, 0, 1, 7, 8]),
            (StoreKey::Pending(SourceId(1), 2), &[0x1A, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]),
            (StoreKey::Parked(SourceId(1), None, "a"), &[0x1B, 0, 0, 0, 1, 0, 0x61]),
            (StoreKey::Parked(SourceId(1), Some(&digest), "a"), &parked),
            (StoreKey::Counted(SourceId(1), 2, 3, 258), &[0x1C, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2]),
        ];
        for (key, bytes) in cases {
            assert_eq!(key.encode(), *bytes, "{key:?}");
        }
        assert_eq!(EntryAddress::parse(&entry), Some(address));
        assert_eq!(parse_collection(&collection), Some((SourceId(9), digest)));
        assert_eq!(parse_parked(&parked), Some((SourceId(1), Some(digest), "a")));
        assert_eq!(parse_parked(&[0x1B, 0, 0, 0, 1, 0, 0x61]), Some((SourceId(1), None, "a")));
        assert_eq!(parse_parked(&[0x1B, 0, 0, 0, 1, 2, 0x61]), None);
        assert_eq!(parse_counted(&[0x1C, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2]), Some((SourceId(1), 2, 3, 258)));
        assert_eq!(parse_counted(&[0x1C, 0, 0, 0, 1, 2, 3]), None);
        assert_eq!(parse_purge(&[3, 0, 0, 0, 1]), Some(SourceId(1)));
        assert_eq!(parse_table(&[2, 0x61]), Some("a"));
        let stream = StreamName { table_name: TableName::new("abc").unwrap(), label: "2".into() };
        assert_eq!(parse_stream(&[10, 0x61, 0x62, 0x63, 0, 0x32]), Some(stream));
        assert_eq!(parse_stream(&[2, 0x61, 0x62, 0x63, 0, 0x32]), None);
        assert_eq!(parse_stream_record(&[11, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2]), Some((SourceId(9), 258)));
        assert_eq!(parse_expiry(&[12, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 7, 8]), Some((258, &[7, 8][..])));
        assert_eq!(parse_table(&[3, 0x61]), None);
        assert_eq!(parse_token(&[13, 0x61]), Some("a"));
        assert_eq!(parse_token_expiry(&[14, 0, 0, 0, 0, 0, 0, 1, 2, 0x61]), Some((258, "a")));
    }

    #[test]
    fn entry_order_of_table_and_indexes() {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let base = Key { partition: s("p"), sort: Some(s("s")) };
        let digest = partition_digest(&[&s("p")]);
        assert_eq!(EntryAddress::of_item(SourceId(1), &base).order, b"s\0\0");
        assert_eq!(EntryAddress::in_local_index(SourceId(2), &s("x"), &base).order, b"x\0\0s\0\0");
        let global = EntryAddress::in_global_index(SourceId(3), &[&s("g")], &[&s("x"), &s("y")], &base);
        assert_eq!(global.order, [&b"x\0\0y\0\0"[..], &digest, b"s\0\0"].concat());
        assert_eq!(global.digest, partition_digest(&[&s("g")]));
        let simple = Key { partition: s("p"), sort: None };
        assert_eq!(EntryAddress::of_item(SourceId(1), &simple).order, b"");
    }
}
