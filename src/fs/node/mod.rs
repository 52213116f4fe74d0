//! Parsed filesystem paths, and their inode numbers.
//!
//! A [`Node`] holds the whole identity of the object that it names and no state, so it may be built
//! from a directory listing, dropped and built again. It is plain data: the layers above read its
//! content, by a match on it.
//!
//! ```text
//! ino.rs          inode numbers, a function of the identity
//! special.rs      files and directories beside tables, items and queries
//! attr.rs         the attributes that stat shows
//! inode_table.rs  the nodes that the kernel knows by number, packed
//! ```

use self::{
    ino::{InodeRole, InodeTag},
    special::{ReadCost, Special, SpecialNode},
};
use crate::codec::digest::Digest;
use crate::fs::{
    prelude::*,
    query::{QueryPath, ResultKind},
    write::{TargetKey, scratch::FileId},
};
use crate::model::IndexSchema;

pub mod attr;
pub mod ino;
pub mod inode_table;
pub mod special;

pub use attr::NodeKind;
pub use ino::{EntryInos, ROOT_INO, entry_ino, is_structure};
pub use inode_table::{pack_folder, pack_item};

/// The object that a filesystem path names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    Root,
    Readme,
    /// A table's directory, or a draft's.
    Table(TableName),
    /// A folder made below a draft, its path relative to the draft.
    DraftFolder(TableName, String),
    /// `schema.json` of a table, a draft or an index.
    Schema(SourceName),
    /// `stats.json` of a table or an index.
    Stats(SourceName),
    /// `items/` of a table or an index.
    Items(SourceName),
    /// `gsi/` or `lsi/`.
    Indexes(TableName, IndexKind),
    /// `gsi/<index>/` or `lsi/<index>/`; the source has an index.
    Index(SourceName),
    /// `items/K(pk)/` of a composite table or an index.
    Collection(SourceName, PartitionKey),
    /// A collection's folder by a shortened name, none of its items stored: the body of the first
    /// one will contain the key.
    AliasFolder(Box<AliasFolder>),
    /// `X.json` or `X.ddbjson`.
    Entry(Box<EntryNode>),
    /// `X.json` by a shortened name, its item not stored: it can only be created.
    Alias(Box<AliasNode>),
    /// `X.base` beside an index entry: a symlink to the base item.
    Base(SourceName, Box<EntryKey>),
    /// A file that lives in memory.
    Scratch(FileId),
    /// `query/`, `scan/` and the directories of clauses below.
    Query(Box<QueryPath>),
    /// A result file in a query directory.
    QueryResult(Box<QueryPath>, ResultKind),
    /// `000001,<name>.json` in a query directory: a symlink.
    QueryLink(Box<QueryPath>, String),
    /// Any other file or directory; each has a source file of its own.
    Special(SpecialNode),
}

/// A base item or index entry in one of its text forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryNode {
    pub source: SourceName,
    pub key: EntryKey,
    pub form: TextForm,
}

impl EntryNode {
    #[must_use]
    pub fn table(&self) -> &TableName {
        &self.source.table
    }

    /// Returns the directory of its file.
    pub fn directory(&self) -> Node {
        let source = self.source.clone();
        match (&self.key.index, &self.key.base.sort) {
            (Some((partition, _)), _) if !partition.is_empty() => {
                Node::Collection(source, partition.clone())
            }
            (None, Some(_)) => Node::Collection(source, vec![self.key.base.partition.clone()]),
            _ => Node::Items(source),
        }
    }

    /// Returns the key of the base item.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key.base
    }
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

/// The folder of a collection that is known only by the digest of its partition key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AliasFolder {
    pub table: TableName,
    pub digest: Digest,
    /// The name by which it was looked up.
    pub name: String,
}

impl Node {
    /// Returns the kind: file, directory or symlink.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        match self {
            Self::Root
            | Self::Table(_)
            | Self::Items(_)
            | Self::Indexes(..)
            | Self::Index(_)
            | Self::Collection(..)
            | Self::AliasFolder(_)
            | Self::DraftFolder(..)
            | Self::Query(_) => NodeKind::Directory,
            Self::Base(..) | Self::QueryLink(..) => NodeKind::Symlink,
            Self::Readme
            | Self::Schema(_)
            | Self::Stats(_)
            | Self::Entry(_)
            | Self::Alias(_)
            | Self::Scratch(_)
            | Self::QueryResult(..) => NodeKind::File,
            Self::Special(special) => special.kind,
        }
    }

    /// Returns the amount of data that its attributes and its text read.
    #[must_use]
    pub fn read_cost(&self) -> ReadCost {
        match self {
            Self::QueryResult(..) => ReadCost::Computed,
            Self::Special(special) => special.cost,
            _ => ReadCost::Bounded,
        }
    }

    /// True if its bytes are made on demand: its size is not known before.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        self.read_cost() == ReadCost::Computed
    }

    /// True if a program may write the file.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        match self {
            Self::Entry(entry) => entry.source.index.is_none(),
            Self::Schema(source) => source.index.is_none(),
            Self::Alias(_) | Self::Scratch(_) => true,
            Self::Special(special) => special.is_writable,
            _ => false,
        }
    }

    /// True if it is a file that only ddbfs writes, rendered anew for each open.
    #[must_use]
    pub fn is_rendered(&self) -> bool {
        match self {
            Self::Stats(_) | Self::QueryResult(..) => true,
            Self::Special(special) => special.kind == NodeKind::File && !special.is_writable,
            _ => false,
        }
    }

    /// True if a program only looks at tables or the mount by it: no data, no request.
    #[must_use]
    pub fn is_look(&self) -> bool {
        match self {
            Self::Stats(_) => true,
            Self::Special(special) => !special.is_writable && !self.is_computed(),
            _ => false,
        }
    }

    /// True if its attributes or its text need more than a bounded number of records.
    #[must_use]
    pub fn reads_table(&self) -> bool {
        matches!(self.read_cost(), ReadCost::Table | ReadCost::TableLive)
    }

    /// Returns the table that this node belongs to.
    #[must_use]
    pub fn table(&self) -> Option<&TableName> {
        match self {
            Self::Root | Self::Readme | Self::Scratch(_) => None,
            Self::Table(table) | Self::Indexes(table, _) | Self::DraftFolder(table, _) => {
                Some(table)
            }
            Self::Schema(source)
            | Self::Stats(source)
            | Self::Items(source)
            | Self::Index(source)
            | Self::Collection(source, _)
            | Self::Base(source, _) => Some(&source.table),
            Self::Entry(entry) => Some(&entry.source.table),
            Self::Alias(alias) => Some(&alias.table),
            Self::AliasFolder(folder) => Some(&folder.table),
            Self::Query(path) | Self::QueryResult(path, _) | Self::QueryLink(path, _) => {
                Some(&path.schema().name)
            }
            Self::Special(special) => special.table(),
        }
    }

    /// True if it is below the directory of that table or index.
    #[must_use]
    pub fn is_below(&self, directory: &Self) -> bool {
        match (directory, self) {
            (Self::Table(table), _) => self.table() == Some(table) && self != directory,
            (Self::Index(index), Self::Items(source) | Self::Collection(source, _)) => {
                source == index
            }
            (Self::Index(index), Self::Special(special)) => special.source.as_ref() == Some(index),
            _ => false,
        }
    }

    /// Returns the inode number.
    #[must_use]
    pub fn ino(&self) -> u64 {
        match self {
            Self::Root => ino::ROOT_INO,
            Self::Readme => ino::README_INO,
            Self::Schema(source) => ino::structure(source, InodeRole::Schema),
            Self::Stats(source) => ino::structure(source, InodeRole::Stats),
            Self::Items(source) => ino::structure(source, InodeRole::Items),
            Self::Index(source) => ino::structure(source, InodeRole::Directory),
            Self::Table(table) => ino::structure(&SourceName::from(table), InodeRole::Directory),
            Self::Indexes(table, IndexKind::Global) => {
                ino::structure(&SourceName::from(table), InodeRole::Global)
            }
            Self::Indexes(table, IndexKind::Local) => {
                ino::structure(&SourceName::from(table), InodeRole::Local)
            }
            Self::Indexes(table, IndexKind::Vector) => {
                ino::structure(&SourceName::from(table), InodeRole::Vector)
            }
            Self::Collection(source, partition) => ino::collection(source, partition),
            Self::Entry(entry) => ino::entry_ino(&entry.source, &entry.key, entry.form),
            Self::Alias(alias) => ino::named(
                InodeTag::Alias,
                &SourceName::from(&alias.table),
                &alias.path,
            ),
            Self::AliasFolder(folder) => ino::named(
                InodeTag::AliasFolder,
                &SourceName::from(&folder.table),
                &folder.name,
            ),
            Self::DraftFolder(table, path) => {
                ino::named(InodeTag::DraftFolder, &SourceName::from(table), path)
            }
            Self::Base(source, key) => ino::base_link(source, key),
            Self::Scratch(id) => ino::alone(InodeTag::Scratch, &id.0.to_be_bytes()),
            Self::Query(path) => ino::in_query(InodeTag::Query, path, ""),
            Self::QueryResult(path, kind) => {
                ino::in_query(InodeTag::QueryResult, path, kind.name())
            }
            Self::QueryLink(path, name) => ino::in_query(InodeTag::QueryLink, path, name),
            Self::Special(special) => special.ino(),
        }
    }
}

impl From<Special> for Node {
    fn from(special: Special) -> Self {
        Self::Special(special.into())
    }
}

/// Returns the number of an item in records of its readers: the inode number of its plain JSON.
#[must_use]
pub fn item_ino(table: &TableName, key: &Key) -> u64 {
    entry_ino(
        &SourceName::from(table),
        &key.clone().into(),
        TextForm::PlainJson,
    )
}

/// Returns the index that a source reads; `None` for a table.
///
/// # Errors
/// [`FsError::NotFound`] when the table has no such index.
pub fn index_of<'s>(
    schema: &'s TableSchema,
    source: &SourceName,
) -> Result<Option<&'s IndexSchema>, FsError> {
    source
        .index
        .as_ref()
        .map(|index| schema.index(index.as_str()).ok_or(FsError::NotFound))
        .transpose()
}
