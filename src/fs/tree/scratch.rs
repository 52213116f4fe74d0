//! Scratch files in the tree: those in memory, and parked ones, which the store keeps. A name of the first hides one of the second.
//!
//! A directory of scratch files is that of a table, `items/`, or the folder of an item collection. Its files go with it.

use std::sync::Arc;

use super::{Tree, names};
use crate::database::{EntryKey, PartitionKey, Source, TextForm};
use crate::fs::FsError;
use crate::fs::attr::Attr;
use crate::fs::node::{Node, base};
use crate::fs::special::parked;
use crate::fs::write::scratch::{FileId, Placed};
use crate::fs::write::{is_refused_probe, is_scratch_name};
use crate::model::TableName;
use crate::model::api::parked::{ParkedPlace, ParkedStat};

/// A name that is no item: a file in memory or parked, if it was made. What programs probe for everywhere is refused here and not
/// earlier: `CVS` and `4913` are keys too, and tables.
pub fn resolve(tree: &Tree, source: &Source, partition: Option<&PartitionKey>, name: &str) -> Result<Node, FsError> {
    resolve_in(tree, &directory(source, partition).ok_or(FsError::NotFound)?, name)
}

/// A scratch file in this directory, if it was made.
pub fn resolve_in(tree: &Tree, directory: &Node, name: &str) -> Result<Node, FsError> {
    if !is_scratch_name(name) || is_refused_probe(name) {
        return Err(FsError::NotFound);
    }
    if let Some(id) = tree.find_scratch(directory, name) {
        return Ok(Node::Scratch(id));
    }
    let place = place_in(directory, name).ok_or(FsError::NotFound)?;
    match tree.db.parked_at(&place)? {
        Some((stat, _)) if stat.is_placed => Ok(parked::node(place)),
        _ => Err(FsError::NotFound),
    }
}

/// The directory that a scratch file is in. `None` where there are none: below an index.
fn directory(source: &Source, partition: Option<&PartitionKey>) -> Option<Node> {
    if source.index.is_some() {
        return None;
    }
    Some(match partition {
        Some(partition) => Node::Collection(source.clone(), partition.clone()),
        None => Node::Items(source.clone()),
    })
}

/// Where a file of this name in that directory is parked. `None` where none is: beside a definition, and in a folder whose partition
/// key is not known yet.
pub fn place_in(directory: &Node, name: &str) -> Option<ParkedPlace> {
    let (table, folder) = match directory {
        Node::Items(Source { table, index: None }) => (table, None),
        Node::Collection(Source { table, index: None }, partition) => (table, Some(partition.first()?.clone())),
        _ => return None,
    };
    Some(ParkedPlace { table: table.clone(), folder, name: name.to_owned() })
}

/// The directory of a parked file.
pub fn directory_of(place: &ParkedPlace) -> Node {
    match &place.folder {
        Some(value) => Node::Collection(base(&place.table), vec![value.clone()]),
        None => Node::Items(base(&place.table)),
    }
}

pub fn attr(tree: &Tree, id: FileId, ino: u64) -> Result<Attr, FsError> {
    let attributes = tree.scratch.lock().attributes(id)?;
    let links = u32::from(attributes.linked);
    Ok(Attr { links, ..Attr::file(ino, attributes.size, attributes.modified_ms) })
}

/// When the last file was parked in a folder, if there is one: such a folder exists without items.
pub fn parked_in_ms(tree: &Tree, source: &Source, partition: &PartitionKey) -> Result<Option<u64>, FsError> {
    let mut newest = None;
    tree.db.parked(&source.table, Some(partition.first()), &mut |stat| {
        newest = newest.max(stat.is_placed.then_some(stat.parked_ms));
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(newest)
}

/// A listed file.
#[derive(Debug)]
pub struct Listing {
    pub directory: Node,
    pub name: String,
    pub node: Node,
    pub bytes: u64,
    pub modified_ms: u64,
    /// Until when it is kept whatever happens, milliseconds since the epoch; `None` of one that is in memory only.
    pub until_ms: Option<u64>,
}

impl Listing {
    fn of_parked(stat: &ParkedStat) -> Self {
        Self {
            directory: directory_of(&stat.place),
            name: stat.place.name.clone(),
            node: parked::node(stat.place.clone()),
            bytes: stat.bytes,
            modified_ms: stat.parked_ms,
            until_ms: Some(stat.until_ms()),
        }
    }

    fn of_memory(tree: &Tree, placed: &Placed<Node>) -> Option<Self> {
        let attributes = tree.scratch.lock().attributes(placed.id).ok()?;
        Some(Self {
            directory: (*placed.directory).clone(),
            name: placed.name.to_string(),
            node: Node::Scratch(placed.id),
            bytes: attributes.size,
            modified_ms: attributes.modified_ms,
            until_ms: None,
        })
    }
}

/// Every scratch file, parked ones of all processes among them, by table.
pub fn list(tree: &Tree) -> Result<Vec<Listing>, FsError> {
    let in_memory = tree.scratch.lock().all();
    let mut found: Vec<Listing> = in_memory.iter().filter_map(|placed| Listing::of_memory(tree, placed)).collect();
    for table in tree.db.table_names()? {
        tree.db.parked(&table, None, &mut |stat| {
            let hidden = tree.scratch.lock().find(&directory_of(&stat.place), &stat.place.name).is_some();
            if !hidden {
                found.push(Listing::of_parked(&stat));
            }
            std::ops::ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// The path of an item below the mount.
pub fn item_path(table: &TableName, entry: &EntryKey) -> String {
    format!("{table}/{}/{}", super::table::ITEMS_NAME, names::entry_path(entry, TextForm::PlainJson))
}

/// The name of an item collection's folder; `None` of another directory.
pub fn folder_name(directory: &Node) -> Option<String> {
    match directory {
        Node::Collection(_, partition) => Some(names::collection_name(partition)),
        Node::AliasFolder(folder) => Some(folder.name.clone()),
        _ => None,
    }
}

impl Tree {
    /// The file in memory of this name.
    pub(super) fn find_scratch(&self, directory: &Node, name: &str) -> Option<FileId> {
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

    /// Files in memory go with the directories that another front end or process removed.
    pub(in crate::fs) fn drop_scratch_of_gone_directories(&self) {
        let directories: Vec<Arc<Node>> = self.scratch.lock().directories();
        for directory in directories {
            if let Some(table) = directory.table() {
                self.drop_scratch_of_gone(table);
            }
            if matches!(self.attr(&directory, super::Caller::default()), Err(FsError::NotFound)) {
                self.scratch.lock().remove_directory(&directory);
            }
        }
    }
}
