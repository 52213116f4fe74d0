//! Files, directories and symlinks beside tables, items and queries, as plain data. Their behaviour
//! is in `fs::special`, one file each.

use std::{
    any::Any,
    hash::{Hash, Hasher},
    ops::Deref,
};

use super::{
    attr::NodeKind,
    ino::{self, InodeRole},
};
use crate::fs::{path::table_name, prelude::*};

/// A file, by its inode number and its path.
#[derive(Debug)]
pub struct FilePlace {
    pub ino: u64,
    pub path: String,
}

/// The cost of a call on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadCost {
    /// A bounded number of records: calls are answered at once.
    Bounded,
    /// No records, but its reads block until an event: a slow read is not a slow call.
    Blocking,
    /// Bytes made on demand: the size is not known before.
    Computed,
    /// Every record of the table: calls run on a thread for long work. The text changes with
    /// commits only.
    Table,
    /// Every record of the table, and the text changes with time too.
    TableLive,
}

/// The place of a special file, and its properties that need no read.
#[derive(Debug)]
pub struct Special {
    /// Filesystem path below the mount.
    pub path: String,
    /// The identity, where it is not the path.
    identity: Option<String>,
    pub kind: NodeKind,
    /// The table or index that it belongs to.
    pub source: Option<SourceName>,
    /// True if it is a writable file.
    pub is_writable: bool,
    /// The cost of its attributes and its text.
    pub cost: ReadCost,
    /// The inode number of the parent directory; for a directory only.
    pub parent_ino: u64,
    pub feature: Feature,
}

/// The behaviour of a special file, which `fs::open::node_ops` puts in and takes out: here it is
/// only carried.
#[derive(Debug)]
pub struct Feature(Box<dyn Any + Send + Sync>);

impl Feature {
    pub fn new(feature: impl Any + Send + Sync) -> Self {
        Self(Box::new(feature))
    }

    /// Returns the behaviour, if it is of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl Special {
    /// Creates a file of a table, an index or the mount.
    #[must_use]
    pub fn file(path: String, source: Option<SourceName>, feature: impl Into<Feature>) -> Self {
        let (kind, cost) = (NodeKind::File, ReadCost::Bounded);
        Self {
            path,
            identity: None,
            kind,
            source,
            is_writable: false,
            cost,
            parent_ino: 0,
            feature: feature.into(),
        }
    }

    /// Creates a directory in that of the inode number `above`.
    #[must_use]
    pub fn directory(
        path: String,
        source: Option<SourceName>,
        parent_ino: u64,
        feature: impl Into<Feature>,
    ) -> Self {
        Self {
            kind: NodeKind::Directory,
            parent_ino,
            ..Self::file(path, source, feature)
        }
    }

    /// Creates a directory of this name in a table's directory.
    #[must_use]
    pub fn directory_in_table(table: &TableName, name: &str, feature: impl Into<Feature>) -> Self {
        let source = SourceName::from(table);
        let above = ino::structure(&source, InodeRole::Directory);
        Self::directory(
            format!("{}/{name}", table_name(table)),
            Some(source),
            above,
            feature,
        )
    }

    /// Creates a file of this name in this directory, of the same table or index.
    #[must_use]
    pub fn child(&self, name: &str, feature: impl Into<Feature>) -> Self {
        Self::file(
            format!("{}/{name}", self.path),
            self.source.clone(),
            feature,
        )
    }

    /// Creates a directory of this name in this one, of the same table or index.
    #[must_use]
    pub fn child_directory(&self, name: &str, feature: impl Into<Feature>) -> Self {
        Self {
            kind: NodeKind::Directory,
            parent_ino: self.ino(),
            ..self.child(name, feature)
        }
    }

    #[must_use]
    pub fn with_kind(self, kind: NodeKind) -> Self {
        Self { kind, ..self }
    }

    #[must_use]
    pub fn writable(self) -> Self {
        Self {
            is_writable: true,
            ..self
        }
    }

    #[must_use]
    pub fn with_cost(self, cost: ReadCost) -> Self {
        Self { cost, ..self }
    }

    /// Sets the identity. Nodes with different identities have different inode numbers, even under
    /// the same path.
    #[must_use]
    pub fn with_identity(self, identity: String) -> Self {
        Self {
            identity: Some(identity),
            ..self
        }
    }

    #[must_use]
    pub fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.path)
    }

    /// Returns the inode number.
    #[must_use]
    pub fn ino(&self) -> u64 {
        ino::special(self.kind, self.identity())
    }

    #[must_use]
    pub fn place(&self) -> FilePlace {
        FilePlace {
            ino: self.ino(),
            path: self.path.clone(),
        }
    }

    /// Returns the table or index that it belongs to.
    ///
    /// # Errors
    /// [`FsError::NotFound`] for a file of the mount.
    pub fn try_source(&self) -> Result<&SourceName, FsError> {
        self.source.as_ref().ok_or(FsError::NotFound)
    }

    /// Returns the table that it belongs to.
    ///
    /// # Errors
    /// [`FsError::NotFound`] for a file of the mount.
    pub fn try_table(&self) -> Result<&TableName, FsError> {
        self.try_source().map(|source| &source.table)
    }

    /// Returns the table that it belongs to.
    #[must_use]
    pub fn table(&self) -> Option<&TableName> {
        self.source.as_ref().map(|source| &source.table)
    }
}

/// A shared [`Special`]. Two are equal when their identities are, and both or neither are
/// directories.
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
        self.identity() == other.identity()
            && (self.kind == NodeKind::Directory) == (other.kind == NodeKind::Directory)
    }
}

impl Eq for SpecialNode {}

impl Hash for SpecialNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}
