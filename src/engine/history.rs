//! The history of a table: an undo log of old item images, from which a copy of the table as of an
//! earlier moment is made. `engine::write` appends to it and `engine::jobs` reads it.
//!
//! A table keeps history while point-in-time recovery is on, or while a job reads it. From then on
//! each change of an item appends one record under the version of the change:
//! ```text
//! time u64 · length of place u32 · place · old record, empty when there was no item
//! ```
//! Versions rise with every change, so a version bound is a moment of the table: **the items as of
//! version V are the items with a version of at most V, and the old images in history with a
//! version of at most V.** Items changed after V have a later version, and the first change after V
//! recorded their image as of V.

use super::{
    base::stored_form::{Prefixed, decode_parts, encode_parts},
    runtime::prelude::*,
};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// The number of expired records removed with each one written: more than one, so that a backlog
/// shrinks.
const EXPIRED_REMOVED_MAX: usize = 2;

/// A change of an item in history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRecord<'b> {
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// The item's place in its source, see [`keys::place_in_source`].
    pub place: &'b [u8],
    /// The record before the change, if there was an item.
    pub old: Option<&'b [u8]>,
}

impl<'b> HistoryRecord<'b> {
    /// Decodes the stored bytes.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, StoreError> {
        let (time_ms, Prefixed(place), old) = decode_parts(bytes, "a history record")?;
        Ok(Self {
            time_ms,
            place,
            old,
        })
    }

    fn encode(&self) -> Vec<u8> {
        encode_parts(&(self.time_ms, Prefixed(self.place), self.old))
    }
}

/// Appends a change of an item to the history, and removes expired records.
pub fn append(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    version: Version,
    past: HistoryRecord<'_>,
) -> Result<(), StoreError> {
    transaction.batch.put(
        &StoreKey::History(table.source, version).encode(),
        &past.encode(),
    )?;
    // Not while a job reads: it may not have reached the records that would be removed.
    if let (Some(recovery), 0) = (table.control.recovery, table.control.readers) {
        let horizon = past.time_ms.saturating_sub(recovery.period_days * DAY_MS);
        // An unreadable record is not removed, and ends the removal: it must not fail the write.
        let is_over =
            |bytes: &[u8]| HistoryRecord::parse(bytes).is_ok_and(|past| past.time_ms < horizon);
        let expired = walks::take_while(
            transaction.read(),
            &Space::History.range(table.source),
            EXPIRED_REMOVED_MAX,
            |key, bytes| is_over(bytes).then(|| key.to_vec()),
        )?;
        for key in expired {
            transaction.batch.delete(&key)?;
        }
    }
    Ok(())
}

/// Returns the version bound of the last moment at or before `time_ms`; `last` is the last version
/// taken. A binary search, as times rise with versions.
pub fn bound_at(
    read: &dyn Read,
    source: SourceId,
    time_ms: u64,
    last: Version,
) -> Result<Version, StoreError> {
    let (mut lower, mut upper) = (0, last);
    // The first change after `upper` is too late, or there is none; the changes up to `lower` are
    // not too late.
    while lower < upper {
        let middle = lower + (upper - lower) / 2;
        match first_after(read, source, middle)? {
            Some((version, at)) if at <= time_ms => lower = version,
            Some(_) | None => upper = middle,
        }
    }
    Ok(first_after(read, source, lower)?.map_or(last, |(version, _)| version - 1))
}

/// Returns version and time of the first change after a version.
fn first_after(
    read: &dyn Read,
    source: SourceId,
    version: Version,
) -> Result<Option<(Version, u64)>, StoreError> {
    walks::first(read, &range_after(source, version), |key, bytes| {
        let time = |version| Ok((version, HistoryRecord::parse(bytes)?.time_ms));
        keys::parse_version(key).map(time).transpose()
    })
}

/// Returns the range of the changes after a version.
#[must_use]
pub fn range_after(source: SourceId, version: Version) -> KeyRange {
    Space::History
        .range(source)
        .after(Some(StoreKey::History(source, version).encode()))
}
