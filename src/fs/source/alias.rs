//! Names that were shortened to a prefix and a digest, of which nothing is stored: an item that can
//! only be created, and the folder of a collection, which gets its key from its first item.

use super::{collection::MKDIR_REFUSED, entry, items};
use crate::fs::{
    node::{AliasFolder, AliasNode},
    open::prelude::*,
};

impl NodeOps<Node> for AliasNode {
    /// Returns the attributes of the item, once it is stored. They are the item's, but the file
    /// keeps its inode number while it is open.
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        match items::resolve_path(&at, &SourceName::from(&self.table), &self.path)? {
            Node::Entry(found) => entry::attr(&at, &found),
            _ => Err(FsError::NotFound),
        }
    }

    fn text(&self, _at: At<'_, Node>) -> Result<Vec<u8>> {
        Err(FsError::NotFound)
    }

    fn open_writer(&self, at: HostAt<'_, Node>, flags: OpenFlags) -> Result<Handle> {
        entry::create(&at, at.node, flags)
    }
}

impl NodeOps<Node> for AliasFolder {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        let stored = || match items::resolved_folder(&at, self)? {
            Some(Node::Collection(source, partition)) => {
                items::collection_attr(&at, &source, &partition).map(Some)
            }
            _ => Ok(None),
        };
        let kept_ms = || at.folders.lock().alias_since(&self.table, &self.digest);
        items::folder_attr(&at, &self.table, stored, kept_ms)?.ok_or(FsError::NotFound)
    }

    fn successor(&self, at: At<'_, Node>) -> Result<Option<Node>> {
        items::resolved_folder(&at, self)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        items::resolve_in_alias(&at, self, name)
    }

    fn list(&self, _at: At<'_, Node>) -> Result<Vec<OwnedDirent>> {
        Ok(Vec::new())
    }

    fn mkdir(&self, _at: HostAt<'_, Node>, _name: &str) -> Result<Node> {
        Err(MKDIR_REFUSED)
    }

    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        let mount = &at.mount;
        let removed = mount.folders.lock().remove_alias(&self.table, &self.digest);
        mount.scratch.lock().remove_directory(at.node);
        removed.map(drop).ok_or(FsError::NotFound)
    }
}
