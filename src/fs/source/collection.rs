//! `items/K(pk)/`: the directory of an item collection, of a composite table or an index.
//! `items.rs` has its names and its listing.

use super::{items, scratch};
use crate::fs::{
    open::{directory::Lister, prelude::*},
    write::KeyPart,
};
use crate::model::api::table_control::TrashChange;

/// The error of a file that is created under the name of a collection.
pub const CREATE_REFUSED: FsError = FsError::NotPermitted(
    "items of this table are in folders, items/<partition key>/<sort key>.json",
);
/// The error of a directory that is made in a collection.
pub const MKDIR_REFUSED: FsError =
    FsError::NotPermitted("an item collection holds items, not folders");

#[derive(Debug)]
pub struct Collection<'n>(pub &'n SourceName, pub &'n PartitionKey);

impl Collection<'_> {
    /// Returns the error of a change that is refused; entries of an index are derived.
    fn refusal(&self, of_table: FsError) -> FsError {
        if self.0.index.is_some() {
            FsError::Derived
        } else {
            of_table
        }
    }
}

impl NodeOps<Node> for Collection<'_> {
    fn attr(&self, _at: &Node, mount: &Mount) -> Result<Attr> {
        items::collection_attr(mount, self.0, self.1)
    }

    fn resolve(&self, _at: &Node, mount: &Mount, name: &str) -> Result<Node> {
        items::resolve_entry(mount, self.0, self.1, name)
    }

    fn lister(&self, _at: &Node, mount: &Mount) -> Result<Box<dyn Lister>> {
        Ok(Box::new(items::collection_lister(mount, self.0, self.1)?))
    }

    fn check_create(&self, _at: &Node) -> Result<()> {
        Err(self.refusal(CREATE_REFUSED))
    }

    fn check_scratch(&self, node: &Node, _mount: &Mount, name: &str) -> Result<()> {
        scratch::check(node, name)
    }

    fn mkdir(&self, _at: &Node, _host: &Host, _name: &str) -> Result<Node> {
        Err(self.refusal(MKDIR_REFUSED))
    }

    /// Removes the collection with its scratch files and the files that are being created there and
    /// have no text. Texts in the trash are only in `.ddb/scratch/` from now on.
    fn rmdir(&self, node: &Node, host: &Host) -> Result<()> {
        let (mount, &Self(source, partition)) = (&host.mount, self);
        if source.index.is_some() {
            return Err(FsError::Derived);
        }
        let value = partition.first().ok_or(FsError::NotFound)?;
        // An item that was renamed away is not seen, and would be in the way.
        host.deletes.delete_now(mount, |(table, key)| {
            *table == source.table && key.partition == *value
        });
        // Deletes that have not ended yet.
        mount.db.flush_writes()?;
        if mount.db.collection(source, partition)?.is_some() {
            return Err(FsError::NotEmpty);
        }
        let was_kept = mount.folders.lock().remove(&source.table, value);
        let had_trashed = scratch::last_trashed_ms(mount, source, partition)?.is_some()
            && mount.db.change_trash(TrashChange::Detach {
                table: source.table.clone(),
                folder: Some(value.clone()),
            })?;
        mount.scratch.lock().remove_directory(node);
        let partition = KeyPart::Value(value.clone());
        host.creations.remove_folder(|target| {
            target.table == source.table && target.key.partition == partition
        });
        if was_kept || had_trashed {
            Ok(())
        } else {
            Err(FsError::NotFound)
        }
    }
}
