//! A piece of a copy.

use super::ending::{AfterPiece, Rest, let_go};
use crate::engine::account::job::{CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use crate::engine::account::{AccountRecord, BackupRecord, ExportRecord, JobRecord};
use crate::engine::history::{self, Past};
use crate::engine::prelude::*;
use crate::engine::runtime::Transaction;
use crate::engine::write;
use crate::engine::write::guard::Stored;
use crate::model::api::backup::BackupStatus;

/// Items of one piece.
const ITEMS_MAX: usize = 500;
/// Bytes of records after which a piece ends.
const BYTES_MAX: usize = 1024 * 1024;

/// Items by their places, and the last key that was looked at when there may be more.
type Batch = (Vec<(Vec<u8>, Vec<u8>)>, Option<Vec<u8>>);

/// Copies some items; writes how far it is, or what belongs to the end.
pub(super) fn piece(transaction: &mut Transaction<'_>, id: u32, mut copy: CopyJob) -> Result<AfterPiece, Error> {
    let read = transaction.read();
    let (source, bound) = match &copy.from {
        CopySource::Table { source, bound, .. } => (*source, *bound),
        CopySource::Backup { source, .. } => (*source, Version::MAX),
    };
    let (items, last) = match &copy.place {
        CopyPlace::Items(after) => items(read, source, bound, after.clone())?,
        CopyPlace::History(after) => old_images(read, source, bound, *after)?,
    };
    let next = match (&copy.place, last) {
        (CopyPlace::Items(_), last @ Some(_)) => Some(CopyPlace::Items(last)),
        (CopyPlace::Items(_), None) if matches!(copy.from, CopySource::Table { .. }) => Some(CopyPlace::History(bound)),
        (CopyPlace::History(_), Some(last)) => Some(CopyPlace::History(keys::version_of(&last).unwrap_or(bound))),
        (CopyPlace::Items(_) | CopyPlace::History(_), None) => None,
    };
    let written = write_items(transaction, &copy.to, &items)?;
    count(transaction, &copy.to, written)?;
    match next {
        Some(place) => {
            copy.place = place;
            JobRecord { id, job: Job::Copy(copy) }.put(transaction.batch, &id.to_string())?;
            Ok(AfterPiece::Again)
        }
        None => {
            JobRecord::delete(transaction.batch, &id.to_string())?;
            finish(transaction, copy)
        }
    }
}

fn items(read: &dyn Read, source: SourceId, bound: Version, after: Option<Vec<u8>>) -> Result<Batch, StoreError> {
    gather(read, &Space::Entry.of(source).after(after), |key, bytes| {
        let is_there = Record::parse(bytes)?.version() <= bound;
        Ok(is_there.then(|| (keys::place_in_source(key).to_vec(), bytes.to_vec())))
    })
}

fn old_images(read: &dyn Read, source: SourceId, bound: Version, after: Version) -> Result<Batch, StoreError> {
    gather(read, &history::after(source, after), |_, bytes| match Past::parse(bytes)? {
        Past { place, old: Some(old), .. } if Record::parse(old)?.version() <= bound => Ok(Some((place.to_vec(), old.to_vec()))),
        _ => Ok(None),
    })
}

fn gather(
    read: &dyn Read,
    range: &KeyRange,
    take: impl Fn(&[u8], &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreError>,
) -> Result<Batch, StoreError> {
    let mut items = Vec::new();
    let last = walks::piece(read, range, (ITEMS_MAX, BYTES_MAX), |key, bytes| {
        let taken = take(key, bytes)?;
        let bytes = taken.as_ref().map_or(0, |(_, record)| record.len());
        items.extend(taken);
        Ok(bytes)
    })?;
    Ok((items, last))
}

/// Items and item bytes that came new.
type Written = (u64, u64);

fn write_items(transaction: &mut Transaction<'_>, to: &CopyTarget, items: &[(Vec<u8>, Vec<u8>)]) -> Result<Written, Error> {
    let mut written = (0, 0);
    match to {
        CopyTarget::Backup { source, .. } | CopyTarget::Export { source, .. } => {
            for (place, record) in items {
                let key = Space::Entry.at(*source, place);
                // Seen before, in the items or the history, or before a restart, it was the same.
                if transaction.batch.get(&key)?.is_none() {
                    transaction.batch.put(&key, record)?;
                    written.0 += 1;
                    written.1 += u64::from(Record::parse(record)?.item_bytes());
                }
            }
        }
        CopyTarget::Table { name } => {
            // A table that is being restored cannot be deleted.
            let table = transaction.table(name)?.ok_or(Error::ResourceNotFound)?;
            transaction.charges.is_off = true;
            for (_, record) in items {
                put(transaction, &table, record)?;
            }
        }
    }
    Ok(written)
}

fn put(transaction: &mut Transaction<'_>, table: &Arc<TableEntry>, record: &[u8]) -> Result<(), Error> {
    let item = Record::parse(record)?.to_item()?;
    let key = item.key(&table.schema.key).ok_or(StoreError::Corrupt("an item without its key"))?;
    let stored = Stored::read(transaction.read(), table, key)?;
    write::replace(transaction, &stored, Some(&item))?;
    Ok(())
}

/// Adds to the counters of a backup or export.
fn count(transaction: &mut Transaction<'_>, to: &CopyTarget, (items, bytes): Written) -> Result<(), StoreError> {
    match to {
        CopyTarget::Table { .. } => Ok(()),
        CopyTarget::Backup { arn, .. } => BackupRecord::change(transaction.batch, arn, |record| {
            record.items += items;
            record.bytes += bytes;
        }),
        CopyTarget::Export { arn, .. } => ExportRecord::change(transaction.batch, arn, |record| {
            record.export.items += items;
            record.export.bytes += bytes;
        }),
    }
}

fn finish(transaction: &mut Transaction<'_>, copy: CopyJob) -> Result<AfterPiece, Error> {
    let job = let_go(transaction, &copy.from)?;
    let mut export = None;
    match copy.to {
        CopyTarget::Backup { arn, .. } => {
            BackupRecord::change(transaction.batch, &arn, |record| record.status = BackupStatus::Available)?;
        }
        CopyTarget::Export { arn, .. } => {
            ExportRecord::change(transaction.batch, &arn, |record| record.is_copied = true)?;
            export = Some(arn);
        }
        CopyTarget::Table { name } => {
            if let Some(old) = transaction.table(&name)? {
                transaction.change_table(&old, |new| {
                    new.status = TableStatus::Active;
                    if let Some(restored) = &mut new.control.restored {
                        restored.is_in_progress = false;
                    }
                })?;
            }
        }
    }
    Ok(AfterPiece::Done(Rest { job, export, removal: None }))
}
