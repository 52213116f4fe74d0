//! Batches of directory entries, the output of a [`Lister`](super::directory::Lister): each entry
//! has its place in the listing ([`Cursor`]), and a listed item its attributes, for READDIRPLUS.
//! Also directories with fixed names ([`FixedDir`]). `directory.rs` makes readdir of it.

use crate::database::{EntryStat, ListPosition};
use crate::fs::{
    mount::Mount,
    node::{Node, NodeKind, attr::Attr, pack_folder, pack_item},
    prelude::*,
};
use std::ops::ControlFlow;

/// The number of entries that are read from the source at a time.
pub const BATCH_LEN: usize = 512;
/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirent<'n> {
    pub ino: u64,
    pub kind: NodeKind,
    pub name: &'n str,
}

/// A name in a directory, with its own memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedDirent {
    pub ino: u64,
    pub kind: NodeKind,
    pub name: String,
}

/// Makes the entry of a node in a directory with fixed names.
pub(in crate::fs) fn to_dirent(node: &Node, name: &str) -> OwnedDirent {
    OwnedDirent {
        ino: node.ino(),
        kind: node.kind(),
        name: name.to_owned(),
    }
}

/// A place in a listing: strictly after what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// The beginning.
    Start,
    /// The place after this position in the source's order.
    After(ListPosition),
    /// The place after so many of the names that follow the source, which is done.
    Tail(usize),
}

/// The place of an entry: a [`Cursor`] that borrows.
#[derive(Debug, Clone, Copy)]
pub enum DirentPlace<'p> {
    /// The bytes of its position.
    After(&'p [u8]),
    /// The number of names at the end up to this entry.
    Tail(usize),
}

/// A batch of entries with their places, as a lister finds them. All of them lie in a few buffers:
/// a listing allocates nothing for a name.
#[derive(Debug, Default)]
pub struct DirentBatch {
    rows: Vec<DirentRow>,
    names: String,
    places: Vec<u8>,
    items: Option<ItemBatch>,
}

/// The attributes of listed items or folders, for READDIRPLUS.
#[derive(Debug)]
pub struct ItemBatch {
    pub source: SourceName,
    /// The commit at which the items were read, or an earlier one.
    pub commit: u64,
    rows: Vec<(EntryStat, usize)>,
    keys: Vec<u8>,
}

/// A listed item, or a folder, of which the time counts only.
#[derive(Debug, Clone, Copy)]
pub struct ListedItem<'i> {
    pub entry: Dirent<'i>,
    pub offset: u64,
    pub stat: EntryStat,
    /// False for an entry of an index.
    pub is_writable: bool,
    /// The node as [`pack_item`] or [`pack_folder`] packs it.
    pub packed: &'i [u8],
}

impl ListedItem<'_> {
    /// Returns the attributes, without the inode number.
    #[must_use]
    pub fn attr(&self) -> Attr {
        match self.entry.kind {
            NodeKind::Directory => Attr::directory(self.stat.modified_ms),
            _ => Attr::entry(&self.stat, self.is_writable),
        }
    }
}

impl ItemBatch {
    #[must_use]
    pub fn new(source: SourceName, commit: u64) -> Self {
        Self {
            source,
            commit,
            rows: Vec::with_capacity(BATCH_LEN),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, pack: impl FnOnce(&mut Vec<u8>), stat: EntryStat) {
        pack(&mut self.keys);
        self.rows.push((stat, self.keys.len()));
    }

    fn iter_from(&self, index: usize) -> impl Iterator<Item = (EntryStat, &[u8])> {
        let mut start = index
            .checked_sub(1)
            .and_then(|before| self.rows.get(before))
            .map_or(0, |(_, end)| *end);
        self.rows
            .iter()
            .skip(index)
            .map(move |(stat, end)| (*stat, &self.keys[std::mem::replace(&mut start, *end)..*end]))
    }
}

#[derive(Debug)]
struct DirentRow {
    ino: u64,
    kind: NodeKind,
    /// The offset that [`DirentBatch::set_offsets`] sets.
    offset: u64,
    /// The ends of the name and of the place; each begins where the one before it ends.
    name_end: usize,
    place_end: usize,
    /// The count of a [`DirentPlace::Tail`].
    tail: Option<usize>,
}

impl DirentBatch {
    /// Appends a name.
    pub fn push(&mut self, entry: Dirent<'_>, place: DirentPlace<'_>) {
        self.names.push_str(entry.name);
        let tail = match place {
            DirentPlace::After(position) => {
                self.places.extend_from_slice(position);
                None
            }
            DirentPlace::Tail(count) => Some(count),
        };
        let (name_end, place_end) = (self.names.len(), self.places.len());
        self.rows.push(DirentRow {
            ino: entry.ino,
            kind: entry.kind,
            offset: 0,
            name_end,
            place_end,
            tail,
        });
    }

    /// Begins the attributes of items. A lister that lists nothing else calls it.
    pub fn start_items(&mut self, items: ItemBatch) {
        self.items = Some(items);
    }

    /// Leaves the attributes of items out of the batch.
    pub fn end_items(&mut self) {
        self.items = None;
    }

    /// Appends an item's file.
    pub fn push_item(
        &mut self,
        entry: Dirent<'_>,
        place: DirentPlace<'_>,
        key: &EntryKey,
        stat: EntryStat,
    ) {
        self.push(entry, place);
        if let Some(items) = &mut self.items {
            items.push(|keys| pack_item(key, keys), stat);
        }
    }

    /// Appends the folder of a collection, with the time of its last change.
    pub fn push_folder(
        &mut self,
        entry: Dirent<'_>,
        place: DirentPlace<'_>,
        partition: &[AttributeValue],
        modified_ms: u64,
    ) {
        self.push(entry, place);
        let stat = EntryStat {
            plain_json_bytes: 0,
            item_bytes: 0,
            version: 0,
            modified_ms,
        };
        if let Some(items) = &mut self.items {
            items.push(|keys| pack_folder(partition, keys), stat);
        }
    }

    /// Returns the attributes of the items, if nothing else is listed.
    #[must_use]
    pub fn items(&self) -> Option<&ItemBatch> {
        self.items.as_ref()
    }

    /// Returns the items from `index` on.
    pub fn items_from<'f>(
        &'f self,
        items: &'f ItemBatch,
        index: usize,
    ) -> impl Iterator<Item = ListedItem<'f>> {
        let listed = self
            .iter_from(index)
            .zip(self.offsets().skip(index))
            .zip(items.iter_from(index));
        listed.map(|(((entry, _), offset), (stat, packed))| ListedItem {
            entry,
            offset,
            stat,
            is_writable: items.source.index.is_none(),
            packed,
        })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Breaks when the batch is full.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.len() >= BATCH_LEN {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns the entries from `index` on, each with its place.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = (Dirent<'_>, DirentPlace<'_>)> {
        let before = index
            .checked_sub(1)
            .and_then(|before| self.rows.get(before));
        let (mut name, mut place) = before.map_or((0, 0), |row| (row.name_end, row.place_end));
        self.rows.iter().skip(index).map(move |row| {
            let entry = Dirent {
                ino: row.ino,
                kind: row.kind,
                name: &self.names[name..row.name_end],
            };
            let position = &self.places[place..row.place_end];
            (name, place) = (row.name_end, row.place_end);
            (
                entry,
                row.tail
                    .map_or(DirentPlace::After(position), DirentPlace::Tail),
            )
        })
    }

    /// Sets the offset of each entry.
    pub(super) fn set_offsets(&mut self, offset_of: impl Fn(&str) -> u64) {
        let mut start = 0;
        for row in &mut self.rows {
            row.offset =
                offset_of(&self.names[std::mem::replace(&mut start, row.name_end)..row.name_end]);
        }
    }

    /// Returns the offsets of the entries, in their order.
    pub fn offsets(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.offset)
    }

    /// Returns the offsets of the entries for changing them.
    pub(super) fn offsets_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        self.rows.iter_mut().map(|row| &mut row.offset)
    }

    /// Returns the place of the last entry.
    pub(super) fn last_cursor(&self) -> Option<Cursor> {
        self.cursor_at(self.len().checked_sub(1)?)
    }

    /// Returns the place of an entry.
    pub(super) fn cursor_at(&self, index: usize) -> Option<Cursor> {
        let (_, place) = self.iter_from(index).next()?;
        Some(match place {
            DirentPlace::After(position) => Cursor::After(ListPosition(position.into())),
            DirentPlace::Tail(count) => Cursor::Tail(count),
        })
    }

    /// Removes the entries and keeps the buffers.
    pub(super) fn clear(&mut self) {
        self.items = None;
        self.rows.clear();
        self.names.clear();
        self.places.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        let of_items = |items: &ItemBatch| {
            items.rows.capacity() * size_of::<(EntryStat, usize)>() + items.keys.capacity()
        };
        let of_rows = self.rows.capacity() * size_of::<DirentRow>()
            + self.names.capacity()
            + self.places.capacity();
        of_rows + self.items.as_ref().map_or(0, of_items)
    }
}

impl OwnedDirent {
    #[must_use]
    pub fn entry(&self) -> Dirent<'_> {
        Dirent {
            ino: self.ino,
            kind: self.kind,
            name: &self.name,
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}

impl Cursor {
    /// Returns the position in the source's order after which to read, `Some(None)` at the start;
    /// `None` if the source is done.
    #[must_use]
    pub fn after(&self) -> Option<Option<&ListPosition>> {
        match self {
            Self::Start => Some(None),
            Self::After(position) => Some(Some(position)),
            Self::Tail(_) => None,
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Start | Self::Tail(_) => size_of::<Self>(),
            Self::After(position) => size_of::<Self>() + position.0.len(),
        }
    }
}

/// Makes the node of a name in a directory that is `T`.
pub type MakeNode<T> = fn(&Mount, &T) -> Result<Node>;

/// A directory with fixed names, as a table: each name, true if it is listed, and the function that
/// makes its node.
#[derive(Debug)]
pub struct FixedDir<T: 'static>(pub &'static [(&'static str, bool, MakeNode<T>)]);

impl<T> FixedDir<T> {
    /// Returns all names, listed or not.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<T> {
        self.0.iter().map(|(name, ..)| *name)
    }

    /// Makes the node of a name in that directory.
    ///
    /// # Errors
    /// `NotFound` if the name is not in the table; the error of the function that makes the node.
    pub fn resolve(&self, mount: &Mount, directory: &T, name: &str) -> Result<Node> {
        let (_, _, make) = self
            .0
            .iter()
            .find(|(known, ..)| *known == name)
            .ok_or(FsError::NotFound)?;
        make(mount, directory)
    }

    /// Returns the listed names of that directory that exist.
    ///
    /// # Errors
    /// Errors of the database: a name that fails is not one that does not exist.
    pub fn list(&self, mount: &Mount, directory: &T) -> Result<Vec<OwnedDirent>> {
        let mut names = Vec::new();
        for (name, _, make) in self.0.iter().filter(|(_, is_listed, _)| *is_listed) {
            match make(mount, directory) {
                Ok(node) => names.push(to_dirent(&node, name)),
                Err(error) if error.is_absence() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(names)
    }
}
