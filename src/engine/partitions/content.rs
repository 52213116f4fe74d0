//! The content of a range of the hash space: a scan that groups entries by item collection, with
//! counts and bytes, to find where a partition can be split. A collection at a boundary of the
//! range counts in part.
//!
//! A range may be as large as a table, so it is walked in steps, each in a short read transaction
//! of its own; concurrent changes may be seen or not.

use super::map::first_digest;
use crate::codec::digest::hex;
use crate::engine::{
    base::counters::{CollectionRecord, partition_values},
    prelude::*,
};
use crate::model::{
    limits::ENTRY_OVERHEAD_BYTES,
    metrics::{HashRange, PartitionContent},
};
use crate::store::Store;

/// The number of collections or entries in one step, which takes some milliseconds. A longer read
/// transaction would keep the store from reusing pages, and the data file would grow.
const STEP_ENTRIES: usize = 20_000;

/// A group of the scan: a collection, or a part of one. A collection that the steps of a scan cut
/// comes in several groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentGroup<'g> {
    pub digest: Digest,
    /// The first place of the group; inside a collection only if the group is a single entry.
    pub place: &'g [u8],
    pub entries: u64,
    /// Bytes with overhead; for a base table without its local index entries.
    pub billed_bytes: u64,
}

/// A callback for each group, with the snapshot that it is in; returns whether to continue.
pub type VisitGroup<'v> =
    dyn FnMut(&dyn Read, ContentGroup<'_>) -> Result<ControlFlow<()>, StoreError> + 'v;

/// The content of a table or global index.
#[derive(Clone, Copy)]
pub struct SourceContent<'c> {
    pub store: &'c dyn Store,
    pub table: &'c TableEntry,
    pub source: SourceId,
}

impl SourceContent<'_> {
    /// True if its collections have entries in local indexes, which keep them together.
    pub fn has_local(self) -> bool {
        self.source == self.table.source && self.table.has_local_index()
    }

    /// Visits the content of a range, in order.
    pub fn walk(self, range: &HashRange, visit: &mut VisitGroup<'_>) -> Result<(), StoreError> {
        let mut next = Some(range.from.clone());
        while let Some(from) = next.take() {
            let snapshot = self.store.snapshot()?;
            next = self.step(&*snapshot, &from, range.to.as_deref(), visit)?;
        }
        Ok(())
    }

    /// Walks one step; returns the place where the next begins.
    fn step(
        self,
        read: &dyn Read,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut VisitGroup<'_>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Self { table, source, .. } = self;
        let is_grouped = source != table.source || table.has_collections();
        let mut last = None;
        let mut remaining = STEP_ENTRIES;
        let mut is_over = false;
        let mut see = |group: ContentGroup<'_>| {
            remaining -= 1;
            last = Some(group.place.to_vec());
            is_over = visit(read, group)?.is_break();
            Ok(continue_if(remaining > 0 && !is_over))
        };
        let inside = from.len() > size_of::<Digest>();
        if !is_grouped || inside {
            // The scan of single entries ends with this collection: the collections behind it are
            // visited as groups.
            let end_of_collection = inside.then(|| after_collection(from)).flatten();
            let upper = match (end_of_collection.as_deref(), to) {
                (Some(end), Some(to)) => Some(end.min(to)),
                (end, to) => end.or(to),
            };
            let range = Space::Entry.between(source, from, upper);
            try_walk(read, &range, Direction::Forward, |key, bytes| {
                let place = keys::place_in_source(key);
                let record = Record::parse(bytes).map_err(|error| locate(read, key, error))?;
                let billed_bytes = u64::from(record.item_bytes()) + ENTRY_OVERHEAD_BYTES;
                let digest = first_digest(place).to_be_bytes();
                see(ContentGroup {
                    digest,
                    place,
                    entries: 1,
                    billed_bytes,
                })
            })?;
            if is_over {
                return Ok(None);
            }
            if remaining == 0 {
                return Ok(last.map(next_place));
            }
            return Ok(end_of_collection.filter(|end| to.is_none_or(|to| end.as_slice() < to)));
        }
        // A collection cut by the end of the range is only partly in the range.
        let cut = to
            .filter(|to| to.len() > size_of::<Digest>())
            .map(|to| &to[..size_of::<Digest>()]);
        let range = Space::Collection.between(source, from, cut.or(to));
        try_walk(read, &range, Direction::Forward, |key, bytes| {
            let value = CollectionRecord::parse(bytes).map_err(|error| locate(read, key, error))?;
            let place = keys::place_in_source(key);
            let (entries, billed_bytes) = (value.entries, value.billed_bytes());
            see(ContentGroup {
                digest: first_digest(place).to_be_bytes(),
                place,
                entries,
                billed_bytes,
            })
        })?;
        if is_over {
            return Ok(None);
        }
        if remaining == 0 {
            return Ok(last
                .and_then(|place| after_collection(&place))
                .filter(|next| to.is_none_or(|to| next.as_slice() < to)));
        }
        // The order bytes of every entry of the collection are after this place.
        Ok(cut.map(|digest| [digest, &[0]].concat()))
    }

    /// True if a range has at least `count` items or entries.
    pub fn has_items(self, range: &HashRange, count: u64) -> Result<bool, StoreError> {
        let mut found = 0;
        self.walk(range, &mut |_, group| {
            found += group.entries;
            Ok(continue_if(found < count))
        })?;
        Ok(found >= count)
    }

    /// Counts the content of a range.
    pub fn count(self, range: &HashRange) -> Result<PartitionContent, StoreError> {
        let mut content = PartitionContent::default();
        let mut last = None;
        self.walk(range, &mut |read, group| {
            let mut billed_bytes = group.billed_bytes;
            if self.has_local() {
                billed_bytes += local_bytes(read, self.table, &group.digest)?;
            }
            content.collections += u64::from(last != Some(group.digest));
            last = Some(group.digest);
            content.items += group.entries;
            content.billed_bytes += billed_bytes;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(content)
    }

    /// Returns the place that cuts a range into halves of about the same bytes: between two
    /// collections, or inside the only one unless a local index keeps it together. `None` if there is
    /// no such place.
    pub fn midpoint(self, range: &HashRange) -> Result<Option<Vec<u8>>, StoreError> {
        let content = self.count(range)?;
        let is_one = content.collections == 1;
        if is_one && (content.items < 2 || self.has_local()) {
            return Ok(None);
        }
        let inner = match is_one {
            // From this place on the walk visits single entries.
            true => HashRange {
                from: self.first_inside(range)?,
                to: range.to.clone(),
            },
            false => range.clone(),
        };
        let (mut sum, mut cut, mut first) = (0, None, true);
        self.walk(&inner, &mut |_, group| {
            if !first && sum + group.billed_bytes / 2 >= content.billed_bytes / 2 {
                cut = Some(group.place.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            // If the last group is larger than all before it, it is the upper half.
            cut = (!first).then(|| group.place.to_vec()).or(cut.take());
            first = false;
            sum += group.billed_bytes;
            Ok(ControlFlow::Continue(()))
        })?;
        log::debug!(
            "a partition of {} bytes is cut at {}",
            content.billed_bytes,
            cut.as_deref().map(hex).unwrap_or_default()
        );
        Ok(cut)
    }

    /// Returns the first place inside the only collection of a range.
    fn first_inside(self, range: &HashRange) -> Result<Vec<u8>, StoreError> {
        if range.from.len() > size_of::<Digest>() {
            return Ok(range.from.clone());
        }
        let mut found = range.from.clone();
        self.walk(range, &mut |_, group| {
            found = [&group.digest[..], &[0]].concat();
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}

/// Returns the first partition keys that have or may have entries in a range, in its order, at most
/// `count`.
pub fn first_keys(
    read: &dyn Read,
    table: &TableEntry,
    source: SourceId,
    range: &HashRange,
    count: usize,
) -> Result<Vec<Vec<AttributeValue>>, StoreError> {
    let index = table.index_of(source);
    let attributes = index.map_or(std::slice::from_ref(&table.schema.key.partition), |index| {
        &index.partition
    });
    let names: Vec<&str> = attributes
        .iter()
        .map(|attribute| attribute.name.as_str())
        .collect();
    let is_grouped = index.is_some() || table.has_collections();
    let from = &range.from[..range.from.len().min(size_of::<Digest>())];
    let space = if is_grouped {
        Space::Collection
    } else {
        Space::Entry
    };
    let range = space.between(source, from, range.to.as_deref());
    let mut found = Vec::new();
    try_walk(read, &range, Direction::Forward, |_, bytes| {
        found.push(if is_grouped {
            CollectionRecord::parse(bytes)?.partition(&names)
        } else {
            partition_values(bytes, &names)
        }?);
        Ok(continue_if(found.len() < count))
    })?;
    Ok(found)
}

/// Returns the first place behind the collection of a place; `None` at the end of the hash space.
fn after_collection(place: &[u8]) -> Option<Vec<u8>> {
    first_digest(place)
        .checked_add(1)
        .map(|next| next.to_be_bytes().to_vec())
}

/// Returns the first place behind a place.
#[must_use]
pub fn next_place(mut place: Vec<u8>) -> Vec<u8> {
    place.push(0);
    place
}

/// Returns the bytes of the local index entries of a collection, with overhead.
pub fn local_bytes(
    read: &dyn Read,
    table: &TableEntry,
    digest: &Digest,
) -> Result<u64, StoreError> {
    collection_bytes(read, table.sources_of(IndexKind::Local), digest)
}

/// Returns the billed bytes of one collection in several sources.
pub fn collection_bytes(
    read: &dyn Read,
    sources: impl Iterator<Item = SourceId>,
    digest: &Digest,
) -> Result<u64, StoreError> {
    let mut sum = 0;
    for source in sources {
        let value = read
            .get(&StoreKey::Collection(source, digest).encode())?
            .map(CollectionRecord::parse)
            .transpose()?;
        sum += value.map_or(0, |value| value.billed_bytes());
    }
    Ok(sum)
}
