//! Files, directories and symlinks beside tables, items and queries: which one it is, as plain data. What they read and do is in
//! `fs::special`.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use super::ino::{self, Role, Tag};
use super::kind::Kind;
use crate::database::{EntryKey, PartitionKey, Source};
use crate::fs::path::table_name;
use crate::model::api::parked::ParkedPlace;
use crate::model::api::{ShardPosition, StreamName, Version};
use crate::model::{DocumentPath, TableName};

/// What answering calls on a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A bounded number of records: it is done at once.
    Small,
    /// As many as a table has: it is done on a thread for long work. The text changes with commits only.
    Table,
    /// The same, and it is another at each moment.
    TableNow,
}

/// Whose it is, and what is to be known of it without reading anything.
#[derive(Debug)]
pub struct Special {
    /// Filesystem path below the mount.
    pub path: String,
    /// What it is told from others by where that is not the path.
    identity: Option<String>,
    pub kind: Kind,
    /// The table or index it belongs to.
    pub source: Option<Source>,
    /// May it be written? Of a file.
    pub is_writable: bool,
    /// How much is read for its attributes and its text.
    pub effort: Effort,
    /// Of a directory: the inode number of the one that it is in.
    pub above: u64,
    pub feature: Feature,
}

/// Which feature of the mount it belongs to, and what of it it is: each has a room of its own in `fs::special`.
#[derive(Debug)]
pub enum Feature {
    /// A file that is a text, and perhaps takes commands, by the name of its row in `fs::special::derived`.
    Derived(&'static str),
    Help(HelpText),
    HelpTopics,
    Service(ServiceDirectory),
    Api(ApiFile),
    AccessLog,
    Scratch,
    Batch(BatchFile),
    IndexDraft(IndexDraftFile),
    Item(Box<ItemFile>),
    Parked(ParkedPlace),
    Partitions(PartitionFile),
    Queries(SavedFile),
    Stream(StreamFile),
    Dropped(Dropped),
}

/// `help` in a directory, or a topic's text.
#[derive(Debug)]
pub struct HelpText {
    pub text: &'static str,
    /// The table or index that its examples speak of, though it is not part of it.
    pub source: Option<Source>,
}

/// What a program restored in a place of derived files.
#[derive(Debug)]
pub struct Dropped {
    /// Of a symlink: where it pointed.
    pub target: String,
}

/// Directories of `.ddb/` whose names are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceDirectory {
    /// `.ddb/` itself.
    Root,
    Errors,
    Last,
}

/// `.ddb/api/`, a file of it, `.ddb/transact`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiFile {
    Directory,
    Operation(&'static str),
    /// TransactGetItems when its first action is a Get, else TransactWriteItems.
    Transact,
}

/// `batch/` and its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFile {
    Directory,
    Lines(BatchKind),
    Result,
}

/// What is done with each line of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    Put,
    Insert,
    Delete,
    Get,
    Atomic,
}

impl BatchKind {
    pub const ALL: [Self; 5] = [Self::Atomic, Self::Delete, Self::Get, Self::Insert, Self::Put];

    /// The file's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Atomic => "atomic",
        }
    }
}

/// `gsi/<ix>/` between mkdir and the write of its `schema.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexDraftFile {
    Directory,
    Schema,
}

/// What is beside an item, stored or not.
#[derive(Debug)]
pub struct ItemFile {
    pub key: EntryKey,
    pub of: ItemPart,
}

/// The part of an item, or the way to change it.
#[derive(Debug, Clone)]
pub enum ItemPart {
    /// `X.patch`
    Patch,
    /// `X.update`
    Update,
    /// `X.meta`
    Meta,
    /// `X.<etag>.casjson`
    Replacing(Version),
    /// `X.d/`, or the members of a map or list in it.
    Attributes(Option<DocumentPath>),
    /// One attribute, member or element, and the type that the name asks for.
    Attribute(DocumentPath, Option<String>),
}

/// `partitions/` and what is below it.
#[derive(Debug)]
pub enum PartitionFile {
    Directory,
    /// `p07/`
    Partition(u32),
    /// `p07/stats.json`
    Stats(u32),
    /// `p07/keys/`
    Keys(u32),
    /// `p07/keys/K` of a collection that is whole in it.
    Link(u32, PartitionKey),
    /// `p07/keys/K/` of a collection that a boundary cuts.
    Part(u32, PartitionKey),
    /// `p07/keys/K/X.json`
    Item(u32, PartitionKey),
}

/// `queries/` and the saved queries in it, by their names.
#[derive(Debug)]
pub enum SavedFile {
    Directory,
    Request(String),
    Link(String),
}

/// `stream/` and what is below it.
#[derive(Debug)]
pub enum StreamFile {
    Directory,
    /// `log.ndjson` of a stream and a day, in days since the epoch.
    Log(StreamName, u64),
    Follow,
    /// `since/`
    SinceDirectory,
    Since(ShardPosition),
}

impl Special {
    /// A file of a table, an index or the mount.
    #[must_use]
    pub fn file(path: String, source: Option<Source>, feature: Feature) -> Self {
        let (kind, effort) = (Kind::File, Effort::Small);
        Self { path, identity: None, kind, source, is_writable: false, effort, above: 0, feature }
    }

    /// A directory in that of the inode number `above`.
    #[must_use]
    pub fn directory(path: String, source: Option<Source>, above: u64, feature: Feature) -> Self {
        Self { kind: Kind::Directory, above, ..Self::file(path, source, feature) }
    }

    /// A file of that name in a table's directory.
    #[must_use]
    pub fn in_table(table: &TableName, name: &str, feature: Feature) -> Self {
        let source = Source { table: table.clone(), index: None };
        Self::file(format!("{}/{name}", table_name(table)), Some(source), feature)
    }

    /// A directory of that name in a table's directory.
    #[must_use]
    pub fn directory_in_table(table: &TableName, name: &str, feature: Feature) -> Self {
        let file = Self::in_table(table, name, feature);
        let above = file.source.as_ref().map_or(0, |source| ino::structure(source, Role::Directory));
        Self { kind: Kind::Directory, above, ..file }
    }

    /// A file of that name in this directory, of the same table or index.
    #[must_use]
    pub fn child(&self, name: &str, feature: Feature) -> Self {
        Self::file(format!("{}/{name}", self.path), self.source.clone(), feature)
    }

    /// A directory of that name in this one, of the same table or index.
    #[must_use]
    pub fn child_directory(&self, name: &str, feature: Feature) -> Self {
        Self { kind: Kind::Directory, above: self.ino(), ..self.child(name, feature) }
    }

    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    #[must_use]
    pub fn writable(self) -> Self {
        Self { is_writable: true, ..self }
    }

    #[must_use]
    pub fn taking(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// What it is told from others by: what has another of these has another inode number, even under the same path.
    #[must_use]
    pub fn told_by(self, identity: String) -> Self {
        Self { identity: Some(identity), ..self }
    }

    #[must_use]
    pub fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.path)
    }

    /// The inode number. A file in the place of a directory, which was removed and may be held, has another.
    #[must_use]
    pub fn ino(&self) -> u64 {
        match self.kind {
            Kind::Directory => ino::alone(Tag::Special, format!("{}/", self.identity()).as_bytes()),
            _ => ino::alone(Tag::Special, self.identity().as_bytes()),
        }
    }

    /// The table it belongs to.
    #[must_use]
    pub fn table(&self) -> Option<&TableName> {
        self.source.as_ref().map(|source| &source.table)
    }

    /// Are its bytes made when somebody wants them? Then its size is not known before.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        matches!(self.feature, Feature::Stream(StreamFile::Since(_)))
    }

    /// May its reads wait for what has not happened yet? Then they are not slow.
    #[must_use]
    pub fn waits(&self) -> bool {
        matches!(self.feature, Feature::AccessLog | Feature::Stream(StreamFile::Follow))
    }

    /// Where it is parked, if it is a parked file.
    #[must_use]
    pub fn parked(&self) -> Option<&ParkedPlace> {
        match &self.feature {
            Feature::Parked(place) => Some(place),
            _ => None,
        }
    }
}

/// A [`Special`] that many may hold: equal when the identities are, of directories and of others.
#[derive(Debug, Clone)]
pub struct SpecialNode(Arc<Special>);

impl From<Special> for SpecialNode {
    fn from(special: Special) -> Self {
        Self(Arc::new(special))
    }
}

impl Deref for SpecialNode {
    type Target = Special;

    fn deref(&self) -> &Special {
        &self.0
    }
}

impl PartialEq for SpecialNode {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity() && (self.kind == Kind::Directory) == (other.kind == Kind::Directory)
    }
}

impl Eq for SpecialNode {}

impl Hash for SpecialNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}
