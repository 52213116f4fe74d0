//! One batch of a copy job (see `engine::jobs`): reads the next items or history records of the
//! source, writes them to a backup, an export or a restored table, and returns the new cursor.

use crate::engine::{
    account::{
        AccountRecord, BackupRecord, ExportRecord,
        job::{CopyJob, CopyPlace, CopySource, CopyTarget},
    },
    history::{self, HistoryRecord},
    runtime::prelude::*,
    write::{self, condition::StoredItem},
};

/// The maximum of items in one batch.
const ITEMS_MAX: usize = 500;
/// Bytes of records after which a batch ends.
const BYTES_MAX: usize = 1024 * 1024;

/// Pairs of an item's place in its source and its record.
type Items = [(Vec<u8>, Vec<u8>)];

/// Copies a batch of items; returns the new cursor, or `None` at the end.
pub(super) fn run_batch(
    transaction: &mut Transaction<'_>,
    copy: &CopyJob,
) -> Result<Option<CopyPlace>, Error> {
    let (source, bound, has_history) = match &copy.from {
        CopySource::Table { source, bound, .. } => (*source, *bound, true),
        CopySource::Backup { source, .. } => (*source, Version::MAX, false),
    };
    let range = match &copy.place {
        CopyPlace::Items(after) => Space::Entry.range(source).after(after.clone()),
        CopyPlace::History(after) => history::range_after(source, *after),
    };
    let mut items = Vec::new();
    let last = walks::batch(
        transaction.read(),
        &range,
        ITEMS_MAX,
        BYTES_MAX,
        |key, bytes| {
            let (place, record) = match &copy.place {
                CopyPlace::Items(_) => (keys::place_in_source(key), Some(bytes)),
                CopyPlace::History(_) => {
                    HistoryRecord::parse(bytes).map(|past| (past.place, past.old))?
                }
            };
            match record {
                Some(record) if Record::parse(record)?.version() <= bound => {
                    items.push((place.to_vec(), record.to_vec()));
                    Ok(record.len())
                }
                _ => Ok(0),
            }
        },
    )?;
    write_items(transaction, &copy.to, &items)?;
    let version =
        |key: Vec<u8>| keys::parse_version(&key).ok_or(StoreError::Corrupt("a history key"));
    Ok(match (&copy.place, last) {
        (CopyPlace::Items(_), Some(last)) => Some(CopyPlace::Items(Some(last))),
        (CopyPlace::Items(_), None) => has_history.then_some(CopyPlace::History(bound)),
        // A malformed key must not start the history over: the job would never end.
        (CopyPlace::History(_), last) => last.map(version).transpose()?.map(CopyPlace::History),
    })
}

fn write_items(
    transaction: &mut Transaction<'_>,
    to: &CopyTarget,
    items: &Items,
) -> Result<(), Error> {
    let source = match to {
        CopyTarget::Backup { source, .. } | CopyTarget::Export { source, .. } => *source,
        CopyTarget::Table { name } => return put_items(transaction, name, items),
    };
    // The counts of items, and of their bytes, that were not in the target before.
    let mut written = (0, 0);
    for (place, record) in items {
        let key = Space::Entry.key(source, place);
        // Puts are idempotent: an item that was already copied, from the items, from the history,
        // or before a restart, was the same.
        if transaction.batch.get(&key)?.is_none() {
            transaction.batch.put(&key, record)?;
            written.0 += 1;
            written.1 += u64::from(Record::parse(record)?.item_bytes());
        }
    }
    let add = |items: &mut u64, bytes: &mut u64| {
        (*items, *bytes) = (*items + written.0, *bytes + written.1)
    };
    match to {
        CopyTarget::Backup { arn, .. } => {
            BackupRecord::change(transaction.batch, arn, |record| {
                add(&mut record.items, &mut record.bytes)
            })?;
        }
        CopyTarget::Export { arn, .. } => {
            let add =
                |record: &mut ExportRecord| add(&mut record.export.items, &mut record.export.bytes);
            ExportRecord::change(transaction.batch, arn, add)?;
        }
        CopyTarget::Table { .. } => {}
    }
    Ok(())
}

fn put_items(
    transaction: &mut Transaction<'_>,
    name: &TableName,
    items: &Items,
) -> Result<(), Error> {
    // A table that is being restored cannot be deleted.
    let table = transaction.table(name)?.ok_or(Error::ResourceNotFound)?;
    transaction.charges.is_off = true;
    for (_, record) in items {
        let item = Record::parse(record)?.to_item()?;
        let key = item
            .key(&table.schema.key)
            .ok_or(StoreError::Corrupt("an item without its key"))?;
        let stored = StoredItem::read(transaction.read(), &table, key)?;
        write::replace(transaction, &stored, Some(&item))?;
    }
    Ok(())
}
