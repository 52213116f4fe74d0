//! Scratch files in the tree: those in memory, and those in the trash, which the store keeps. A
//! file in memory hides one of its name in the trash.
//!
//! A directory of scratch files is that of a table, `items/`, or the folder of an item collection.
//! Its files are removed with it.

use crate::fs::{
    mount::scratch::{directory_of, folder_name, trash_place},
    open::prelude::*,
    path::{is_refused_probe, is_scratch_name},
    write::{FileId, scratch::PlacedFile},
};
use crate::model::api::table_control::{TrashChange, TrashKey, TrashStat};

/// Resolves a name that is no item's: a file in memory or in the trash, if there is one. Names that
/// programs probe for everywhere are refused here and not earlier: `CVS` and `4913` are also valid
/// keys and tables.
pub fn resolve(
    mount: &Mount,
    source: &SourceName,
    partition: Option<&PartitionKey>,
    name: &str,
) -> Result<Node> {
    resolve_in(
        mount,
        &directory(source, partition).ok_or(FsError::NotFound)?,
        name,
    )
}

/// Resolves a scratch file in this directory, if there is one.
pub fn resolve_in(mount: &Mount, directory: &Node, name: &str) -> Result<Node, FsError> {
    // Refused before any access to the store: programs probe for these names in every directory
    // they enter.
    if !is_scratch_name(name) || is_refused_probe(name) {
        return Err(FsError::NotFound);
    }
    // Memory first: a write to a file in the trash makes a copy in memory, which is the newer one.
    if let Some(id) = mount.find_scratch(directory, name) {
        return Ok(Node::Scratch(id));
    }
    let place = trash_place(directory, name).ok_or(FsError::NotFound)?;
    match mount.db.trashed_at(&place)? {
        Some((stat, _)) if stat.is_in_folder => Ok(trash_node(place)),
        _ => Err(FsError::NotFound),
    }
}

/// Resolves a file in memory beside `schema.json`, if there is one.
pub fn resolve_beside_schema(mount: &Mount, table: &TableName, name: &str) -> Result<Node> {
    mount
        .find_scratch(&Node::Table(table.clone()), name)
        .map(Node::Scratch)
        .ok_or(FsError::NotFound)
}

/// Returns the node of a file in the trash. It differs from one in memory of the same path.
#[must_use]
pub fn trash_node(key: TrashKey) -> Node {
    let folder = folder_name(&directory_of(&key))
        .map(|folder| folder + "/")
        .unwrap_or_default();
    let path = format!("{}/{ITEMS_NAME}/{folder}{}", key.table, key.name);
    let identity = format!("parked {path}");
    Special::file(path, Some(SourceName::from(&key.table)), TrashFile(key))
        .with_identity(identity)
        .writable()
        .into()
}

/// A file in the trash: the text of an item that was moved to a name that is no item's, kept in the
/// store for a week. Its text never changes; a write makes a copy in memory, which hides it.
struct TrashFile(TrashKey);

impl TrashFile {
    fn read(&self, mount: &Mount) -> Result<(TrashStat, Vec<u8>)> {
        mount.db.trashed_at(&self.0)?.ok_or(FsError::NotFound)
    }
}

impl NodeOps for TrashFile {
    fn attr(&self, at: At<'_>) -> Result<Attr> {
        let (stat, _) = self.read(&at)?;
        Ok(Attr::file(stat.bytes, stat.trashed_ms))
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        Ok(self.read(&at)?.1)
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        let (stat, text) = self.read(&at.mount)?;
        if !stat.is_in_folder {
            return Err(FsError::NotPermitted(
                "its folder is gone; move the file to where it is to be written",
            ));
        }
        // The store's text stays until the copy is moved or removed: it survives a crash.
        let id = at
            .mount
            .fill_scratch(&directory_of(&self.0), &self.0.name, &text, now_ms())?;
        open(&at.mount, id, flags.truncate)
    }

    fn unlink(&self, at: HostAt<'_>, reply: Reply<()>) {
        let (host_clone, place) = (at.context.clone(), self.0.clone());
        at.run_short(move || {
            reply(
                match host_clone.mount.db.change_trash(TrashChange::Remove(place)) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(FsError::NotFound),
                    Err(error) => Err(error.into()),
                },
            );
        });
    }

    fn trash_key(&self) -> Option<&TrashKey> {
        Some(&self.0)
    }
}

/// The error text of a name in which [`super::items::resolve`] finds no key.
pub const NO_KEY: &str = "no key of this table has this name; a number key is a number, and a byte that is not text is %YY";

/// Checks that a directory of items may have a file in memory of this name.
///
/// # Errors
/// [`FsError::Derived`] below an index; the name is an item's, or no scratch file has such a name.
pub fn check(directory: &Node, name: &str) -> Result<()> {
    if matches!(directory, Node::Items(source) | Node::Collection(source, _) if source.index.is_some())
    {
        return Err(FsError::Derived);
    }
    if names::split_suffix(name).is_some() {
        return Err(FsError::Invalid(NO_KEY));
    }
    if !is_scratch_name(name) {
        return Err(FsError::Unsupported(
            "an item's file is its key and .json; no other file has such a name",
        ));
    }
    Ok(())
}

impl NodeOps<Node> for FileId {
    fn attr(&self, at: At<'_, Node>) -> Result<Attr> {
        attr(&at, *self)
    }

    fn open_reader(&self, at: HostAt<'_, Node>) -> Result<Handle> {
        open(&at.mount, *self, false)
    }

    fn open_writer(&self, at: HostAt<'_, Node>, flags: OpenFlags) -> Result<Handle> {
        open(&at.mount, *self, flags.truncate)
    }

    fn unlink(&self, at: HostAt<'_, Node>, reply: Reply<()>) {
        at.deletes.unlink_scratch(&at.mount, *self, reply);
    }
}

/// Opens a file in memory.
///
/// # Errors
/// [`FsError::Stale`] when it was moved to the trash since it was looked up: the kernel looks the
/// name up again.
fn open(mount: &Mount, id: FileId, truncate: bool) -> Result<Handle> {
    let mut scratch = mount.scratch.lock();
    scratch.open(id, now_ms()).map_err(|_| FsError::Stale)?;
    if truncate {
        scratch.truncate(id, 0, now_ms())?;
    }
    Ok(Handle::Scratch(id))
}

/// Returns the directory of a scratch file. `None` below an index, which has none.
fn directory(source: &SourceName, partition: Option<&PartitionKey>) -> Option<Node> {
    if source.index.is_some() {
        return None;
    }
    Some(match partition {
        Some(partition) => Node::Collection(source.clone(), partition.clone()),
        None => Node::Items(source.clone()),
    })
}

pub fn attr(mount: &Mount, id: FileId) -> Result<Attr> {
    let attributes = mount.scratch.lock().attributes(id)?;
    let links = u32::from(attributes.linked);
    Ok(Attr {
        links,
        ..Attr::file(attributes.size, attributes.modified_ms)
    })
}

/// Returns the time at which the last file was moved from a folder to the trash, if there is one:
/// such a folder exists without items.
pub fn last_trashed_ms(
    mount: &Mount,
    source: &SourceName,
    partition: &PartitionKey,
) -> Result<Option<u64>> {
    let mut newest = None;
    mount
        .db
        .trashed(&source.table, Some(partition.first()), &mut |stat| {
            newest = newest.max(stat.is_in_folder.then_some(stat.trashed_ms));
            std::ops::ControlFlow::Continue(())
        })?;
    Ok(newest)
}

/// A listed scratch file.
#[derive(Debug)]
pub struct ScratchEntry {
    pub directory: Node,
    pub name: String,
    pub node: Node,
    pub bytes: u64,
    pub modified_ms: u64,
    /// The time until which it is kept in any case, milliseconds since the epoch; `None` for one in
    /// memory only.
    pub until_ms: Option<u64>,
}

impl ScratchEntry {
    fn from_trash(stat: &TrashStat) -> Self {
        Self {
            directory: directory_of(&stat.key),
            name: stat.key.name.clone(),
            node: trash_node(stat.key.clone()),
            bytes: stat.bytes,
            modified_ms: stat.trashed_ms,
            until_ms: Some(stat.expires_ms()),
        }
    }

    fn from_memory(mount: &Mount, placed: &PlacedFile<Node>) -> Option<Self> {
        let attributes = mount.scratch.lock().attributes(placed.id).ok()?;
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

/// Lists every scratch file, with those in the trash of all processes, by table.
pub fn list(mount: &Mount) -> Result<Vec<ScratchEntry>, FsError> {
    let in_memory = mount.scratch.lock().all_named();
    let mut found: Vec<ScratchEntry> = in_memory
        .iter()
        .filter_map(|placed| ScratchEntry::from_memory(mount, placed))
        .collect();
    for table in mount.db.tables_with_trash()? {
        mount.db.trashed(&table, None, &mut |stat| {
            let hidden = mount
                .scratch
                .lock()
                .find(&directory_of(&stat.key), &stat.key.name)
                .is_some();
            if !hidden {
                found.push(ScratchEntry::from_trash(&stat));
            }
            std::ops::ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}
