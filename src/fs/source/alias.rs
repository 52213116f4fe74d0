//! Names that were shortened to a prefix and a digest, of which nothing is stored: an item that can
//! only be created, and the folder of a collection, which gets its key from its first item.

use super::{
    collection::{CREATE_REFUSED, MKDIR_REFUSED},
    entry, items, scratch,
};
use crate::fs::{
    node::{AliasFolder, AliasNode},
    open::prelude::*,
};

impl NodeOps<Node> for AliasNode {
    /// Returns the attributes of the item, once it is stored. They are the item's, but the file
    /// keeps its inode number while it is open.
    fn attr(&self, _at: &Node, mount: &Mount) -> Result<Attr> {
        match items::resolve_path(mount, &base_source(&self.table), &self.path)? {
            Node::Entry(found) => entry::attr(mount, &found),
            _ => Err(FsError::NotFound),
        }
    }

    fn text(&self, _at: &Node, _mount: &Mount) -> Result<Vec<u8>> {
        Err(FsError::NotFound)
    }

    fn open_writer(&self, node: &Node, host: &Host, flags: OpenFlags) -> Result<Handle> {
        entry::create(host, node, flags)
    }
}

impl NodeOps<Node> for AliasFolder {
    fn attr(&self, _at: &Node, mount: &Mount) -> Result<Attr> {
        if let Some(Node::Collection(source, partition)) = items::resolved_folder(mount, self)? {
            return items::collection_attr(mount, &source, &partition);
        }
        mount.schema(&self.table)?;
        let since_ms = mount.folders.lock().alias_since(&self.table, &self.digest);
        since_ms.map(Attr::directory).ok_or(FsError::NotFound)
    }

    fn successor(&self, _at: &Node, mount: &Mount) -> Result<Option<Node>> {
        items::resolved_folder(mount, self)
    }

    fn resolve(&self, _at: &Node, mount: &Mount, name: &str) -> Result<Node> {
        items::resolve_in_alias(mount, self, name)
    }

    fn list(&self, _at: &Node, _mount: &Mount) -> Result<Vec<OwnedDirent>> {
        Ok(Vec::new())
    }

    fn check_create(&self, _at: &Node) -> Result<()> {
        Err(CREATE_REFUSED)
    }

    fn check_scratch(&self, node: &Node, _mount: &Mount, name: &str) -> Result<()> {
        scratch::check(node, name)
    }

    fn mkdir(&self, _at: &Node, _host: &Host, _name: &str) -> Result<Node> {
        Err(MKDIR_REFUSED)
    }

    fn rmdir(&self, node: &Node, host: &Host) -> Result<()> {
        let mount = &host.mount;
        let removed = mount.folders.lock().remove_alias(&self.table, &self.digest);
        mount.scratch.lock().remove_directory(node);
        removed.map(drop).ok_or(FsError::NotFound)
    }
}
