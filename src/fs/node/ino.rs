//! Inode numbers: a function of the named object, equal across mounts, so that `d_ino` and `st_ino`
//! always agree. The exceptions are a directory made in place of a removed one, and a renamed
//! directory.
//!
//! ```text
//! 1, 2                                      the root and README.md
//! 0 0 | counted from there                  such directories, see `inode_table`
//! 0 1 | 58 bits of digest | 4 bits role     tables and indexes: one digest per table or index, the role orders its files,
//!                                           schema.json lowest of its directory
//! 1 | 63 bits of digest                     items, collections, index entries, query paths, special files
//! ```

use siphasher::sip::SipHasher13;

use super::attr::NodeKind;
use crate::codec::key;
use crate::fs::{
    prelude::*,
    query::{QueryKind, QueryPath},
};

/// The root's inode number, FUSE's own.
pub const ROOT_INO: u64 = 1;
pub const README_INO: u64 = 2;
/// The last fixed number; the exceptional directories are counted from there.
pub const LAST_FIXED_INO: u64 = README_INO;

/// True for the inode number of the root, a service file, or a file of a table or index that stands
/// for no data.
#[must_use]
pub fn is_structure(ino: u64) -> bool {
    ino & DATA_BIT == 0
}

/// Returns the inode number of an entry, without building its node.
#[must_use]
pub fn entry_ino(source: &SourceName, key: &EntryKey, form: TextForm) -> u64 {
    EntryInos::new(source, form).ino(key)
}

/// A generator of the inode numbers of a source's entries, one after the other.
#[derive(Debug)]
pub struct EntryInos {
    /// The common prefix of the identities, followed by the key of the last entry.
    identity: Vec<u8>,
    common_bytes: usize,
}

impl EntryInos {
    #[must_use]
    pub fn new(source: &SourceName, form: TextForm) -> Self {
        let tag = match form {
            TextForm::PlainJson => InodeTag::PlainJson,
            TextForm::DynamoDbJson => InodeTag::DynamoDbJson,
        };
        let identity = identity(tag, source);
        Self {
            common_bytes: identity.len(),
            identity,
        }
    }

    pub fn ino(&mut self, key: &EntryKey) -> u64 {
        self.identity.truncate(self.common_bytes);
        encode_entry(key, &mut self.identity);
        data(&self.identity)
    }
}

/// Returns the inode number of an item collection.
#[must_use]
pub fn collection(source: &SourceName, partition: &PartitionKey) -> u64 {
    let mut bytes = identity(InodeTag::Collection, source);
    encode_all(partition, &mut bytes);
    data(&bytes)
}

/// Returns the inode number of an object named by a path in a table.
#[must_use]
pub fn named(tag: InodeTag, source: &SourceName, path: &str) -> u64 {
    let mut bytes = identity(tag, source);
    bytes.extend_from_slice(path.as_bytes());
    data(&bytes)
}

/// Returns the inode number of an object with an identity of its own.
#[must_use]
pub fn alone(tag: InodeTag, identity: &[u8]) -> u64 {
    let mut bytes = vec![tag as u8];
    bytes.extend_from_slice(identity);
    data(&bytes)
}

/// Returns the inode number of a special file. Different kinds have different numbers: the file may
/// replace a removed one that is still held, and Linux answers EIO for an inode that changes its
/// kind.
#[must_use]
pub fn special(kind: NodeKind, identity: &str) -> u64 {
    let tag = match kind {
        NodeKind::File => InodeTag::Special,
        NodeKind::Directory => InodeTag::SpecialDirectory,
        NodeKind::Symlink => InodeTag::SpecialLink,
    };
    alone(tag, identity.as_bytes())
}

/// Returns the inode number of `X.base` beside an index entry.
#[must_use]
pub fn base_link(source: &SourceName, key: &EntryKey) -> u64 {
    let mut bytes = identity(InodeTag::Base, source);
    encode_entry(key, &mut bytes);
    data(&bytes)
}

/// Returns the inode number of a query directory, or of the file of this name in it.
pub fn in_query(tag: InodeTag, path: &QueryPath, name: &str) -> u64 {
    let mut bytes = query_identity(tag, path);
    bytes.extend_from_slice(name.as_bytes());
    data(&bytes)
}

/// The files of a table's or index's directory, in the order of their inode numbers.
#[derive(Debug, Clone, Copy)]
pub enum InodeRole {
    Directory = 0,
    // The lowest of its directory: `rm -r` may remove in the order of inode numbers, and must meet
    // the definition before any item (`open/host/rm_guard.rs`).
    Schema = 1,
    Stats = 2,
    Items = 3,
    Global = 4,
    Local = 5,
    Vector = 6,
}

/// The tag that separates identities of different kinds.
#[derive(Debug, Clone, Copy)]
pub enum InodeTag {
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
const DATA_BIT: u64 = 1 << 63;

/// Computes a cheap digest: listings make one for each name. Collisions are resolved in
/// `inode_table`.
fn hash64(bytes: &[u8]) -> u64 {
    SipHasher13::new().hash(bytes)
}

/// Returns the inode number of a directory or file that exists as long as its table or index.
#[must_use]
pub fn structure(source: &SourceName, role: InodeRole) -> u64 {
    let hash = hash64(&identity(InodeTag::Structure, source));
    (1 << 62) | ((hash >> 2) & !((1 << ROLE_BITS) - 1)) & !(3 << 62) | role as u64
}

fn data(bytes: &[u8]) -> u64 {
    DATA_BIT | hash64(bytes)
}

/// Encodes a source; names cannot hold NUL, so it separates the parts.
fn identity(tag: InodeTag, source: &SourceName) -> Vec<u8> {
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

fn query_identity(tag: InodeTag, path: &QueryPath) -> Vec<u8> {
    let mut bytes = identity(tag, &path.source());
    bytes.push(match path.kind() {
        QueryKind::Query => b'q',
        QueryKind::Scan => b's',
        QueryKind::Near => b'n',
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
