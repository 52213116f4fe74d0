//! The item that something is beside.

use std::sync::Arc;

use crate::database::{EntryKey, EntryStat, Source, TextForm};
use crate::fs::FsError;
use crate::fs::mount::Mount;
use crate::fs::node::EntryNode;
use crate::fs::node::special::{ItemFile, Special};
use crate::fs::open::OpenFlags;
use crate::fs::open::handle::Handle;
use crate::fs::open::host::Host;
use crate::fs::open::text::{Execute, OpenText};
use crate::fs::process::Caller;
use crate::fs::source::entry;
use crate::fs::write::{Opener, TextWriter};
use crate::model::{Item, Key, TableName};

/// A base item, stored or not.
#[derive(Debug, Clone)]
pub struct Place {
    pub source: Source,
    pub key: EntryKey,
}

impl Place {
    /// The item that a file is beside.
    pub fn of(at: &Special, file: &ItemFile) -> Result<Self, FsError> {
        Ok(Self { source: at.source.clone().ok_or(FsError::NotFound)?, key: file.key.clone() })
    }

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

/// Opens a file that takes a text of its own, which is not what it shows.
pub fn open_stream<T>(at: &Special, caller: Caller, flags: OpenFlags, target: T) -> Handle
where
    T: Execute<dyn Host> + std::fmt::Debug + Sync,
    T::Request: Send,
{
    open_writer(at, caller, TextWriter::stream(target, Opener { pid: caller.pid, append: flags.append }))
}

/// Opens a file that holds a text.
pub fn open_writer<T>(at: &Special, caller: Caller, writer: TextWriter<T>) -> Handle
where
    T: Execute<dyn Host> + std::fmt::Debug + Sync,
    T::Request: Send,
{
    Handle::Special(Arc::new(OpenText::new(at.ino(), at.path.clone(), caller.pid, writer)))
}
