//! Ranges of sort keys whose items were all read: a name in such a range that was not among them is
//! known to be absent, as long as a cached read is valid. `cache` decides by the numbers of reads.

use std::cmp::Ordering;

use crate::database::EntryKey;
use crate::database::lru_map::LruMap;
use crate::database::prelude::*;
use crate::expr::order::compare;

/// The limit of folders with known ranges, and of ranges in one of them.
const FOLDERS_MAX: usize = 256;
const RANGES_MAX: usize = 4;

/// A source, and the key of an entry in it.
pub type EntryPlace = (SourceName, EntryKey);

/// The beginning of a read.
#[derive(Debug, Clone, Copy)]
pub struct ReadStart {
    pub number: u64,
    pub at_ms: u64,
}

/// The folder of a range; a table without sort key is one folder, with the key `NULL`.
pub type Folder = (SourceName, AttributeValue);

/// A range of sort keys, all of whose items were read at once. Without bounds it is the folder.
#[derive(Debug)]
pub struct KnownRange {
    pub began: ReadStart,
    pub from: Option<AttributeValue>,
    pub to: Option<AttributeValue>,
    /// The number of items, without those that this mount has deleted since.
    pub items: usize,
}

impl KnownRange {
    fn includes(&self, sort: Option<&AttributeValue>) -> bool {
        let Some(sort) = sort else {
            return self.from.is_none() && self.to.is_none();
        };
        let is_le =
            |a: &AttributeValue, b: &AttributeValue| compare(a, b).is_some_and(Ordering::is_le);
        self.from.as_ref().is_none_or(|from| is_le(from, sort))
            && self.to.as_ref().is_none_or(|to| is_le(sort, to))
    }
}

/// The known ranges, the latest of a folder first.
#[derive(Debug, Default)]
pub struct KnownRanges(LruMap<Folder, Vec<KnownRange>, FOLDERS_MAX>);

/// Returns the folder of a base item, and its sort key.
pub fn folder_of(place: &EntryPlace) -> Option<(Folder, Option<&AttributeValue>)> {
    let (source, key) = place;
    let folder = match (&key.index, &key.base.sort) {
        (Some(_), _) => return None,
        (None, Some(_)) => key.base.partition.clone(),
        (None, None) => AttributeValue::Null,
    };
    Some(((source.clone(), folder), key.base.sort.as_ref()))
}

impl KnownRanges {
    pub fn insert(&mut self, folder: Folder, range: KnownRange) {
        let ranges = self.0.get_or_insert_mut(folder, Vec::new);
        ranges.insert(0, range);
        ranges.truncate(RANGES_MAX);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// True if the place is in a range that `is_valid` accepts.
    pub fn includes(&self, place: &EntryPlace, is_valid: impl Fn(&KnownRange) -> bool) -> bool {
        folder_of(place).is_some_and(|(folder, sort)| {
            self.0.peek(&folder).is_some_and(|ranges| {
                ranges
                    .iter()
                    .any(|range| is_valid(range) && range.includes(sort))
            })
        })
    }

    /// Counts an item that this mount made or deleted.
    pub fn count(&mut self, place: &EntryPlace, is_made: bool) {
        let Some((folder, sort)) = folder_of(place) else {
            return;
        };
        let ranges = self.0.peek_mut(&folder).into_iter().flatten();
        for range in ranges.filter(|range| range.includes(sort)) {
            range.items = if is_made {
                range.items + 1
            } else {
                range.items.saturating_sub(1)
            };
        }
    }

    /// Returns the start of a read that shows an item in the folder.
    pub fn with_items(
        &self,
        folder: &Folder,
        is_valid: impl Fn(&KnownRange) -> bool,
    ) -> Option<ReadStart> {
        let ranges = self.0.peek(folder)?.iter();
        ranges
            .filter(|range| range.items > 0 && is_valid(range))
            .map(|range| range.began)
            .next()
    }
}
