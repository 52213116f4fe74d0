//! A piece of a copy.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::after_piece::AfterPiece;
use super::fail::let_go;
use crate::codec::record::Record;
use crate::engine::account::job::{CopyJob, CopyPlace, CopySource, CopyTarget, Job};
use crate::engine::account::{AccountRecord, BackupRecord, ExportRecord, JobRecord};
use crate::engine::base::keys::{self, SourceId, Space};
use crate::engine::catalog::TableEntry;
use crate::engine::history::{self, Past};
use crate::engine::runtime::Transaction;
use crate::engine::write;
use crate::engine::write::stored::Stored;
use crate::model::Error;
use crate::model::api::backup::BackupStatus;
use crate::model::api::{TableStatus, Version};
use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read, try_walk};

/// Items of one piece.
const ITEMS_MAX: usize = 500;
/// Bytes of records after which a piece ends.
const BYTES_MAX: usize = 1024 * 1024;

/// Items read for one piece, and where the next begins.
#[derive(Debug, Default)]
struct Batch {
    /// Place and record.
    items: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    /// Keys looked at, also those passed over.
    looked_at: usize,
    last: Option<Vec<u8>>,
}

impl Batch {
    fn take(&mut self, place: &[u8], record: &[u8]) {
        self.bytes += record.len();
        self.items.push((place.to_vec(), record.to_vec()));
    }

    /// Notes a key; whether the piece has room for more.
    fn looked(&mut self, key: &[u8]) -> ControlFlow<()> {
        self.looked_at += 1;
        self.last = Some(key.to_vec());
        match self.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn is_full(&self) -> bool {
        self.looked_at >= ITEMS_MAX || self.bytes >= BYTES_MAX
    }
}

/// Copies some items; writes how far it is, or what belongs to the end.
pub(super) fn piece(transaction: &mut Transaction<'_>, id: u32, mut copy: CopyJob) -> Result<AfterPiece, Error> {
    let read = transaction.batch.as_read();
    let (source, bound) = match &copy.from {
        CopySource::Table { source, bound, .. } => (*source, *bound),
        CopySource::Backup { source, .. } => (*source, Version::MAX),
    };
    let batch = match &copy.place {
        CopyPlace::Items(after) => items(read, source, bound, after.as_deref())?,
        CopyPlace::History(after) => old_images(read, source, bound, *after)?,
    };
    let next = match (&copy.place, &batch.last) {
        (CopyPlace::Items(_), last) if batch.is_full() => Some(CopyPlace::Items(last.clone())),
        (CopyPlace::Items(_), _) if matches!(copy.from, CopySource::Table { .. }) => Some(CopyPlace::History(bound)),
        (CopyPlace::History(_), Some(last)) if batch.is_full() => Some(CopyPlace::History(keys::version_of(last).unwrap_or(bound))),
        (CopyPlace::Items(_) | CopyPlace::History(_), _) => None,
    };
    let written = write_items(transaction, &copy.to, &batch.items)?;
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

fn items(read: &dyn Read, source: SourceId, bound: Version, after: Option<&[u8]>) -> Result<Batch, StoreError> {
    let mut range = Space::Entry.of(source);
    if let Some(after) = after {
        range.lower = Bound::Excluded(after.to_vec());
    }
    gather(read, &range, |batch, key, bytes| {
        if Record::parse(bytes)?.version() <= bound {
            batch.take(keys::place_in_source(key), bytes);
        }
        Ok(())
    })
}

fn old_images(read: &dyn Read, source: SourceId, bound: Version, after: Version) -> Result<Batch, StoreError> {
    gather(read, &history::after(source, after), |batch, _, bytes| {
        let past = Past::parse(bytes)?;
        if let Some(old) = past.old
            && Record::parse(old)?.version() <= bound
        {
            batch.take(past.place, old);
        }
        Ok(())
    })
}

fn gather(
    read: &dyn Read,
    range: &KeyRange,
    mut take: impl FnMut(&mut Batch, &[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<Batch, StoreError> {
    let mut batch = Batch::default();
    try_walk(read, range, Direction::Forward, |key, bytes| {
        take(&mut batch, key, bytes)?;
        Ok(batch.looked(key))
    })?;
    Ok(batch)
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
            transaction.charges.turn_off();
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
    let stored = Stored::read(transaction.batch.as_read(), table, key)?;
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
                let mut new = (*old).clone();
                new.status = TableStatus::Active;
                if let Some(restored) = &mut new.control.restored {
                    restored.is_in_progress = false;
                }
                transaction.replace_table(&new)?;
            }
        }
    }
    Ok(AfterPiece::Done { job, export })
}
