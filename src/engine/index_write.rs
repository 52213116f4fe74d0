//! Secondary index maintenance, written: puts and deletes the entries of one index, and updates its
//! item collections and counters. `engine::index` computes the entries; `engine::write`, the
//! backfill and the lag worker call this.

use super::{
    base::counters::{CollectionRecord, CounterDelta, new_collection},
    index::{self, IndexEntry, IndexView, Transition},
    runtime::prelude::*,
};
use crate::codec::record;
use crate::model::Projection;

/// The write that an entry belongs to.
#[derive(Debug, Clone, Copy)]
pub struct WriteStamp<'r> {
    pub version: Version,
    /// Milliseconds since the epoch.
    pub modified_ms: u64,
    /// The record of the item after the write, of this version and time, if it is available.
    pub record: Option<&'r [u8]>,
}

impl WriteStamp<'_> {
    /// Applies the change of an item to an index; `new` is the item after it.
    pub fn apply(
        self,
        transaction: &mut Transaction<'_>,
        view: &IndexView<'_>,
        transition: &Transition<'_>,
        new: Option<&Item>,
    ) -> Result<(), StoreError> {
        let is_in_place = transition.is_in_place();
        if let Some(entry) = transition.old.as_ref().filter(|_| !is_in_place) {
            transaction.batch.delete(&entry.address.encode())?;
            self.count_entry(
                transaction,
                view,
                entry,
                IndexEntry::size_change(Some(entry), None),
            )?;
        }
        let Some(entry) = &transition.new else {
            return Ok(());
        };
        let Some(item) = new else {
            debug_assert!(false, "an entry without its item");
            return Ok(());
        };
        let first = index::leading_names(view.table, view.index);
        let record = match self
            .record
            .filter(|_| view.index.projection == Projection::All && view.index.vector.is_none())
        {
            Some(record) => record::reorder(record, &first)?,
            None => record::encode(
                &view.projected(item),
                &first,
                self.version,
                self.modified_ms,
            ),
        };
        transaction.batch.put(&entry.address.encode(), &record)?;
        self.count_entry(
            transaction,
            view,
            entry,
            if is_in_place {
                transition.size_change()
            } else {
                IndexEntry::size_change(None, Some(entry))
            },
        )
    }

    fn count_entry(
        self,
        transaction: &mut Transaction<'_>,
        view: &IndexView<'_>,
        entry: &IndexEntry<'_>,
        change: CounterDelta,
    ) -> Result<(), StoreError> {
        let names = view
            .index
            .partition
            .iter()
            .map(|attribute| attribute.name.as_str());
        let partition: Vec<(&str, &AttributeValue)> =
            names.zip(entry.partition.iter().copied()).collect();
        let partition_keys = grow_collection(
            transaction,
            view.source,
            entry.address.digest,
            &partition,
            change,
            self.modified_ms,
        )?;
        transaction.shared.batch.add_counters(
            view.source,
            CounterDelta {
                partition_keys,
                ..change
            },
        );
        Ok(())
    }
}

/// Changes a collection by entries and bytes; returns the change of the number of collections.
///
/// # Errors
/// Fails with `Corrupt` if a counter would be negative; also errors of the store.
pub fn grow_collection(
    transaction: &mut Transaction<'_>,
    source: SourceId,
    digest: Digest,
    partition: &[(&str, &AttributeValue)],
    change: CounterDelta,
    modified_ms: u64,
) -> Result<i64, StoreError> {
    let key = StoreKey::Collection(source, &digest).encode();
    let Some(value) = transaction.batch.get(&key)? else {
        // Only the first entry makes a collection.
        let bytes = usize::try_from(change.bytes)
            .ok()
            .filter(|_| change.entries == 1)
            .ok_or_else(|| {
                let error = StoreError::Corrupt("an entry without its collection");
                locate(transaction.read(), &key, error)
            })?;
        transaction
            .batch
            .put(&key, &new_collection(partition, bytes, modified_ms))?;
        return Ok(1);
    };
    match CollectionRecord::parse(value)?.updated(change, modified_ms)? {
        Some(value) => {
            transaction.batch.put(&key, &value)?;
            Ok(0)
        }
        None => {
            transaction.batch.delete(&key)?;
            Ok(-1)
        }
    }
}
