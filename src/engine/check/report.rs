//! The report of a consistency check (see `engine::check`): the kinds of differences that it finds,
//! their places, and their text.

use std::fmt;

use crate::codec::plain_json;
use crate::engine::prelude::*;

/// The maximum of differences kept in a report; the others are only counted.
pub const DIFFERENCES_MAX: usize = 1_000;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    pub tables: u64,
    pub items: u64,
    pub index_entries: u64,
    /// All differences, also those beyond [`DIFFERENCES_MAX`].
    pub total: u64,
    /// The first differences.
    pub differences: Vec<CheckDifference>,
    /// The remedy of the gravest difference.
    pub remedy: Option<Remedy>,
}

impl CheckReport {
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.total == 0
    }
}

/// The remedy of a difference, a sentence; the gravest first. One covers those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Remedy {
    /// For a damaged item, or a damaged catalog.
    #[error(
        "A damaged item can be neither written nor deleted: restore the whole data directory from a backup; or copy the items that can be read out of a mount with `cp`, into a table of another data directory."
    )]
    Restore,
    /// For damage in data that is computed from the items.
    #[error(
        "Collections, counters, streams and lists are computed from the items: load what `ddbfs dump TABLE` prints into a new table, which computes them again."
    )]
    Reload,
    /// For a damaged index; the items are whole.
    #[error(
        "An index is computed from the items: drop a global index and make it again, in a mount by `rmdir TABLE/gsi/INDEX` and `mkdir`, with its schema.json as before; for a local one, load what `ddbfs dump TABLE` prints into a new table."
    )]
    Rebuild,
    #[error(
        "An attribute name that is empty or too long is of an earlier ddbfs: such an item can be read and deleted, and written back without that attribute."
    )]
    Rename,
}

/// A difference between the stored and the expected state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDifference {
    pub kind: DifferenceKind,
    pub table: Option<TableName>,
    pub index: Option<IndexName>,
    /// The key as plain JSON, stored bytes in hexadecimal, or another description of the place.
    pub key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum DifferenceKind {
    /// Stored bytes that are no record, collection or catalog entry.
    #[error("cannot be read")]
    Unreadable,
    /// An item without a legal key.
    #[error("has no legal key")]
    BadKey,
    /// An item with an attribute or member name that is empty or too long: it can be read and deleted, but not put back.
    #[error("has an attribute name that is empty or longer than 65535 bytes")]
    BadName,
    /// An item that does not lie at the address of its key.
    #[error("does not lie where its key says")]
    Misplaced,
    /// A record with other sizes or other content than expected.
    #[error("differs from what it should be")]
    WrongRecord,
    /// A version that was never allocated.
    #[error("has a version that was never given")]
    UnknownVersion,
    #[error("index entry is missing")]
    MissingEntry,
    #[error("index entry without its item")]
    OrphanEntry,
    #[error("item collection is not counted")]
    MissingCollection,
    #[error("item collection is counted wrongly")]
    WrongCollection,
    #[error("item collection has no entries")]
    EmptyCollection,
    #[error("counters are wrong")]
    WrongCounters,
    /// An enabled stream without its definition.
    #[error("stream is missing")]
    MissingStream,
    /// An item written since its stream began, without a record of that write.
    #[error("stream record is missing")]
    MissingStreamRecord,
    /// A record that its stream cannot have, or that differs from the item it wrote.
    #[error("stream record is wrong")]
    WrongStreamRecord,
    /// An item that expires and is not on its table's list.
    #[error("expiry is missing")]
    MissingExpiry,
    /// An expiry that is not that of its item.
    #[error("expiry without its item")]
    OrphanExpiry,
    /// A stored progress without a running backfill, or the reverse.
    #[error("the backfill contradicts the catalog")]
    WrongBackfill,
    /// An item that a value keeps out of an index, and that is not on the index's list.
    #[error("violation is not on the list")]
    MissingViolation,
    /// An item on such a list that no value keeps out.
    #[error("violation without its item")]
    OrphanViolation,
    /// Entries, collections or counters that belong to no table.
    #[error("belongs to no table")]
    UnknownSource,
    /// A client request token without its expiry, or the reverse.
    #[error("client request token and its expiry differ")]
    WrongToken,
    /// A catalog entry under another name, or with a source that is not its own alone: shared,
    /// being removed, or never given.
    #[error("contradicts the rest of the catalog")]
    WrongCatalog,
}

impl DifferenceKind {
    /// Returns the remedy of such a difference; `in_index` says that it is one of an index.
    fn remedy(self, in_index: bool) -> Remedy {
        match self {
            Self::MissingEntry | Self::OrphanEntry => Remedy::Rebuild,
            Self::BadName => Remedy::Rename,
            _ if in_index => Remedy::Rebuild,
            Self::Unreadable
            | Self::BadKey
            | Self::Misplaced
            | Self::WrongRecord
            | Self::UnknownVersion
            | Self::UnknownSource
            | Self::WrongCatalog => Remedy::Restore,
            Self::MissingCollection
            | Self::WrongCollection
            | Self::EmptyCollection
            | Self::WrongCounters
            | Self::MissingStream
            | Self::MissingStreamRecord
            | Self::WrongStreamRecord
            | Self::MissingExpiry
            | Self::OrphanExpiry
            | Self::WrongBackfill
            | Self::MissingViolation
            | Self::OrphanViolation
            | Self::WrongToken => Remedy::Reload,
        }
    }
}

/// Formats as `Thread/LastPostIndex {"ForumName":"S3"}: index entry is missing`.
impl fmt::Display for CheckDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(table) = &self.table {
            write!(f, "{table}")?;
        }
        if let Some(index) = &self.index {
            write!(f, "/{index}")?;
        }
        let blank = if self.table.is_some() && !self.key.is_empty() {
            " "
        } else {
            ""
        };
        write!(f, "{blank}{}: {}", self.key, self.kind)
    }
}

/// The table and index of a difference.
#[derive(Debug, Clone, Copy)]
pub struct CheckPlace<'p> {
    table: Option<&'p TableName>,
    index: Option<&'p IndexName>,
}

impl<'p> CheckPlace<'p> {
    pub const NONE: CheckPlace<'static> = CheckPlace {
        table: None,
        index: None,
    };

    pub fn of(table: &'p TableEntry) -> Self {
        Self::table(&table.schema.name)
    }

    pub fn table(name: &'p TableName) -> Self {
        Self {
            table: Some(name),
            index: None,
        }
    }

    pub fn index(&self, name: &'p IndexName) -> Self {
        Self {
            index: Some(name),
            ..*self
        }
    }
}

/// True for bytes that cannot be read, as opposed to a failure of the store.
pub fn is_damage(error: &StoreError) -> bool {
    error.is_corrupt() || matches!(error, StoreError::Format(_))
}

/// A collector of differences.
#[derive(Debug, Default)]
pub struct Reporter(pub CheckReport);

impl Reporter {
    pub fn add(&mut self, kind: DifferenceKind, place: CheckPlace<'_>, key: String) {
        self.0.total += 1;
        let remedy = kind.remedy(place.index.is_some());
        self.0.remedy = Some(self.0.remedy.map_or(remedy, |gravest| gravest.min(remedy)));
        if self.0.differences.len() < DIFFERENCES_MAX {
            let (table, index) = (place.table.cloned(), place.index.cloned());
            self.0.differences.push(CheckDifference {
                kind,
                table,
                index,
                key,
            });
        }
    }

    /// Returns the value, or `None` and adds a difference if its bytes are damaged. Fails for other
    /// failures of the store.
    pub fn or_report<T>(
        &mut self,
        read: Result<T, StoreError>,
        place: CheckPlace<'_>,
        key: &str,
    ) -> Result<Option<T>, StoreError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_damage(&error) => {
                self.add(DifferenceKind::Unreadable, place, key.to_owned());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub fn into_report(self) -> CheckReport {
        self.0
    }
}

/// Returns key attributes as plain JSON.
pub fn key_text(key: &Item) -> String {
    plain_json::line(key, &[])
}
