//! Inode numbers: a function of what a node names, equal across mounts, so that `d_ino` and `st_ino` always agree; but for a directory
//! made in the place of one that was removed, or that was renamed.
//!
//! ```text
//! 1, 2                                      the root and README.md
//! 0 0 | counted from there                  such directories, see `inode_table`
//! 0 1 | 58 bits of digest | 4 bits role     tables and indexes: one digest per table or index, the role orders its files,
//!                                           schema.json lowest of its directory
//! 1 | 63 bits of digest                     items, collections, index entries, query paths, special files
//! ```

use siphasher::sip::SipHasher13;

use super::attr::Kind;
use crate::codec::key;
use crate::fs::{
    prelude::*,
    query::{QueryKind, QueryPath},
};

/// The root's inode number, FUSE's own.
pub const ROOT_INO: u64 = 1;
pub const README_INO: u64 = 2;
/// The last number below those of tables that is taken for good.
pub const LAST_FIXED_INO: u64 = README_INO;

/// Is this the inode number of the root, a service file, or something of a table or index that stands for no data?
#[must_use]
pub fn is_structure(ino: u64) -> bool {
    ino & DATA == 0
}

/// The inode number of an entry, without building its node.
#[must_use]
pub fn entry_ino(source: &Source, key: &EntryKey, form: TextForm) -> u64 {
    EntryInos::new(source, form).of(key)
}

/// The inode numbers of the entries of a source, one after the other.
#[derive(Debug)]
pub struct EntryInos {
    /// What they have in common, and of the last one its key.
    identity: Vec<u8>,
    common_bytes: usize,
}

impl EntryInos {
    #[must_use]
    pub fn new(source: &Source, form: TextForm) -> Self {
        let tag = match form {
            TextForm::PlainJson => Tag::PlainJson,
            TextForm::DynamoDbJson => Tag::DynamoDbJson,
        };
        let identity = identity(tag, source);
        Self {
            common_bytes: identity.len(),
            identity,
        }
    }

    pub fn of(&mut self, key: &EntryKey) -> u64 {
        self.identity.truncate(self.common_bytes);
        encode_entry(key, &mut self.identity);
        data(&self.identity)
    }
}

/// Of an item collection.
#[must_use]
pub fn collection(source: &Source, partition: &PartitionKey) -> u64 {
    let mut bytes = identity(Tag::Collection, source);
    encode_all(partition, &mut bytes);
    data(&bytes)
}

/// Of what is named by a path in a table.
#[must_use]
pub fn named(tag: Tag, source: &Source, path: &str) -> u64 {
    let mut bytes = identity(tag, source);
    bytes.extend_from_slice(path.as_bytes());
    data(&bytes)
}

/// Of what has an identity of its own.
#[must_use]
pub fn alone(tag: Tag, own: &[u8]) -> u64 {
    let mut bytes = vec![tag as u8];
    bytes.extend_from_slice(own);
    data(&bytes)
}

/// Of what is beside tables, items and queries. Another kind has another number: it may be in the place of one that was removed and is
/// held, and Linux answers EIO for an inode whose kind changes.
#[must_use]
pub fn special(kind: Kind, identity: &str) -> u64 {
    let tag = match kind {
        Kind::File => Tag::Special,
        Kind::Directory => Tag::SpecialDirectory,
        Kind::Symlink => Tag::SpecialLink,
    };
    alone(tag, identity.as_bytes())
}

/// Of `X.base` beside an index entry.
#[must_use]
pub fn base_link(source: &Source, key: &EntryKey) -> u64 {
    let mut bytes = identity(Tag::Base, source);
    encode_entry(key, &mut bytes);
    data(&bytes)
}

/// Of a directory of a query, or of what has that name in one.
pub fn in_query(tag: Tag, path: &QueryPath, name: &str) -> u64 {
    let mut bytes = query_identity(tag, path);
    bytes.extend_from_slice(name.as_bytes());
    data(&bytes)
}

/// The files of a table's or index's directory, in the order of their inode numbers.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    Directory = 0,
    // Lowest of its directory: `rm -r` may go by inode numbers, and must meet the definition before any item
    // (`open/host/rm_guard.rs`).
    Schema = 1,
    Stats = 2,
    Items = 3,
    Global = 4,
    Local = 5,
}

/// Keeps identities of different kinds apart.
#[derive(Debug, Clone, Copy)]
pub enum Tag {
    Structure = 1,
    Collection,
    PlainJson,
    DynamoDbJson,
    Base,
    Scratch,
    Query,
    QueryResult,
    QueryLink,
    Alias,
    DraftFolder,
    AliasFolder,
    Special,
    SpecialDirectory,
    SpecialLink,
}

const ROLE_BITS: u32 = 4;
/// The bit that inode numbers of data have.
const DATA: u64 = 1 << 63;

/// A digest of few instructions: listings make one for each name. Two names that meet are told apart, see `inode_table`.
fn hash64(bytes: &[u8]) -> u64 {
    SipHasher13::new().hash(bytes)
}

/// Of a directory or file that is there because its table or index is.
#[must_use]
pub fn structure(source: &Source, role: Role) -> u64 {
    let hash = hash64(&identity(Tag::Structure, source));
    (1 << 62) | ((hash >> 2) & !((1 << ROLE_BITS) - 1)) & !(3 << 62) | role as u64
}

fn data(bytes: &[u8]) -> u64 {
    DATA | hash64(bytes)
}

/// Names cannot hold NUL, so the parts are told apart.
fn identity(tag: Tag, source: &Source) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(tag as u8);
    bytes.extend_from_slice(source.table.as_str().as_bytes());
    bytes.push(0);
    if let Some(index) = &source.index {
        bytes.extend_from_slice(index.as_str().as_bytes());
    }
    bytes.push(0);
    bytes
}

fn encode_entry(entry: &EntryKey, bytes: &mut Vec<u8>) {
    if let Some((partition, sort)) = &entry.index {
        encode_all(partition, bytes);
        encode_all(sort, bytes);
    }
    key::encode(&entry.base.partition, bytes);
    if let Some(sort) = &entry.base.sort {
        key::encode(sort, bytes);
    }
}

fn encode_all(values: &[AttributeValue], bytes: &mut Vec<u8>) {
    for value in values {
        key::encode(value, bytes);
    }
}

fn query_identity(tag: Tag, path: &QueryPath) -> Vec<u8> {
    let mut bytes = identity(tag, &path.source());
    bytes.push(match path.kind() {
        QueryKind::Query => b'q',
        QueryKind::Scan => b's',
    });
    bytes.extend_from_slice(&path.saved_identity());
    bytes.push(b'/');
    for name in path.names() {
        // A file name cannot hold a slash.
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'/');
    }
    bytes
}
