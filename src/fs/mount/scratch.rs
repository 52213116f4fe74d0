//! Scratch files in memory go with their tables.

use super::Mount;
use crate::fs::node::Node;
use crate::fs::prelude::*;
use crate::fs::write::scratch::FileId;

impl Mount {
    /// The file in memory of this name.
    pub(in crate::fs) fn find_scratch(&self, directory: &Node, name: &str) -> Option<FileId> {
        // A table dropped over HTTP tells us nothing: it is found out when its files are next looked for.
        self.drop_scratch_of_gone(directory.table()?);
        self.scratch.lock().find(directory, name)
    }

    /// A new file in memory.
    ///
    /// # Errors
    /// `Exists`, `ScratchFull`, or the directory's table is gone.
    pub(in crate::fs) fn create_scratch(&self, directory: &Node, name: &str, mode: u32, now_ms: u64) -> Result<FileId, FsError> {
        self.remember_birth(directory)?;
        self.scratch.lock().create(directory.clone(), name, mode, now_ms)
    }

    /// A new file in memory with this content, over the one of that name if there is one.
    ///
    /// # Errors
    /// `ScratchFull`, `TooLarge`, or the directory's table is gone.
    pub(in crate::fs) fn fill_scratch(&self, directory: &Node, name: &str, text: &[u8], now_ms: u64) -> Result<FileId, FsError> {
        self.remember_birth(directory)?;
        self.scratch.lock().create_with(directory.clone(), name, text, now_ms)
    }

    /// Notes when the table of a directory was made: another of that name has not its files.
    ///
    /// # Errors
    /// The table is gone.
    pub(in crate::fs) fn remember_birth(&self, directory: &Node) -> Result<(), FsError> {
        let table = directory.table().ok_or(FsError::NotFound)?;
        self.drop_scratch_of_gone(table);
        if self.is_draft(table)? {
            // What it becomes keeps them.
            return Ok(());
        }
        let born_ms = self.table_time(table)?;
        self.scratch_births.lock().insert(table.clone(), born_ms);
        Ok(())
    }

    /// The files of a table go when it is gone, or another of its name is there.
    pub(in crate::fs) fn drop_scratch_of_gone(&self, table: &TableName) {
        let Some(born_ms) = self.scratch_births.lock().get(table).copied() else { return };
        match self.table_time(table) {
            Ok(now_ms) if now_ms != born_ms => self.drop_scratch_of(table),
            Err(FsError::NotFound) => self.drop_scratch_of(table),
            Ok(_) | Err(_) => {}
        }
    }

    /// A table is gone, and its files with it.
    pub(in crate::fs) fn drop_scratch_of(&self, table: &TableName) {
        self.scratch_births.lock().remove(table);
        let mut scratch = self.scratch.lock();
        for directory in scratch.directories() {
            if directory.table() == Some(table) {
                scratch.remove_directory(&directory);
            }
        }
    }
}
