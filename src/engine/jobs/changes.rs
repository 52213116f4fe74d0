//! The job behind an incremental export: collects the changes of each item between two moments of a
//! table (a change log compacted to one entry for each item).
//!
//! The job reads the table's history once, forward from the window's start. The first change of an
//! item within the window has as old image the item as it was when the window began; the last one
//! has the time of the item's change. The item as it was when the window ended is the present one,
//! if that is old enough, and otherwise the old image of the first change after the window: the
//! scan reaches it later, as each change left a record. An item without a known new image at the
//! end of the history was deleted.

use crate::engine::{
    account::job::ChangesJob,
    base::stored_form::{Prefixed, decode_parts, encode_parts},
    history::{self, HistoryRecord},
    runtime::prelude::*,
};

/// The maximum of history records in one batch.
const RECORDS_MAX: usize = 500;
/// Bytes of history records after which a batch ends.
const BYTES_MAX: usize = 1024 * 1024;

/// A changed item while it is collected, in this stored form:
/// ```text
/// time u64 · is settled u8 · length of old u32 · old record · new record, both empty if there was no item
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedItem<'b> {
    /// The time of its last change in the window; milliseconds since the epoch.
    pub time_ms: u64,
    /// True if the new record is known.
    is_new_known: bool,
    /// The record when the window began.
    pub old: Option<&'b [u8]>,
    /// The record when the window ended.
    pub new: Option<&'b [u8]>,
}

impl<'b> ChangedItem<'b> {
    /// Parses the stored form. Fails with `Corrupt` for any other bytes.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, StoreError> {
        let (time_ms, is_settled, Prefixed(old), new): (_, u8, _, _) =
            decode_parts(bytes, "a change for an export")?;
        Ok(Self {
            time_ms,
            is_new_known: is_settled != 0,
            old: Some(old).filter(|old| !old.is_empty()),
            new,
        })
    }

    fn encode(&self) -> Vec<u8> {
        encode_parts(&(
            self.time_ms,
            u8::from(self.is_new_known),
            Prefixed(self.old.unwrap_or_default()),
            self.new,
        ))
    }
}

/// Reads a batch of the history; returns the new cursor, or `None` at the end.
pub(super) fn run_batch(
    transaction: &mut Transaction<'_>,
    changes: &ChangesJob,
) -> Result<Option<Version>, Error> {
    let mut seen: Vec<(Version, Vec<u8>)> = Vec::new();
    let range = history::range_after(changes.source, changes.after);
    let last = walks::batch(
        transaction.read(),
        &range,
        RECORDS_MAX,
        BYTES_MAX,
        |key, record| {
            let version = keys::parse_version(key).ok_or(StoreError::Corrupt("a history key"))?;
            seen.push((version, record.to_vec()));
            Ok(record.len())
        },
    )?;
    for (version, record) in &seen {
        record_change(
            transaction,
            changes,
            *version,
            HistoryRecord::parse(record)?,
        )?;
    }
    Ok(last.and_then(|_| seen.last()).map(|(version, _)| *version))
}

fn record_change(
    transaction: &mut Transaction<'_>,
    changes: &ChangesJob,
    version: Version,
    past: HistoryRecord<'_>,
) -> Result<(), StoreError> {
    let key = Space::Entry.key(changes.into, past.place);
    let gathered = transaction.batch.get(&key)?;
    let gathered = gathered.map(ChangedItem::parse).transpose()?;
    let present;
    let change = match gathered {
        Some(change) if version <= changes.until => ChangedItem {
            time_ms: past.time_ms,
            ..change
        },
        Some(change) if !change.is_new_known => ChangedItem {
            is_new_known: true,
            new: past.old,
            ..change
        },
        Some(_) => return Ok(()),
        None if version <= changes.until => {
            present = transaction
                .batch
                .get(&Space::Entry.key(changes.source, past.place))?;
            let new = match present {
                Some(record) if Record::parse(record)?.version() <= changes.until => Some(record),
                Some(_) | None => None,
            };
            ChangedItem {
                time_ms: past.time_ms,
                is_new_known: new.is_some(),
                old: past.old,
                new,
            }
        }
        None => return Ok(()),
    };
    let bytes = change.encode();
    transaction.batch.put(&key, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_round_trip() {
        for (old, new) in [
            (None, None),
            (Some(&b"old"[..]), None),
            (None, Some(&b"new"[..])),
            (Some(b"a"), Some(b"b")),
        ] {
            let change = ChangedItem {
                time_ms: 7,
                is_new_known: new.is_some(),
                old,
                new,
            };
            assert_eq!(ChangedItem::parse(&change.encode()), Ok(change));
        }
        assert!(ChangedItem::parse(b"short").is_err());
    }
}
