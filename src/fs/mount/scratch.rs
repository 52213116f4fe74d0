//! The places of scratch files, which are removed with their tables: in memory, in the trash, and
//! as names in `.ddb/scratch/`. `write/scratch.rs` holds the bytes; `source/scratch.rs` and
//! `special/scratch.rs` show the files.

use super::Mount;
use crate::codec::{calendar::iso, digest::hex, file_name::NAME_BYTES_MAX};
use crate::fs::{node::Node, path::names, prelude::*, write::scratch::FileId};
use crate::model::api::table_control::TrashKey;

/// The directory that lists all scratch files.
const SCRATCH_PATH: &str = ".ddb/scratch";
/// The text after the table in the listed name of a file below `items/`.
pub const ITEMS_PREFIX: &str = "items,";

impl Mount {
    /// Finds the file in memory of this name.
    pub(in crate::fs) fn find_scratch(&self, directory: &Node, name: &str) -> Option<FileId> {
        // A table dropped over HTTP sends no event: that is detected when its files are next looked
        // for.
        self.drop_stale_scratch(directory.table()?);
        self.scratch.lock().find(directory, name)
    }

    /// Returns the directory of a file that has one, and its name there.
    pub(in crate::fs) fn scratch_location(&self, id: FileId) -> Option<(Node, String)> {
        self.scratch
            .lock()
            .location(id)
            .map(|(directory, name)| (directory.clone(), name.to_owned()))
    }

    /// Creates a file in memory.
    ///
    /// # Errors
    /// [`FsError::Exists`]; [`FsError::ScratchFull`]; [`FsError::NotFound`] when the directory's
    /// table is gone.
    pub(in crate::fs) fn create_scratch(
        &self,
        directory: &Node,
        name: &str,
        mode: u32,
        now_ms: u64,
    ) -> Result<FileId, FsError> {
        self.record_created(directory)?;
        self.scratch
            .lock()
            .create(directory.clone(), name, mode, now_ms)
    }

    /// Creates a file in memory with this content, over the one of that name if there is one.
    ///
    /// # Errors
    /// [`FsError::ScratchFull`]; [`FsError::TooLarge`]; [`FsError::NotFound`] when the directory's
    /// table is gone.
    pub(in crate::fs) fn fill_scratch(
        &self,
        directory: &Node,
        name: &str,
        text: &[u8],
        now_ms: u64,
    ) -> Result<FileId, FsError> {
        self.record_created(directory)?;
        self.scratch
            .lock()
            .create_with(directory.clone(), name, text, now_ms)
    }

    /// Records the creation time of a directory's table: another table of that name does not have
    /// its files.
    ///
    /// # Errors
    /// [`FsError::NotFound`] when the directory's table is gone.
    pub(in crate::fs) fn record_created(&self, directory: &Node) -> Result<(), FsError> {
        let table = directory.table().ok_or(FsError::NotFound)?;
        self.drop_stale_scratch(table);
        if self.is_draft(table)? {
            // The table that the draft becomes keeps them.
            return Ok(());
        }
        let born_ms = self.table_created_ms(table)?;
        self.scratch_created_ms
            .lock()
            .insert(table.clone(), born_ms);
        Ok(())
    }

    /// Removes the files of a table that is gone, or was replaced by another of its name.
    pub(in crate::fs) fn drop_stale_scratch(&self, table: &TableName) {
        let Some(born_ms) = self.scratch_created_ms.lock().get(table).copied() else {
            return;
        };
        match self.table_created_ms(table) {
            Ok(now_ms) if now_ms != born_ms => self.drop_scratch(table),
            Err(FsError::NotFound) => self.drop_scratch(table),
            Ok(_) | Err(_) => {}
        }
    }

    /// Removes the files of a dropped table.
    pub(in crate::fs) fn drop_scratch(&self, table: &TableName) {
        self.scratch_created_ms.lock().remove(table);
        let mut scratch = self.scratch.lock();
        for directory in scratch.directories() {
            if directory.table() == Some(table) {
                scratch.remove_directory(&directory);
            }
        }
    }
}

/// Returns the place in the trash of a file of this name in that directory. `None` where there is
/// none: beside a definition, and in a folder with an unknown partition key.
pub fn trash_place(directory: &Node, name: &str) -> Option<TrashKey> {
    let (table, folder) = match directory {
        Node::Items(SourceName { table, index: None }) => (table, None),
        Node::Collection(SourceName { table, index: None }, partition) => {
            (table, Some(partition.first()?.clone()))
        }
        _ => return None,
    };
    Some(TrashKey {
        table: table.clone(),
        folder,
        name: name.to_owned(),
    })
}

/// Returns the directory of a file in the trash.
pub fn directory_of(key: &TrashKey) -> Node {
    match &key.folder {
        Some(value) => Node::Collection(SourceName::from(&key.table), vec![value.clone()]),
        None => Node::Items(SourceName::from(&key.table)),
    }
}

/// Returns the path of an item below the mount.
pub fn item_path(table: &TableName, key: &Key) -> String {
    format!("{table}/{}", names::item_path(key))
}

/// Returns the name of an item collection's folder; `None` for another directory.
pub fn folder_name(directory: &Node) -> Option<String> {
    match directory {
        Node::Collection(_, partition) => Some(names::collection_name(partition)),
        Node::AliasFolder(folder) => Some(folder.name.clone()),
        _ => None,
    }
}

/// Returns the name in `.ddb/scratch/` of a file in that directory.
pub fn listed_name(directory: &Node, name: &str) -> String {
    debug_assert!(directory.table().is_some(), "{directory:?} has no table");
    let table = directory
        .table()
        .map(ToString::to_string)
        .unwrap_or_default();
    let whole = match (directory, folder_name(directory)) {
        (Node::Table(_), _) => format!("{table},{name}"),
        (_, None) => format!("{table},{ITEMS_PREFIX}{name}"),
        (_, Some(folder)) => format!("{table},{ITEMS_PREFIX}{folder},{name}"),
    };
    if whole.len() <= NAME_BYTES_MAX {
        whole
    } else {
        shorten(&whole)
    }
}

fn shorten(whole: &str) -> String {
    let end = hex(&digest(whole.as_bytes()));
    let mut cut = NAME_BYTES_MAX - 1 - end.len();
    while !whole.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}~{end}", &whole[..cut])
}

/// Returns the warning in `.ddb/warnings.ndjson` about the move of an item to a name that is no
/// item's.
#[must_use]
pub fn move_warning(directory: &Node, name: &str, until_ms: u64) -> String {
    format!(
        "was moved to {name}, which is no item's name, so that there is no such item any more; its text is {SCRATCH_PATH}/{} until {}: \
         mv it back to restore the item, rm it to let it go",
        listed_name(directory, name),
        iso(until_ms)
    )
}
