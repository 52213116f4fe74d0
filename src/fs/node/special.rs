//! Files, directories and symlinks beside tables, items and queries: which one it is, as plain data. What they read and do is in
//! `fs::special`, each in one file.

use std::{
    any::Any,
    hash::{Hash, Hasher},
    ops::Deref,
};

use super::{
    attr::Kind,
    ino::{self, Role},
};
use crate::fs::{path::table_name, prelude::*};

/// What answering calls on a file takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A bounded number of records: it is done at once.
    Small,
    /// Nothing, but its reads wait for what has not happened yet. Then they are not slow.
    Waits,
    /// Its bytes are made when somebody wants them: its size is not known before.
    Computed,
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

/// What it reads and does, which `fs::open::node_ops` puts in and takes out: here it is only carried.
#[derive(Debug)]
pub struct Feature(Box<dyn Any + Send + Sync>);

impl Feature {
    pub fn new(feature: impl Any + Send + Sync) -> Self {
        Self(Box::new(feature))
    }

    /// What was put in, if it is of this type.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl Special {
    /// A file of a table, an index or the mount.
    #[must_use]
    pub fn file(path: String, source: Option<Source>, feature: impl Into<Feature>) -> Self {
        let (kind, effort) = (Kind::File, Effort::Small);
        Self {
            path,
            identity: None,
            kind,
            source,
            is_writable: false,
            effort,
            above: 0,
            feature: feature.into(),
        }
    }

    /// A directory in that of the inode number `above`.
    #[must_use]
    pub fn directory(
        path: String,
        source: Option<Source>,
        above: u64,
        feature: impl Into<Feature>,
    ) -> Self {
        Self {
            kind: Kind::Directory,
            above,
            ..Self::file(path, source, feature)
        }
    }

    /// A directory of that name in a table's directory.
    #[must_use]
    pub fn directory_in_table(table: &TableName, name: &str, feature: impl Into<Feature>) -> Self {
        let source = Source {
            table: table.clone(),
            index: None,
        };
        let above = ino::structure(&source, Role::Directory);
        Self::directory(
            format!("{}/{name}", table_name(table)),
            Some(source),
            above,
            feature,
        )
    }

    /// A file of that name in this directory, of the same table or index.
    #[must_use]
    pub fn child(&self, name: &str, feature: impl Into<Feature>) -> Self {
        Self::file(
            format!("{}/{name}", self.path),
            self.source.clone(),
            feature,
        )
    }

    /// A directory of that name in this one, of the same table or index.
    #[must_use]
    pub fn child_directory(&self, name: &str, feature: impl Into<Feature>) -> Self {
        Self {
            kind: Kind::Directory,
            above: self.ino(),
            ..self.child(name, feature)
        }
    }

    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Self {
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
    pub fn taking(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// What it is told from others by: what has another of these has another inode number, even under the same path.
    #[must_use]
    pub fn told_by(self, identity: String) -> Self {
        Self {
            identity: Some(identity),
            ..self
        }
    }

    #[must_use]
    pub fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.path)
    }

    /// The inode number.
    #[must_use]
    pub fn ino(&self) -> u64 {
        ino::special(self.kind, self.identity())
    }

    /// The table or index it belongs to.
    ///
    /// # Errors
    /// `NotFound`: none.
    pub fn of_source(&self) -> Result<&Source, FsError> {
        self.source.as_ref().ok_or(FsError::NotFound)
    }

    /// The table it belongs to.
    ///
    /// # Errors
    /// `NotFound`: none.
    pub fn of_table(&self) -> Result<&TableName, FsError> {
        self.of_source().map(|source| &source.table)
    }

    /// The table it belongs to.
    #[must_use]
    pub fn table(&self) -> Option<&TableName> {
        self.source.as_ref().map(|source| &source.table)
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
        self.identity() == other.identity()
            && (self.kind == Kind::Directory) == (other.kind == Kind::Directory)
    }
}

impl Eq for SpecialNode {}

impl Hash for SpecialNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}
