//! The item that something is beside.

use crate::database::{EntryKey, EntryStat, Source, TextForm};
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::EntryNode;
use crate::fs::source::entry;
use crate::model::{Item, Key, TableName};

/// A base item, stored or not.
#[derive(Debug, Clone)]
pub struct Place {
    pub source: Source,
    pub key: EntryKey,
}

impl Place {
    pub fn table(&self) -> &TableName {
        &self.source.table
    }

    pub fn key(&self) -> &Key {
        &self.key.base
    }

    pub fn entry(&self, form: TextForm) -> EntryNode {
        EntryNode { source: self.source.clone(), key: self.key.clone(), form }
    }

    pub fn stat(&self, mount: &Mount) -> Result<EntryStat, FsError> {
        entry::stat(mount, &self.source, &self.key)
    }

    /// The item and the stat of its version.
    ///
    /// # Errors
    /// `NotFound`, or the database's.
    pub fn load(&self, mount: &Mount) -> Result<(Item, EntryStat), FsError> {
        entry::load(mount, &self.source, &self.key)
    }
}
