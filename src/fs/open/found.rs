//! Names as they are found, with their places, and what is told of items beside: see [`super::directory`]. Directories whose names are
//! fixed.

use crate::database::{EntryStat, Position};
use crate::fs::mount::Mount;
use crate::fs::node::{Kind, Node, pack_item};
use crate::fs::prelude::*;
use std::ops::ControlFlow;

/// Entries read from the source at a time.
pub const BATCH: usize = 512;
/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'n> {
    pub ino: u64,
    pub kind: Kind,
    pub name: &'n str,
}

/// A name that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub ino: u64,
    pub kind: Kind,
    pub name: String,
}

/// A listed name of a fixed directory.
pub(in crate::fs) fn listed(node: &Node, name: &str) -> Listed {
    Listed {
        ino: node.ino(),
        kind: node.kind(),
        name: name.to_owned(),
    }
}

/// A place in a listing: strictly after what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// Before everything.
    Start,
    /// After this position of the source's order.
    After(Position),
    /// The source is done; after so many of the names that follow it.
    Tail(usize),
}

/// The place of a name that was found: a [`Cursor`] that borrows.
#[derive(Debug, Clone, Copy)]
pub enum Place<'p> {
    /// The bytes of its position.
    After(&'p [u8]),
    /// How many of the names at the end there are up to it.
    Tail(usize),
}

/// Names with their places, as they are found. All of them lie in a few buffers: a listing allocates nothing for a name.
#[derive(Debug, Default)]
pub struct Found {
    rows: Vec<Row>,
    names: String,
    places: Vec<u8>,
    /// Is [`Found::items`] asked for?
    wants_items: bool,
    items: Option<Items>,
}

/// What READDIRPLUS tells of listed items beside their names.
#[derive(Debug)]
pub struct Items {
    pub source: Source,
    /// They are of this commit or a later one.
    pub commit: u64,
    rows: Vec<(EntryStat, usize)>,
    keys: Vec<u8>,
}

/// An item that is listed.
#[derive(Debug, Clone, Copy)]
pub struct ListedItem<'i> {
    pub entry: Entry<'i>,
    pub offset: u64,
    pub stat: EntryStat,
    /// As of [`pack_item`].
    pub packed: &'i [u8],
}

impl Items {
    #[must_use]
    pub fn new(source: Source, commit: u64) -> Self {
        Self {
            source,
            commit,
            rows: Vec::with_capacity(BATCH),
            keys: Vec::new(),
        }
    }

    fn push(&mut self, key: &EntryKey, stat: EntryStat) {
        pack_item(key, &mut self.keys);
        self.rows.push((stat, self.keys.len()));
    }

    fn from(&self, at: usize) -> impl Iterator<Item = (EntryStat, &[u8])> {
        let mut start = at
            .checked_sub(1)
            .and_then(|before| self.rows.get(before))
            .map_or(0, |(_, end)| *end);
        self.rows
            .iter()
            .skip(at)
            .map(move |(stat, end)| (*stat, &self.keys[std::mem::replace(&mut start, *end)..*end]))
    }
}

#[derive(Debug)]
struct Row {
    ino: u64,
    kind: Kind,
    /// Given by [`Found::number`].
    offset: u64,
    /// Ends of its name and its place; they begin where those before it end.
    name_end: usize,
    place_end: usize,
    /// Of [`Place::Tail`].
    tail: Option<usize>,
}

impl Found {
    /// Appends a name.
    pub fn push(&mut self, entry: Entry<'_>, place: Place<'_>) {
        self.names.push_str(entry.name);
        let tail = match place {
            Place::After(position) => {
                self.places.extend_from_slice(position);
                None
            }
            Place::Tail(count) => Some(count),
        };
        let (name_end, place_end) = (self.names.len(), self.places.len());
        self.rows.push(Row {
            ino: entry.ino,
            kind: entry.kind,
            offset: 0,
            name_end,
            place_end,
            tail,
        });
    }

    /// Are the attributes of items asked for? A lister that lists nothing else then calls [`Found::begin_items`].
    #[must_use]
    pub fn wants_items(&self) -> bool {
        self.wants_items
    }

    pub fn begin_items(&mut self, items: Items) {
        self.items = Some(items);
    }

    /// Appends an item's file.
    pub fn push_item(
        &mut self,
        entry: Entry<'_>,
        place: Place<'_>,
        key: &EntryKey,
        stat: EntryStat,
    ) {
        self.push(entry, place);
        if let Some(items) = &mut self.items {
            items.push(key, stat);
        }
    }

    /// What there is to tell of the items, if it is asked for and nothing else is listed.
    #[must_use]
    pub fn items(&self) -> Option<&Items> {
        self.items.as_ref()
    }

    /// The items from that one on.
    pub fn items_from<'f>(
        &'f self,
        items: &'f Items,
        at: usize,
    ) -> impl Iterator<Item = ListedItem<'f>> {
        let listed = self
            .from(at)
            .zip(self.offsets().skip(at))
            .zip(items.from(at));
        listed.map(|(((entry, _), offset), (stat, packed))| ListedItem {
            entry,
            offset,
            stat,
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

    /// Goes on with a listing until it has a batch.
    pub fn next(&self) -> ControlFlow<()> {
        if self.len() >= BATCH {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The names from that one on, each with its place.
    pub fn from(&self, at: usize) -> impl Iterator<Item = (Entry<'_>, Place<'_>)> {
        let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
        let (mut name, mut place) = before.map_or((0, 0), |row| (row.name_end, row.place_end));
        self.rows.iter().skip(at).map(move |row| {
            let entry = Entry {
                ino: row.ino,
                kind: row.kind,
                name: &self.names[name..row.name_end],
            };
            let position = &self.places[place..row.place_end];
            (name, place) = (row.name_end, row.place_end);
            (entry, row.tail.map_or(Place::After(position), Place::Tail))
        })
    }

    /// Gives each name its offset.
    pub(super) fn number(&mut self, offset_of: impl Fn(&str) -> u64) {
        let mut start = 0;
        for row in &mut self.rows {
            row.offset =
                offset_of(&self.names[std::mem::replace(&mut start, row.name_end)..row.name_end]);
        }
    }

    /// The offsets of the names, in their order.
    pub fn offsets(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.offset)
    }

    /// The same, to be changed.
    pub(super) fn offsets_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        self.rows.iter_mut().map(|row| &mut row.offset)
    }

    /// The place of the last name.
    pub(super) fn end(&self) -> Option<Cursor> {
        self.cursor(self.len().checked_sub(1)?)
    }

    /// The place of a name.
    pub(super) fn cursor(&self, at: usize) -> Option<Cursor> {
        let (_, place) = self.from(at).next()?;
        Some(match place {
            Place::After(position) => Cursor::After(Position(position.into())),
            Place::Tail(count) => Cursor::Tail(count),
        })
    }

    /// Forgets the names and keeps the room.
    pub(super) fn clear(&mut self, wants_items: bool) {
        (self.wants_items, self.items) = (wants_items, None);
        self.rows.clear();
        self.names.clear();
        self.places.clear();
    }

    pub(super) fn held_bytes(&self) -> usize {
        let of_items = |items: &Items| {
            items.rows.capacity() * size_of::<(EntryStat, usize)>() + items.keys.capacity()
        };
        let of_rows = self.rows.capacity() * size_of::<Row>()
            + self.names.capacity()
            + self.places.capacity();
        of_rows + self.items.as_ref().map_or(0, of_items)
    }
}

impl Listed {
    #[must_use]
    pub fn entry(&self) -> Entry<'_> {
        Entry {
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
    /// The position of the source's order that is read on after, none at the start; `None` when the source is done.
    #[must_use]
    pub fn after(&self) -> Option<Option<&Position>> {
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

/// Makes what a name means in a directory that is `T`.
pub type Make<T> = fn(&Mount, &T) -> Result<Node, FsError>;

/// A directory whose names are fixed, as a table: each name, whether it is listed, and what it means.
#[derive(Debug)]
pub struct Names<T: 'static>(pub &'static [(&'static str, bool, Make<T>)]);

impl<T> Names<T> {
    /// All of them, listed or not.
    pub fn all(&self) -> impl Iterator<Item = &'static str> + use<T> {
        self.0.iter().map(|(name, ..)| *name)
    }

    /// What a name means in that directory.
    ///
    /// # Errors
    /// `NotFound`, or of what it means.
    pub fn resolve(&self, mount: &Mount, directory: &T, name: &str) -> Result<Node, FsError> {
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
    pub fn list(&self, mount: &Mount, directory: &T) -> Result<Vec<Listed>, FsError> {
        let mut names = Vec::new();
        for (name, _, make) in self.0.iter().filter(|(_, is_listed, _)| *is_listed) {
            match make(mount, directory) {
                Ok(node) => names.push(listed(&node, name)),
                Err(error) if error.is_absence() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(names)
    }
}
