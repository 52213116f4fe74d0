//! `items/K(pk)/`: the directory of an item collection, of a composite table or an index.
//! `items.rs` has its names and its listing.

use super::{items, scratch};
use crate::fs::{
    open::{directory::Lister, prelude::*},
    write::KeyPart,
};
use crate::model::api::table_control::TrashChange;

/// The error of a directory that is made in a collection.
pub const MKDIR_REFUSED: FsError =
    FsError::NotPermitted("an item collection holds items, not folders");

#[derive(Debug)]
pub struct Collection<'n>(pub &'n SourceName, pub &'n PartitionKey);

impl NodeOps<Node> for Collection<'_> {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        items::collection_attr(&at, self.0, self.1)
    }

    fn resolve(&self, at: At<'_, Node>, name: &str) -> Result<Node> {
        items::resolve_entry(&at, self.0, self.1, name)
    }

    fn lister(&self, at: At<'_, Node>) -> Result<Box<dyn Lister>> {
        Ok(Box::new(items::collection_lister(&at, self.0, self.1)?))
    }

    fn mkdir(&self, _at: HostAt<'_, Node>, _name: &str) -> Result<Node> {
        Err(match self.0.index {
            Some(_) => FsError::Derived,
            None => MKDIR_REFUSED,
        })
    }

    /// Removes the collection with its scratch files and the files that are being created there and
    /// have no text. Texts in the trash are only in `.ddb/scratch/` from now on.
    fn rmdir(&self, at: HostAt<'_, Node>) -> Result<()> {
        let (mount, &Self(source, partition)) = (&at.mount, self);
        if source.index.is_some() {
            return Err(FsError::Derived);
        }
        let value = partition.first().ok_or(FsError::NotFound)?;
        // An item that was renamed away is not seen, and would be in the way.
        at.deletes.delete_now(mount, |(table, key)| {
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
        mount.scratch.lock().remove_directory(at.node);
        let partition = KeyPart::Value(value.clone());
        at.creations.remove_folder(|target| {
            target.table == source.table && target.key.partition == partition
        });
        if was_kept || had_trashed {
            Ok(())
        } else {
            Err(FsError::NotFound)
        }
    }
}
