//! Beside an item, for lookup only: ways to change a part of it, and what is known of it (docs/filesystem.md 4).
//!
//! ```text
//! patch.rs       X.patch           a merge patch
//! update.rs      X.update          an UpdateItem
//! cas.rs         X.<etag>.casjson  the item, put if it is of that version
//! attributes.rs  X.d/              its attributes as files; attribute_value.rs is what such a file says and takes
//! meta.rs        X.meta            key, etag, size, capacity, indexes, expiry; facts.rs finds them out
//! ```
//! Patch and update make an item that is not there, as UpdateItem does; the others need it.

mod attribute_value;
mod attributes;
mod cas;
pub mod facts;
mod meta;
mod patch;
mod update;

use std::sync::Arc;

use crate::database::{EntryKey, EntryStat, Source, TextForm};
use crate::fs::FsError;
use crate::fs::handle::{Handle, OpenText};
use crate::fs::node::{EntryNode, Node};
use crate::fs::tree::names::{self, Suffix};
use crate::fs::tree::{Caller, Tree, items};
use crate::fs::view::{OpenFlags, Performer};
use crate::fs::write::{Opener, TextWriter};
use crate::model::{Item, Key, TableName};

/// The file or directory of that suffix beside an item.
///
/// # Errors
/// [`FsError::NotFound`]: there is none beside an index entry, or the suffix is an item's own.
pub fn node(source: &Source, key: EntryKey, suffix: Suffix) -> Result<Node, FsError> {
    if source.index.is_some() {
        return Err(FsError::NotFound);
    }
    let place = Place { source: source.clone(), key };
    match suffix {
        Suffix::Patch => Ok(patch::node(place)),
        Suffix::Update => Ok(update::node(place)),
        Suffix::Meta => Ok(meta::node(place)),
        Suffix::Attributes => Ok(attributes::node(place)),
        Suffix::Replacing(version) => Ok(cas::node(place, version)),
        Suffix::Json | Suffix::DdbJson | Suffix::Base => Err(FsError::NotFound),
    }
}

/// A base item, stored or not.
#[derive(Debug, Clone)]
pub struct Place {
    source: Source,
    key: EntryKey,
}

impl Place {
    fn table(&self) -> &TableName {
        &self.source.table
    }

    fn key(&self) -> &Key {
        &self.key.base
    }

    /// The path below the mount of the file with this suffix.
    fn path(&self, suffix: &str) -> String {
        let path = names::entry_path(&self.key, TextForm::PlainJson);
        let stem = path.strip_suffix(".json").unwrap_or(&path);
        format!("{}/items/{stem}{suffix}", self.table())
    }

    /// The directory it is in.
    fn parent(&self) -> Node {
        match &self.key().sort {
            Some(_) => Node::Collection(self.source.clone(), vec![self.key().partition.clone()]),
            None => Node::Items(self.source.clone()),
        }
    }

    fn entry(&self, form: TextForm) -> EntryNode {
        EntryNode { source: self.source.clone(), key: self.key.clone(), form }
    }

    fn stat(&self, tree: &Tree) -> Result<EntryStat, FsError> {
        items::stat(tree, &self.source, &self.key)
    }

    /// The item and the stat of its version.
    ///
    /// # Errors
    /// `NotFound`, or the database's.
    fn load(&self, tree: &Tree) -> Result<(Item, EntryStat), FsError> {
        items::load(tree, &self.source, &self.key)
    }
}

/// Opens a file that takes a text of its own, which is not what it shows.
fn open_stream<T>(path: &str, caller: Caller, ino: u64, flags: OpenFlags, target: T) -> Handle
where
    T: Performer + std::fmt::Debug + Sync,
    T::Request: Send,
{
    let opener = Opener { pid: caller.pid, append: flags.append };
    let writer = TextWriter::stream(target, opener);
    Handle::Special(Arc::new(OpenText::new(ino, path.to_owned(), caller.pid, writer)))
}
