//! The old images of a table's items: what lets a copy of the table be as of an earlier moment.
//!
//! A table keeps history while point-in-time recovery is on, or while a job reads it. From then on each change of an item leaves
//! one record under the version that the change got:
//! ```text
//! time u64 · length of place u32 · place · old record, empty when there was no item
//! ```
//! Versions rise with every change, so a version bound is a moment of the table: **the items as of version V are the items whose
//! version is at most V, and the old images in history whose version is at most V.** Items changed after V have a later version,
//! and their image as of V was left by the first change after V.

use super::{
    base::stored::{Long, bytes_of, parts_of},
    runtime::prelude::*,
};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Expired records removed with each one written: more than one, so that a backlog shrinks.
const EXPIRED_REMOVED_MAX: usize = 2;

/// One change of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Past<'b> {
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// The item's place in its source, see [`keys::place_in_source`].
    pub place: &'b [u8],
    /// The record before the change, if there was an item.
    pub old: Option<&'b [u8]>,
}

impl<'b> Past<'b> {
    /// # Errors
    /// `Corrupt`.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, StoreError> {
        let (time_ms, Long(place), old) = parts_of(bytes, "a history record")?;
        Ok(Self {
            time_ms,
            place,
            old,
        })
    }

    fn encode(&self) -> Vec<u8> {
        bytes_of(&(self.time_ms, Long(self.place), self.old))
    }
}

/// Notes a change of an item, if the table keeps history, and forgets what has expired.
///
/// # Errors
/// Those of the store.
pub fn note(
    transaction: &mut Transaction<'_>,
    table: &TableEntry,
    version: Version,
    past: Past<'_>,
) -> Result<(), StoreError> {
    transaction.batch.put(
        &StoreKey::History(table.source, version).encode(),
        &past.encode(),
    )?;
    // Not while a job reads: it may be on its way to what would be forgotten.
    if let (Some(recovery), 0) = (table.control.recovery, table.control.readers) {
        let horizon = past.time_ms.saturating_sub(recovery.period_days * DAY_MS);
        let is_over = |bytes: &[u8]| Past::parse(bytes).is_ok_and(|past| past.time_ms < horizon);
        let expired = walks::take_while(
            transaction.read(),
            &Space::History.of(table.source),
            EXPIRED_REMOVED_MAX,
            |key, bytes| is_over(bytes).then(|| key.to_vec()),
        )?;
        for key in expired {
            transaction.batch.delete(&key)?;
        }
    }
    Ok(())
}

/// The version bound of the last moment at or before `time_ms`, `last` being the version given last: by halves, as times rise with
/// versions.
///
/// # Errors
/// Those of the store.
pub fn bound_at(
    read: &dyn Read,
    source: SourceId,
    time_ms: u64,
    last: Version,
) -> Result<Version, StoreError> {
    let (mut lower, mut upper) = (0, last);
    // The first change after `upper` is too late, or there is none; the changes up to `lower` are not.
    while lower < upper {
        let middle = lower + (upper - lower) / 2;
        match first_after(read, source, middle)? {
            Some((version, at)) if at <= time_ms => lower = version,
            Some(_) | None => upper = middle,
        }
    }
    Ok(first_after(read, source, lower)?.map_or(last, |(version, _)| version - 1))
}

/// The first change after a version: its version and time.
fn first_after(
    read: &dyn Read,
    source: SourceId,
    version: Version,
) -> Result<Option<(Version, u64)>, StoreError> {
    walks::first(read, &after(source, version), |key, bytes| {
        let time = |version| Ok((version, Past::parse(bytes)?.time_ms));
        keys::version_of(key).map(time).transpose()
    })
}

/// The changes after a version.
#[must_use]
pub fn after(source: SourceId, version: Version) -> KeyRange {
    Space::History
        .of(source)
        .after(Some(StoreKey::History(source, version).encode()))
}
