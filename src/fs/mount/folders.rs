//! Folders that mkdir made and the store does not know: collection folders that exist without
//! items, or were emptied by unlink and not yet removed, and indexes that UpdateTable has not
//! created. In memory only. Drafts of whole tables are in `write/draft.rs`.

use std::collections::BTreeMap;

use crate::codec::{digest::Digest, file_name::STEM_BYTES_MAX, key::partition_digest};
use crate::fs::prelude::*;
use crate::model::IndexName;

/// The maximum number of folders made by mkdir and not removed, over all tables.
pub const FOLDERS_MAX: usize = 100_000;
/// The maximum number of folders kept after an unlink in them; the kernel's FORGET frees them.
const EMPTIED_MAX: usize = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EmptyFolder {
    /// True if mkdir made it: it stays until rmdir. Else it stays until the kernel forgets it.
    by_mkdir: bool,
    since_ms: u64,
}

/// The collection folders.
#[derive(Debug, Default)]
pub struct EmptyFolders {
    tables: HashMap<TableName, HashMap<AttributeValue, EmptyFolder>>,
    /// Folders made by a shortened name: the digest of an unknown partition key, the name,
    /// milliseconds since the epoch.
    aliases: HashMap<TableName, HashMap<Digest, (String, u64)>>,
    /// The number of folders made by mkdir, and of those kept after an unlink.
    made_count: usize,
    emptied_count: usize,
}

impl EmptyFolders {
    /// Adds a folder, for mkdir; returns false when there are too many.
    pub fn add(&mut self, table: &TableName, partition: AttributeValue, now_ms: u64) -> bool {
        if self.made_count >= FOLDERS_MAX {
            return false;
        }
        self.remove(table, &partition);
        self.made_count += 1;
        self.tables.entry(table.clone()).or_default().insert(
            partition,
            EmptyFolder {
                by_mkdir: true,
                since_ms: now_ms,
            },
        );
        true
    }

    /// Adds a folder by a shortened name, for mkdir; returns false when there are too many.
    pub fn add_alias(
        &mut self,
        table: &TableName,
        digest: Digest,
        name: &str,
        now_ms: u64,
    ) -> bool {
        if self.made_count >= FOLDERS_MAX {
            return false;
        }
        let aliases = self.aliases.entry(table.clone()).or_default();
        if aliases.insert(digest, (name.to_owned(), now_ms)).is_none() {
            self.made_count += 1;
        }
        true
    }

    /// Removes a folder by a shortened name, for rmdir or at its first item; returns the name, if
    /// it was there.
    pub fn remove_alias(&mut self, table: &TableName, digest: &Digest) -> Option<String> {
        let aliases = self.aliases.get_mut(table)?;
        let removed = aliases.remove(digest);
        if aliases.is_empty() {
            self.aliases.remove(table);
        }
        let (name, _) = removed?;
        self.made_count -= 1;
        Some(name)
    }

    /// True if there are folders made by a shortened name.
    #[must_use]
    pub fn has_aliases(&self, table: &TableName) -> bool {
        self.aliases.contains_key(table)
    }

    /// Returns the creation time of a folder by a shortened name, milliseconds since the epoch.
    #[must_use]
    pub fn alias_since(&self, table: &TableName, digest: &Digest) -> Option<u64> {
        self.aliases
            .get(table)?
            .get(digest)
            .map(|(_, since_ms)| *since_ms)
    }

    /// Returns the folders of a table that were made by a shortened name, unordered.
    #[must_use]
    pub fn aliases_of(&self, table: &TableName) -> Vec<(Digest, String)> {
        let aliases = self.aliases.get(table).into_iter().flatten();
        aliases
            .map(|(digest, (name, _))| (*digest, name.clone()))
            .collect()
    }

    /// Keeps a folder after an unlink in it, although it may now be empty.
    pub fn keep_emptied(&mut self, table: &TableName, partition: &AttributeValue, now_ms: u64) {
        if self.emptied_count >= EMPTIED_MAX || self.since(table, partition).is_some() {
            return;
        }
        self.emptied_count += 1;
        self.tables.entry(table.clone()).or_default().insert(
            partition.clone(),
            EmptyFolder {
                by_mkdir: false,
                since_ms: now_ms,
            },
        );
    }

    /// Removes a folder, for rmdir or at its first item; returns true if it was there.
    pub fn remove(&mut self, table: &TableName, partition: &AttributeValue) -> bool {
        let Some(folders) = self.tables.get_mut(table) else {
            return false;
        };
        let removed = folders.remove(partition);
        if folders.is_empty() {
            self.tables.remove(table);
        }
        match removed {
            Some(EmptyFolder { by_mkdir: true, .. }) => self.made_count -= 1,
            Some(EmptyFolder {
                by_mkdir: false, ..
            }) => self.emptied_count -= 1,
            None => return false,
        }
        true
    }

    /// Removes an emptied folder that the kernel forgot.
    pub fn forget(&mut self, table: &TableName, partition: &AttributeValue) {
        let emptied = self
            .tables
            .get(table)
            .and_then(|folders| folders.get(partition))
            .is_some_and(|folder| !folder.by_mkdir);
        if emptied {
            self.remove(table, partition);
        }
    }

    /// Removes the folders of a dropped table.
    pub fn drop_table(&mut self, table: &TableName) {
        self.made_count -= self
            .aliases
            .remove(table)
            .map_or(0, |aliases| aliases.len());
        for folder in self.tables.remove(table).unwrap_or_default().into_values() {
            if folder.by_mkdir {
                self.made_count -= 1;
            } else {
                self.emptied_count -= 1;
            }
        }
    }

    /// Returns the partition key of a folder that is looked up by a shortened name.
    #[must_use]
    pub fn find_by_digest(&self, table: &TableName, digest: &Digest) -> Option<AttributeValue> {
        let values = self.tables.get(table)?.keys();
        values
            .filter(|value| may_be_shortened(value))
            .find(|value| partition_digest(&[*value]) == *digest)
            .cloned()
    }

    /// Returns the time since when the folder is kept here, milliseconds since the epoch.
    #[must_use]
    pub fn since(&self, table: &TableName, partition: &AttributeValue) -> Option<u64> {
        self.tables
            .get(table)?
            .get(partition)
            .map(|folder| folder.since_ms)
    }

    /// Returns the folders of a table, unordered.
    #[must_use]
    pub fn of(&self, table: &TableName) -> Vec<AttributeValue> {
        self.tables
            .get(table)
            .map(|folders| folders.keys().cloned().collect())
            .unwrap_or_default()
    }
}

/// True if the value's name may be longer than a stem: a byte becomes three characters at most.
/// Spares the digests of short values.
fn may_be_shortened(value: &AttributeValue) -> bool {
    let bytes = match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::B(bytes) => bytes.len(),
        _ => 0,
    };
    bytes * 3 > STEM_BYTES_MAX
}

/// The maximum number of drafts.
const DRAFTS_MAX: usize = 256;

/// Indexes that mkdir made in `gsi/` and `vector/`, with their kinds and creation times, milliseconds
/// since the epoch.
#[derive(Debug, Default)]
pub struct IndexDrafts(Mutex<BTreeMap<(TableName, IndexName), (IndexKind, u64)>>);

impl IndexDrafts {
    /// Adds a draft, for mkdir.
    ///
    /// # Errors
    /// [`FsError::NotPermitted`] when there are too many drafts of indexes.
    pub fn add(
        &self,
        table: &TableName,
        kind: IndexKind,
        index: &IndexName,
    ) -> Result<(), FsError> {
        let mut drafts = self.0.lock();
        if drafts.len() >= DRAFTS_MAX {
            return Err(FsError::NotPermitted(
                "too many draft indexes; write their schema.json or remove some",
            ));
        }
        drafts.insert((table.clone(), index.clone()), (kind, now_ms()));
        Ok(())
    }

    /// Removes a draft, for rmdir or when the index is created; returns true if it was there.
    pub fn remove(&self, table: &TableName, index: &IndexName) -> bool {
        self.0
            .lock()
            .remove(&(table.clone(), index.clone()))
            .is_some()
    }

    /// Returns the kind of a draft and its creation time, milliseconds since the epoch.
    #[must_use]
    pub fn get(&self, table: &TableName, index: &IndexName) -> Option<(IndexKind, u64)> {
        self.0.lock().get(&(table.clone(), index.clone())).copied()
    }

    /// Returns the drafts of a table of one kind.
    #[must_use]
    pub fn of(&self, table: &TableName, kind: IndexKind) -> Vec<IndexName> {
        self.0
            .lock()
            .iter()
            .filter(|((of, _), (of_kind, _))| of == table && *of_kind == kind)
            .map(|((_, index), _)| index.clone())
            .collect()
    }

    /// Removes the drafts of a dropped table.
    pub fn drop_table(&self, table: &TableName) {
        self.0.lock().retain(|(of, _), _| of != table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> (TableName, AttributeValue) {
        (
            TableName::new("Orders").unwrap(),
            AttributeValue::S("u9".to_owned()),
        )
    }

    #[test]
    fn a_made_folder_outlives_forget_and_an_emptied_one_does_not() {
        let (table, u9) = names();
        let mut folders = EmptyFolders::default();
        assert!(folders.add(&table, u9.clone(), 5));
        folders.keep_emptied(&table, &u9, 6);
        folders.forget(&table, &u9);
        assert_eq!(folders.since(&table, &u9), Some(5));
        assert!(folders.remove(&table, &u9));
        folders.keep_emptied(&table, &u9, 7);
        assert_eq!(folders.since(&table, &u9), Some(7));
        folders.forget(&table, &u9);
        assert_eq!(folders.since(&table, &u9), None);
        assert_eq!((folders.made_count, folders.emptied_count), (0, 0));
    }

    #[test]
    fn a_folder_by_a_shortened_name_is_made_and_removed() {
        let (table, _) = names();
        let mut folders = EmptyFolders::default();
        assert!(folders.add_alias(&table, [7; 16], "k%~x", 5));
        assert!(folders.add_alias(&table, [7; 16], "k%~x", 6));
        assert_eq!(folders.alias_since(&table, &[7; 16]), Some(6));
        assert_eq!(folders.aliases_of(&table), [([7; 16], "k%~x".to_owned())]);
        assert_eq!(
            folders.remove_alias(&table, &[7; 16]),
            Some("k%~x".to_owned())
        );
        assert_eq!(folders.remove_alias(&table, &[7; 16]), None);
        folders.add_alias(&table, [8; 16], "l%~x", 7);
        folders.drop_table(&table);
        assert_eq!(
            (folders.made_count, folders.alias_since(&table, &[8; 16])),
            (0, None)
        );
    }

    #[test]
    fn dropping_a_table_takes_its_folders() {
        let (table, u9) = names();
        let mut folders = EmptyFolders::default();
        folders.add(&table, u9.clone(), 1);
        folders.drop_table(&table);
        assert!(folders.of(&table).is_empty());
        assert_eq!((folders.made_count, folders.emptied_count), (0, 0));
    }
}
