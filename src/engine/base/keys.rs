//! The key layout of the store: how tables, items, index entries and records are encoded as keys of
//! one ordered key-value tree. The first byte of a key is its key space ([`Space`]).
//!
//! ```text
//! 01 · id u8                            one value of the whole store, see Meta
//! 02 · table name                       catalog entry
//! 03 · source u32                       a dropped source with entries still to be removed
//! 04 · source u32 · digest 16 · order   entry -> record
//! 05 · source u32 · digest 16           item collection -> its counters and partition key
//! 06 · source u32                       counters of a source
//! 07                                    the last item version taken: u64
//! 0A · table name · 00 · label          a stream's definition
//! 0B · stream u32 · version u64         stream record; stream ids come from the sequence of source ids
//! 0C · list u32 · time u64 · digest 16 · order   when the entry at that place of a table expires; no value. Milliseconds; a list's id is a source id
//! 0D · token                            a client request token and the result of its request
//! 0E · time u64 · token                 when it expires, milliseconds since the epoch
//! 10 · source u32 · version u64         an item before a change, see `history`
//! 11 · kind u8 · name                   a record of the account, see `account`
//! 14 · source u32                       the partitions of a table or global index, see `partitions`
//! 18 · index u32                        progress of the backfill of an index, see `index_life`
//! 19 · list u32 · digest 16 · order     the item at that place of a table is kept out of an index; no value. A list's id is a source id
//! 1A · table u32 · version u64          a write that the global indexes of a table do not show yet, see `index_lag`
//! 1B · table u32 · folder · name        a file in the trash, see `trash`; folder is 00, or 01 and the digest 16 of a partition key
//! 1C · source u32 · kind u8 · level u8 · start u64   the counts of a source in an interval, see `meter::stored`; milliseconds
//! ```
//! Numbers are big-endian. A source is a table or an index; its id is never used again. The digest
//! is that of the partition key values, so a source is in hash order and a collection is
//! contiguous. `order` consists of concatenated ordered key encodings (prefix-free, see
//! `codec::key`):
//! ```text
//! table         sort key, if it has one
//! local index   index sort key · base sort key
//! global index  index sort keys · base partition digest 16 · base sort key, if it has one
//! ```
//! A place is the part of a key behind the source: digest and order. The first byte is never FF, so
//! every prefix has an end.

use std::ops::Bound;

use super::stored_form::{Part, decode_parts};
use crate::codec::key::{encode, partition_digest};
use crate::engine::prelude::*;
use crate::model::api::StreamName;
use crate::store::StoreError;

/// Bytes before the digest in an entry's or collection's key.
const SOURCE_HEAD_BYTES: usize = 5;
/// The initial capacity of a key, in bytes: enough for most.
const KEY_BYTES: usize = 48;

/// The id of a table or an index in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A name terminated by a zero byte, which no name contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroTerminated<'a>(pub &'a str);

impl<'a> Part<'a> for SourceId {
    fn put(&self, key: &mut Vec<u8>) {
        self.0.put(key);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        u32::take(rest).map(Self)
    }
}

/// The byte 00, or 01 and the digest.
impl<'a> Part<'a> for Option<&'a Digest> {
    fn put(&self, key: &mut Vec<u8>) {
        key.push(u8::from(self.is_some()));
        self.iter().for_each(|digest| digest.put(key));
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        match u8::take(rest)? {
            0 => Some(None),
            1 => Part::take(rest).map(Some),
            _ => None,
        }
    }
}

impl<'a> Part<'a> for ZeroTerminated<'a> {
    fn put(&self, key: &mut Vec<u8>) {
        self.0.put(key);
        key.push(0);
    }

    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, behind) = rest.split_at_checked(end)?;
        *rest = behind.get(1..)?;
        std::str::from_utf8(name).ok().map(Self)
    }
}

/// Defines enums that are one byte in keys.
macro_rules! byte_enums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_attribute:meta])* $variant:ident = $byte:literal,)* })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_attribute])* $variant = $byte,)*
        }

        impl<'a> Part<'a> for $name {
            fn put(&self, key: &mut Vec<u8>) {
                key.push(*self as u8);
            }

            fn take(rest: &mut &'a [u8]) -> Option<Self> {
                match u8::take(rest)? {
                    $($byte => Some(Self::$variant),)*
                    _ => None,
                }
            }
        })*
    };
}
byte_enums! {
    /// Single values of the store.
    Meta {
        /// Version of all formats: one byte.
        Format = 0x01,
        /// The next source id: u32.
        NextSource = 0x02,
        /// The generation of the catalog, raised with every change: u64.
        CatalogGeneration = 0x03,
        /// The last item version taken, in stores that were not written since format 1: u64.
        VersionSequence = 0x04,
        /// The number of refused requests: u64.
        UserErrors = 0x05,
    }
    /// The kind of a record of the account, see `account`.
    RecordKind {
        /// The key is the ARN.
        Backup = 0x01,
        /// The key is the ARN.
        Export = 0x02,
        /// The key is the ARN.
        Import = 0x03,
        /// The key is the number.
        Job = 0x04,
        /// The key is the table name, or table name, slash, index name.
        Insights = 0x05,
        /// The key is the stream ARN.
        StreamPolicy = 0x06,
    }
}

/// Defines each space with its byte and the parts of its keys.
macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident $byte:literal ($($part:ident: $of:ty),*);)*) => {
        /// A space: the keys that begin with one byte.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Space {
            $($name = $byte,)*
        }

        /// Any key of the store.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum StoreKey<'a> {
            $($(#[$doc])* $name($($of),*),)*
        }

        impl<'a> StoreKey<'a> {
            /// Encodes the key.
            #[must_use]
            pub fn encode(&self) -> Vec<u8> {
                let mut key = Vec::with_capacity(KEY_BYTES);
                match self {
                    $(Self::$name($($part),*) => {
                        key.push($byte);
                        $($part.put(&mut key);)*
                    })*
                }
                key
            }

            /// Decodes a key; returns `None` if the bytes are no key.
            #[must_use]
            pub fn parse(key: &'a [u8]) -> Option<Self> {
                let mut rest = key;
                let parsed = match u8::take(&mut rest)? {
                    $($byte => Self::$name($(<$of as Part<'a>>::take(&mut rest)?),*),)*
                    _ => return None,
                };
                rest.is_empty().then_some(parsed)
            }
        }
    };
}
spaces! {
    Meta 0x01 (what: Meta);
    Table 0x02 (name: &'a str);
    Purge 0x03 (source: SourceId);
    /// See [`EntryAddress`].
    Entry 0x04 (source: SourceId, digest: &'a Digest, order: &'a [u8]);
    Collection 0x05 (source: SourceId, digest: &'a Digest);
    Counters 0x06 (source: SourceId);
    /// Next to the counters: a write changes both, and so often only one page.
    VersionSequence 0x07 ();
    /// Table name and label.
    Stream 0x0A (table: ZeroTerminated<'a>, label: &'a str);
    StreamRecord 0x0B (stream: SourceId, version: Version);
    /// List, milliseconds since the epoch, place of the entry in its table.
    Expiry 0x0C (list: SourceId, ms: u64, place: &'a [u8]);
    Token 0x0D (token: &'a str);
    TokenExpiry 0x0E (ms: u64, token: &'a str);
    History 0x10 (source: SourceId, version: Version);
    Account 0x11 (kind: RecordKind, name: &'a str);
    Partitions 0x14 (source: SourceId);
    Backfill 0x18 (index: SourceId);
    /// List, place of the item in its table.
    Violation 0x19 (list: SourceId, place: &'a [u8]);
    /// Table and version of the write.
    Pending 0x1A (table: SourceId, version: Version);
    /// Table, digest of the folder's partition key if it is in one, file name.
    Trash 0x1B (table: SourceId, folder: Option<&'a Digest>, name: &'a str);
    /// Source, kind of the record, its level and start.
    Counted 0x1C (source: SourceId, kind: u8, level: u8, start: u64);
}

impl StoreKey<'_> {
    /// Reads the number stored under the key, if there is one.
    ///
    /// # Errors
    /// Fails with `Corrupt`, naming `name`; also errors of the store.
    pub fn read<P: for<'p> Part<'p>>(
        &self,
        read: &dyn Read,
        name: &'static str,
    ) -> Result<Option<P>, StoreError> {
        read.get(&self.encode())?
            .map(|bytes| decode_parts(bytes, name))
            .transpose()
    }
}

impl Space {
    /// Returns the range of all keys of the space.
    #[must_use]
    pub fn all(self) -> KeyRange {
        KeyRange::prefix(&[self as u8])
    }

    /// Returns the range of a source, in a space of keys that begin with a source.
    #[must_use]
    pub fn range(self, source: SourceId) -> KeyRange {
        KeyRange::prefix(&self.head(source))
    }

    /// Returns the key at a place of a source, see [`place_in_source`].
    #[must_use]
    pub fn key(self, source: SourceId, place: &[u8]) -> Vec<u8> {
        [&self.head(source)[..], place].concat()
    }

    /// Returns the range of a source from one place up to, but not including, another; `None` is
    /// the end of the source.
    #[must_use]
    pub fn between(self, source: SourceId, from: &[u8], before: Option<&[u8]>) -> KeyRange {
        let upper = before.map_or_else(
            || self.range(source).upper,
            |before| Bound::Excluded(self.key(source, before)),
        );
        KeyRange {
            lower: Bound::Included(self.key(source, from)),
            upper,
        }
    }

    fn head(self, source: SourceId) -> [u8; SOURCE_HEAD_BYTES] {
        let [a, b, c, d] = source.0.to_be_bytes();
        [self as u8, a, b, c, d]
    }
}

/// The address of an entry of a table or index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryAddress {
    pub source: SourceId,
    pub digest: Digest,
    /// The order bytes, see the head of the module.
    pub order: Vec<u8>,
}

impl EntryAddress {
    #[must_use]
    pub fn of_item(source: SourceId, key: &Key) -> Self {
        Self::new(source, &[&key.partition], &key.sort)
    }

    /// Returns the address of an entry with these partition values, ordered by these sort values:
    /// in a local index first the index's, then the base's.
    #[must_use]
    pub fn new<'v>(
        source: SourceId,
        partition: &[&AttributeValue],
        sort: impl IntoIterator<Item = &'v AttributeValue>,
    ) -> Self {
        let mut order = Vec::new();
        sort.into_iter().for_each(|value| encode(value, &mut order));
        Self {
            source,
            digest: partition_digest(partition),
            order,
        }
    }

    /// Returns the address of an item's entry in a global index; the index key values are in schema
    /// order.
    #[must_use]
    pub fn in_global_index(
        source: SourceId,
        partition: &[&AttributeValue],
        sort: &[&AttributeValue],
        base: &Key,
    ) -> Self {
        let mut address = Self::new(source, partition, sort.iter().copied());
        address
            .order
            .extend_from_slice(&partition_digest(&[&base.partition]));
        base.sort
            .iter()
            .for_each(|sort| encode(sort, &mut address.order));
        address
    }

    /// Returns the address in a stored key; `None` if it is not the key of an entry.
    #[must_use]
    pub fn parse(key: &[u8]) -> Option<Self> {
        let StoreKey::Entry(source, digest, order) = StoreKey::parse(key)? else {
            return None;
        };
        Some(Self {
            source,
            digest: *digest,
            order: order.to_vec(),
        })
    }

    /// Encodes the key of the entry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [
            &Space::Entry.head(self.source)[..],
            &self.digest,
            &self.order,
        ]
        .concat()
    }

    /// Returns the entry's place in its source: digest and order.
    #[must_use]
    pub fn place(&self) -> Vec<u8> {
        [&self.digest[..], &self.order].concat()
    }
}

/// Returns the source of a key, in a space of keys that begin with a source.
#[must_use]
pub fn parse_source(key: &[u8]) -> Option<SourceId> {
    SourceId::take(&mut key.get(1..)?)
}

/// Returns the part of a key after its source: the place of an entry or collection in the order of
/// the source.
#[must_use]
pub fn place_in_source(key: &[u8]) -> &[u8] {
    debug_assert!(key.len() >= SOURCE_HEAD_BYTES, "no key of a source");
    key.get(SOURCE_HEAD_BYTES..).unwrap_or_default()
}

/// Returns the version in the key of a stream record, pending write or history entry; `None` for
/// other keys.
#[must_use]
pub fn parse_version(key: &[u8]) -> Option<Version> {
    match StoreKey::parse(key)? {
        StoreKey::StreamRecord(_, version)
        | StoreKey::Pending(_, version)
        | StoreKey::History(_, version) => Some(version),
        _ => None,
    }
}

/// Returns the time and the place that the key of an expiry holds; `None` for other keys.
#[must_use]
pub fn parse_expiry(key: &[u8]) -> Option<(u64, &[u8])> {
    let StoreKey::Expiry(_, ms, place) = StoreKey::parse(key)? else {
        return None;
    };
    Some((ms, place))
}

/// Returns the key of a stream's definition.
#[must_use]
pub fn stream_key(name: &StreamName) -> Vec<u8> {
    StoreKey::Stream(ZeroTerminated(name.table_name.as_str()), &name.label).encode()
}

/// Returns the stream in the key of a definition; `None` for other keys.
#[must_use]
pub fn parse_stream(key: &[u8]) -> Option<StreamName> {
    let StoreKey::Stream(ZeroTerminated(table), label) = StoreKey::parse(key)? else {
        return None;
    };
    Some(StreamName {
        table_name: TableName::new(table).ok()?,
        label: label.to_owned(),
    })
}

/// Returns the range of the streams of a table, by label.
#[must_use]
pub fn table_streams(table: &str) -> KeyRange {
    KeyRange::prefix(&StoreKey::Stream(ZeroTerminated(table), "").encode())
}

/// Returns the table in the key of a catalog entry; `None` for other keys.
#[must_use]
pub fn parse_table(key: &[u8]) -> Option<&str> {
    let StoreKey::Table(name) = StoreKey::parse(key)? else {
        return None;
    };
    Some(name)
}

/// Returns the range of all catalog entries, or of those after a name.
#[must_use]
pub fn tables_after(name: Option<&str>) -> KeyRange {
    Space::Table
        .all()
        .after(name.map(|name| StoreKey::Table(name).encode()))
}

/// Returns the range from one key up to, but not including, another.
fn between(from: &StoreKey<'_>, before: &StoreKey<'_>) -> KeyRange {
    KeyRange {
        lower: Bound::Included(from.encode()),
        upper: Bound::Excluded(before.encode()),
    }
}

/// Returns the range of the files in the trash of a table, in one folder or in none.
#[must_use]
pub fn trash_in(table: SourceId, folder: Option<&Digest>) -> KeyRange {
    KeyRange::prefix(&StoreKey::Trash(table, folder, "").encode())
}

/// Returns the range of the counts of a source, of a kind and level, in intervals that begin at
/// `from_ms` or later and before `before_ms`.
#[must_use]
pub fn counted_between(
    source: SourceId,
    kind: u8,
    level: u8,
    from_ms: u64,
    before_ms: u64,
) -> KeyRange {
    between(
        &StoreKey::Counted(source, kind, level, from_ms),
        &StoreKey::Counted(source, kind, level, before_ms),
    )
}

/// Returns the range of the records of a stream from `version` on.
#[must_use]
pub fn stream_records_from(stream: SourceId, version: Version) -> KeyRange {
    let lower = StoreKey::StreamRecord(stream, version).encode();
    KeyRange {
        lower: Bound::Included(lower),
        ..Space::StreamRecord.range(stream)
    }
}

/// Returns the range of the expiries of a list from a time up to, but not including, another, in
/// milliseconds since the epoch.
#[must_use]
pub fn expiries_between(list: SourceId, from_ms: u64, before_ms: u64) -> KeyRange {
    between(
        &StoreKey::Expiry(list, from_ms, &[]),
        &StoreKey::Expiry(list, before_ms, &[]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let digest = [7; 16];
        let address = EntryAddress {
            source: SourceId(258),
            digest,
            order: vec![0x61, 0, 0],
        };
        let entry = [&[4, 0, 0, 1, 2][..], &[7; 16], &[0x61, 0, 0]].concat();
        let collection = [&[5, 0, 0, 0, 9][..], &[7; 16]].concat();
        let trash = [&[0x1B, 0, 0, 0, 1, 1][..], &[7; 16], &[0x61]].concat();
        let cases: &[(StoreKey<'_>, &[u8])] = &[
            (StoreKey::Meta(Meta::Format), &[1, 1]),
            (StoreKey::Meta(Meta::NextSource), &[1, 2]),
            (StoreKey::Meta(Meta::CatalogGeneration), &[1, 3]),
            (StoreKey::Meta(Meta::VersionSequence), &[1, 4]),
            (StoreKey::Table("abc"), &[2, 0x61, 0x62, 0x63]),
            (StoreKey::Purge(SourceId(1)), &[3, 0, 0, 0, 1]),
            (
                StoreKey::Entry(SourceId(258), &digest, &[0x61, 0, 0]),
                &entry,
            ),
            (StoreKey::Collection(SourceId(9), &digest), &collection),
            (
                StoreKey::Counters(SourceId(0xFFFF_FFFF)),
                &[6, 255, 255, 255, 255],
            ),
            (StoreKey::VersionSequence(), &[7]),
            (
                StoreKey::Stream(ZeroTerminated("abc"), "2"),
                &[10, 0x61, 0x62, 0x63, 0, 0x32],
            ),
            (
                StoreKey::StreamRecord(SourceId(9), 258),
                &[11, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2],
            ),
            (
                StoreKey::Expiry(SourceId(9), 258, &[7, 8]),
                &[12, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 7, 8],
            ),
            (StoreKey::Token("abc"), &[13, 0x61, 0x62, 0x63]),
            (
                StoreKey::TokenExpiry(258, "a"),
                &[14, 0, 0, 0, 0, 0, 0, 1, 2, 0x61],
            ),
            (
                StoreKey::History(SourceId(1), 2),
                &[0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2],
            ),
            (StoreKey::Account(RecordKind::Job, "9"), &[0x11, 4, 0x39]),
            (StoreKey::Partitions(SourceId(1)), &[0x14, 0, 0, 0, 1]),
            (StoreKey::Backfill(SourceId(1)), &[0x18, 0, 0, 0, 1]),
            (
                StoreKey::Violation(SourceId(1), &[7, 8]),
                &[0x19, 0, 0, 0, 1, 7, 8],
            ),
            (
                StoreKey::Pending(SourceId(1), 2),
                &[0x1A, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2],
            ),
            (
                StoreKey::Trash(SourceId(1), None, "a"),
                &[0x1B, 0, 0, 0, 1, 0, 0x61],
            ),
            (StoreKey::Trash(SourceId(1), Some(&digest), "a"), &trash),
            (
                StoreKey::Counted(SourceId(1), 2, 3, 258),
                &[0x1C, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2],
            ),
        ];
        for (key, bytes) in cases {
            assert_eq!(key.encode(), *bytes, "{key:?}");
            assert_eq!(StoreKey::parse(bytes).as_ref(), Some(key), "{bytes:?}");
        }
        assert_eq!(EntryAddress::parse(&entry), Some(address));
        let no_keys: [&[u8]; 7] = [
            &[],
            &[8],
            &[3, 0, 0, 1],
            &[3, 0, 0, 0, 1, 0],
            &[0x1B, 0, 0, 0, 1, 2, 0x61],
            &[0x1C, 0, 0, 0, 1, 2, 3],
            &[10, 0x61, 0x62],
        ];
        no_keys
            .into_iter()
            .for_each(|bytes| assert_eq!(StoreKey::parse(bytes), None, "{bytes:?}"));
        let name = StreamName {
            table_name: TableName::new("abc").unwrap(),
            label: "2".into(),
        };
        assert_eq!(parse_stream(&stream_key(&name)), Some(name));
        assert_eq!(parse_stream(&[2, 0x61, 0x62, 0x63, 0, 0x32]), None);
        assert_eq!(
            parse_version(&[11, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2]),
            Some(258)
        );
        assert_eq!(
            parse_expiry(&[12, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 2, 7, 8]),
            Some((258, &[7, 8][..]))
        );
    }

    #[test]
    fn entry_order_of_table_and_indexes() {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let base = Key {
            partition: s("p"),
            sort: Some(s("s")),
        };
        let digest = partition_digest(&[&s("p")]);
        assert_eq!(EntryAddress::of_item(SourceId(1), &base).order, b"s\0\0");
        assert_eq!(
            EntryAddress::new(SourceId(2), &[&base.partition], [&s("x"), &s("s")]).order,
            b"x\0\0s\0\0"
        );
        let global =
            EntryAddress::in_global_index(SourceId(3), &[&s("g")], &[&s("x"), &s("y")], &base);
        assert_eq!(
            global.order,
            [&b"x\0\0y\0\0"[..], &digest, b"s\0\0"].concat()
        );
        assert_eq!(global.digest, partition_digest(&[&s("g")]));
        let simple = Key {
            partition: s("p"),
            sort: None,
        };
        assert_eq!(EntryAddress::of_item(SourceId(1), &simple).order, b"");
    }
}
