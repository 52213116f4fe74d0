//! What a filesystem path means, and its inode number.
//!
//! A [`Node`] holds the whole identity of what it names and no state, so it may be built from a directory listing, thrown away and
//! built again. Its inode number is a function of that identity, equal across mounts, so that `d_ino` and `st_ino` always agree:
//!
//! ```text
//! 1, 2                                      the root and README.md
//! 0 1 | 58 bits of digest | 4 bits role     tables and indexes: one digest per table or index, the role orders its files,
//!                                           schema.json lowest of its directory
//! 1 | 63 bits of digest                     items, collections, index entries, query paths, special files
//! ```

use super::query::{QueryKind, QueryPath, ResultKind};
use super::special::{Effort, SpecialNode};
use super::write::TargetKey;
use super::write::scratch::FileId;
use crate::codec::digest::{Digest, digest};
use crate::codec::key;
use crate::database::{EntryKey, PartitionKey, Source, TextForm};
use crate::model::{AttributeValue, IndexKind, TableName};

/// The root's inode number, FUSE's own.
pub const ROOT_INO: u64 = 1;

/// What a filesystem path means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    Root,
    Readme,
    /// A table's directory, or a draft's.
    Table(TableName),
    /// A folder made below a draft, its path relative to the draft.
    DraftFolder(TableName, String),
    /// `schema.json` of a table, a draft or an index.
    Schema(Source),
    /// `stats.json` of a table or an index.
    Stats(Source),
    /// `items/` of a table or an index.
    Items(Source),
    /// `gsi/` or `lsi/`.
    Indexes(TableName, IndexKind),
    /// `gsi/<index>/` or `lsi/<index>/`; the source has an index.
    Index(Source),
    /// `items/K(pk)/` of a composite table or an index.
    Collection(Source, PartitionKey),
    /// A collection's folder by a shortened name, none of its items stored: their bodies will say the key.
    AliasFolder(Box<AliasFolder>),
    /// `X.json` or `X.ddbjson`.
    Entry(Box<EntryNode>),
    /// `X.json` by a shortened name, its item not stored: it can only be created.
    Alias(Box<AliasNode>),
    /// `X.base` beside an index entry: a symlink to the base item.
    Base(Source, Box<EntryKey>),
    /// A file that lives in memory.
    Scratch(FileId),
    /// `query/`, `scan/` and the directories of clauses below.
    Query(Box<QueryPath>),
    /// A result file in a query directory.
    QueryResult(Box<QueryPath>, ResultKind),
    /// `000001,<name>.json` in a query directory: a symlink.
    QueryLink(Box<QueryPath>, String),
    /// Anything else: a file or directory with a source file of its own.
    Special(SpecialNode),
}

/// A base item or index entry in one of its text forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryNode {
    pub source: Source,
    pub key: EntryKey,
    pub form: TextForm,
}

/// A base item that is not stored, named by the digest of its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AliasNode {
    pub table: TableName,
    pub key: TargetKey,
    pub form: TextForm,
    /// Path below `items/`.
    pub path: String,
}

/// The folder of a collection whose partition key is known by its digest only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AliasFolder {
    pub table: TableName,
    pub digest: Digest,
    /// The name it was looked up by.
    pub name: String,
}

/// File, directory or symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Symlink,
}

impl Node {
    /// File, directory or symlink.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Root
            | Self::Table(_)
            | Self::Items(_)
            | Self::Indexes(..)
            | Self::Index(_)
            | Self::Collection(..)
            | Self::AliasFolder(_)
            | Self::DraftFolder(..)
            | Self::Query(_) => Kind::Directory,
            Self::Base(..) | Self::QueryLink(..) => Kind::Symlink,
            Self::Readme
            | Self::Schema(_)
            | Self::Stats(_)
            | Self::Entry(_)
            | Self::Alias(_)
            | Self::Scratch(_)
            | Self::QueryResult(..) => Kind::File,
            Self::Special(special) => special.0.kind(),
        }
    }

    /// Are its bytes made when somebody wants them? Then its size is not known before.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        match self {
            Self::QueryResult(..) => true,
            Self::Special(special) => special.0.is_computed(),
            _ => false,
        }
    }

    /// Is it a file that only ddbfs writes, anew for each who opens it?
    #[must_use]
    pub fn is_rendered(&self) -> bool {
        match self {
            Self::Stats(_) | Self::QueryResult(..) => true,
            Self::Special(special) => special.0.kind() == Kind::File && !special.0.is_writable(),
            _ => false,
        }
    }

    /// Is more than a bounded number of records read for its attributes or its text?
    #[must_use]
    pub fn reads_many(&self) -> bool {
        matches!(self, Self::Special(special) if special.0.effort() != Effort::Small)
    }

    /// The table this node belongs to.
    #[must_use]
    pub fn table(&self) -> Option<&TableName> {
        match self {
            Self::Root | Self::Readme | Self::Scratch(_) => None,
            Self::Table(table) | Self::Indexes(table, _) | Self::DraftFolder(table, _) => Some(table),
            Self::Schema(source)
            | Self::Stats(source)
            | Self::Items(source)
            | Self::Index(source)
            | Self::Collection(source, _)
            | Self::Base(source, _) => Some(&source.table),
            Self::Entry(entry) => Some(&entry.source.table),
            Self::Alias(alias) => Some(&alias.table),
            Self::AliasFolder(folder) => Some(&folder.table),
            Self::Query(path) | Self::QueryResult(path, _) | Self::QueryLink(path, _) => Some(&path.schema().name),
            Self::Special(special) => special.0.table(),
        }
    }

    /// The inode number.
    #[must_use]
    pub fn ino(&self) -> u64 {
        match self {
            Self::Root => ROOT_INO,
            Self::Readme => 2,
            Self::Schema(source) => structure(source, Role::Schema),
            Self::Stats(source) => structure(source, Role::Stats),
            Self::Items(source) => structure(source, Role::Items),
            Self::Index(source) => structure(source, Role::Directory),
            Self::Table(table) => structure(&base(table), Role::Directory),
            Self::Indexes(table, kind) => {
                let role = match kind {
                    IndexKind::Global => Role::Global,
                    IndexKind::Local => Role::Local,
                };
                structure(&base(table), role)
            }
            Self::Collection(source, partition) => {
                let mut bytes = identity(Tag::Collection, source);
                encode_all(partition, &mut bytes);
                data(&bytes)
            }
            Self::Entry(entry) => entry_ino(&entry.source, &entry.key, entry.form),
            Self::Alias(alias) => {
                let mut bytes = identity(Tag::Alias, &base(&alias.table));
                bytes.extend_from_slice(alias.path.as_bytes());
                data(&bytes)
            }
            Self::AliasFolder(folder) => {
                let mut bytes = identity(Tag::AliasFolder, &base(&folder.table));
                bytes.extend_from_slice(folder.name.as_bytes());
                data(&bytes)
            }
            Self::DraftFolder(table, path) => {
                let mut bytes = identity(Tag::DraftFolder, &base(table));
                bytes.extend_from_slice(path.as_bytes());
                data(&bytes)
            }
            Self::Base(source, key) => data(&entry_identity(Tag::Base, source, key)),
            Self::Scratch(id) => {
                let mut bytes = vec![Tag::Scratch as u8];
                bytes.extend_from_slice(&id.0.to_be_bytes());
                data(&bytes)
            }
            Self::Query(path) => data(&query_identity(Tag::Query, path)),
            Self::QueryResult(path, kind) => {
                let mut bytes = query_identity(Tag::QueryResult, path);
                bytes.extend_from_slice(format!("{kind:?}").as_bytes());
                data(&bytes)
            }
            Self::QueryLink(path, name) => query_link_ino(path, name),
            Self::Special(special) => {
                let mut bytes = vec![Tag::Special as u8];
                bytes.extend_from_slice(special.0.identity().as_bytes());
                data(&bytes)
            }
        }
    }
}

/// The base table as a source.
#[must_use]
pub fn base(table: &TableName) -> Source {
    Source { table: table.clone(), index: None }
}

/// Is this the inode number of the root, a service file, or something of a table or index that stands for no data?
#[must_use]
pub fn is_structure(ino: u64) -> bool {
    ino & DATA == 0
}

/// The inode number of a listed entry, without building its node.
#[must_use]
pub fn entry_ino(source: &Source, key: &EntryKey, form: TextForm) -> u64 {
    let tag = match form {
        TextForm::PlainJson => Tag::PlainJson,
        TextForm::DynamoDbJson => Tag::DynamoDbJson,
    };
    data(&entry_identity(tag, source, key))
}

/// The inode number of a link in a query directory.
#[must_use]
pub fn query_link_ino(path: &QueryPath, name: &str) -> u64 {
    let mut bytes = query_identity(Tag::QueryLink, path);
    bytes.extend_from_slice(name.as_bytes());
    data(&bytes)
}

/// The files of a table's or index's directory, in the order of their inode numbers.
#[derive(Clone, Copy)]
enum Role {
    Directory = 0,
    Schema = 1,
    Stats = 2,
    Items = 3,
    Global = 4,
    Local = 5,
}

/// Keeps identities of different kinds apart.
#[derive(Clone, Copy)]
enum Tag {
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
}

const ROLE_BITS: u32 = 4;
/// The bit that inode numbers of data have.
const DATA: u64 = 1 << 63;

/// The first 8 bytes of a digest.
fn hash64(bytes: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest(bytes);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn structure(source: &Source, role: Role) -> u64 {
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

fn entry_identity(tag: Tag, source: &Source, entry: &EntryKey) -> Vec<u8> {
    let mut bytes = identity(tag, source);
    if let Some((partition, sort)) = &entry.index {
        encode_all(partition, &mut bytes);
        encode_all(sort, &mut bytes);
    }
    key::encode(&entry.base.partition, &mut bytes);
    if let Some(sort) = &entry.base.sort {
        key::encode(sort, &mut bytes);
    }
    bytes
}

fn encode_all(values: &[AttributeValue], bytes: &mut Vec<u8>) {
    for value in values {
        key::encode(value, bytes);
    }
}

fn query_identity(tag: Tag, path: &QueryPath) -> Vec<u8> {
    let source = Source { table: path.schema().name.clone(), index: path.index().cloned() };
    let mut bytes = identity(tag, &source);
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
