//! The change of one item: the base entry, item collections, index entries, counters, history and
//! stream record, all in one transaction. `action` and `update` plan a change, `condition` checks
//! the stored item before it.

pub mod action;
pub mod condition;
pub mod update;

use super::{
    base::{
        counters::{CounterDelta, size_change},
        item_key, vector_write_bytes, write_units,
    },
    history::{self, HistoryRecord},
    index::{self, IndexView, Transition},
    index_lag::{self, PendingIndexWrite},
    index_life::{self, violations},
    index_write::{WriteStamp, grow_collection},
    partitions::content,
    runtime::prelude::*,
    streams::record::{CapturedChange, capture},
    time_to_live,
};
use crate::codec::record;
use crate::model::{api::ItemCollectionMetrics, limits::ENTRY_OVERHEAD_BYTES};

use condition::StoredItem;

const GIGABYTE: u64 = 1024 * 1024 * 1024;

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedWrite {
    /// The stored version after a put.
    pub version: Version,
    pub consumed_capacity: ConsumedCapacity,
}

/// Replaces the stored item with `new`, or deletes it. Checks the attribute names of `new`, for
/// every write that did not check all limits before: an item with a bad name could never be put
/// back.
///
/// # Errors
/// Fails with `Value` for a bad name; otherwise as [`replace_checked`] does.
pub fn replace(
    transaction: &mut Transaction<'_>,
    stored: &StoredItem,
    new: Option<&Item>,
) -> Result<AppliedWrite, Error> {
    new.map_or(Ok(()), Item::check_names)?;
    replace_checked(transaction, stored, new)
}

/// Replaces the stored item as [`replace`] does, with an item that [`Item::check_limits`] accepted
/// for the same operation.
///
/// # Errors
/// Fails with `ItemCollectionSizeLimitExceeded`, or with `Throttled` for an index, before anything
/// is written; also errors of the store.
pub fn replace_checked(
    transaction: &mut Transaction<'_>,
    stored: &StoredItem,
    new: Option<&Item>,
) -> Result<AppliedWrite, Error> {
    let (table, key) = (&*stored.table, &stored.key);
    // A key of another type has no encoding: the item would be written under a wrong key. Requests
    // are checked before; the items that a job copies come from the disk.
    if !item_key::has_types(&table.schema.key, key) {
        return Err(StoreError::Corrupt("the primary key of an item").into());
    }
    let mut change = ItemChange::prepare(transaction, stored, new)?;
    // The units of the table only: those of the indexes are added below.
    let table_units = change.applied.consumed_capacity.table;
    let version = new.map(|_| change.applied.version);
    // The same item again gets no new version and no stream record, as in the service; but it
    // consumes write units.
    if change.is_noop() {
        transaction.charge_table(table, &stored.address, table_units)?;
        transaction.record_write(&table.schema.name, key, version);
        return Ok(change.applied);
    }
    // The item is decoded for indexes only: records can be compared and measured without decoding.
    let old_item = if table.schema.indexes.is_empty() {
        None
    } else {
        stored.item()?
    };
    let effects = IndexChanges::of(stored, old_item, new);
    if table.has_local_index() {
        let limit = transaction.shared.options.collection_bytes_max;
        let growth = effects.growth(size_change(change.old_bytes, change.new_bytes));
        // A write alone: its own growth is all the growth since the counters. A transaction passes
        // the sum of its actions.
        let bytes = check_collection(transaction.read(), limit, stored, growth, growth)?;
        if let Some(bytes) = bytes {
            let shared = transaction.shared;
            shared.collection_warnings.warn(
                &shared.options,
                &table.schema.name,
                &key.partition,
                bytes,
                growth,
            );
        }
    }

    // The last check that can refuse the write. After it the batch is changed, and a job that has
    // written must not fail, because other jobs share its transaction.
    effects
        .0
        .iter()
        .try_for_each(|(view, transition)| transaction.admit_index(table, view, transition))?;
    // On a full disk a transaction of removals alone may use the reserved space.
    match new {
        Some(_) => transaction.mark_addition(),
        None => transaction.mark_removal(),
    }
    transaction.charge_table(table, &stored.address, table_units)?;
    change.write_base(transaction, stored)?;
    change.write_derived(transaction, stored)?;
    violations::maintain(transaction, table, &stored.address.place(), old_item, new)?;
    // One pending record serves all late indexes; the other indexes change in this transaction.
    let lags = index_lag::is_lagging(transaction.shared, table);
    if lags {
        let (time_ms, place) = (change.modified_ms, &stored.address.place()[..]);
        let pending = PendingIndexWrite {
            due_ms: 0,
            time_ms,
            place,
            old: stored.bytes(),
            new: change.record.as_deref(),
        };
        index_lag::append(transaction, table, change.applied.version, pending)?;
    }
    for (view, transition) in effects.0 {
        let is_late = lags && table.index_life.is_late(view.index);
        // An index under construction is never late, so that it is complete when the backfill ends;
        // it cannot be read before.
        let transition = match !is_late && table.index_life.is_building(&view.index.name) {
            true => index_life::building_transition(transaction.read(), &view, key, old_item, new)?,
            false => transition,
        };
        // The units are charged now, even if the index lags: they belong to this write.
        let charged = change.charge(&view, &transition);
        if !is_late {
            let (version, modified_ms) = (change.applied.version, change.modified_ms);
            let stamp = WriteStamp {
                version,
                modified_ms,
                record: change.record.as_deref(),
            };
            stamp.apply(transaction, &view, &transition, new)?;
        }
        if view.index.kind == IndexKind::Vector {
            transaction.charge_vector(table, view.source, charged)?;
        } else {
            transaction.charge_index(table, &transition)?;
        }
    }
    transaction.record_write(&table.schema.name, key, version);
    Ok(change.applied)
}

/// Refuses a change of an item if a global index has no write capacity left.
///
/// # Errors
/// Fails with `Throttled`, or with an error of the store.
pub fn admit_indexes(
    transaction: &Transaction<'_>,
    stored: &StoredItem,
    new: Option<&Item>,
) -> Result<(), Error> {
    if transaction.shared.throttle.is_none() {
        return Ok(());
    }
    // After the early return: the transitions decode the old item.
    let effects = IndexChanges::of(stored, stored.item()?, new);
    effects
        .0
        .iter()
        .try_for_each(|(view, transition)| transaction.admit_index(&stored.table, view, transition))
}

/// Returns by how many bytes, with overhead, a change of an item grows its item collection; 0
/// without local indexes.
pub fn collection_growth(stored: &StoredItem, new: Option<&Item>) -> Result<i64, StoreError> {
    if !stored.table.has_local_index() {
        return Ok(0);
    }
    let old = stored.item()?;
    Ok(IndexChanges::of(stored, old, new)
        .growth(size_change(old.map(Item::size), new.map(Item::size))))
}

/// Refuses growth of a collection past its limit; shrinking writes pass. The growth is given for
/// this write alone and for all writes since the collection was counted. Returns the collection's
/// bytes if it grows.
///
/// # Errors
/// Fails with `ItemCollectionSizeLimitExceeded`, or with an error of the store.
pub fn check_collection(
    read: &dyn Read,
    limit: u64,
    stored: &StoredItem,
    item_growth: i64,
    growth: i64,
) -> Result<Option<u64>, Error> {
    // A collection above its limit can still be emptied.
    if item_growth <= 0 {
        return Ok(None);
    }
    let bytes = collection_bytes(read, &stored.table, &stored.address.digest)?
        .saturating_add_signed(growth);
    if bytes > limit {
        Err(Error::ItemCollectionSizeLimitExceeded)
    } else {
        Ok(Some(bytes))
    }
}

/// The changes of an item in each index of its table.
struct IndexChanges<'i>(Vec<(IndexView<'i>, Transition<'i>)>);

impl<'i> IndexChanges<'i> {
    fn of(stored: &'i StoredItem, old: Option<&'i Item>, new: Option<&'i Item>) -> Self {
        let transitions = index::index_views(&stored.table)
            .map(|view| (view, Transition::of(&view, &stored.key, old, new)));
        Self(transitions.collect())
    }

    /// Returns the growth of the item collection, in bytes with overhead; `base` is that of the
    /// base item.
    fn growth(&self, base: CounterDelta) -> i64 {
        let of_local = self
            .0
            .iter()
            .filter(|(view, _)| view.index.kind == IndexKind::Local);
        let growths =
            std::iter::once(base).chain(of_local.map(|(_, transition)| transition.size_change()));
        growths
            .map(|change| change.bytes + change.entries * ENTRY_OVERHEAD_BYTES.cast_signed())
            .sum()
    }
}

/// A change of one item in progress.
struct ItemChange {
    /// The new record; `None` for a delete.
    record: Option<Vec<u8>>,
    old_bytes: Option<usize>,
    new_bytes: Option<usize>,
    is_same: bool,
    modified_ms: u64,
    applied: AppliedWrite,
}

impl ItemChange {
    /// Encodes the new item and compares it with the stored one.
    fn prepare(
        transaction: &Transaction<'_>,
        stored: &StoredItem,
        new: Option<&Item>,
    ) -> Result<Self, StoreError> {
        let modified_ms = transaction.now_ms();
        let next = transaction.next_version()?;
        // The key attributes come first in a record, as they do in its JSON.
        let first = stored.table.schema.key.names();
        let new_item = new;
        let record = new.map(|item| record::encode(item, &first, next, modified_ms));
        let old = stored.record()?;
        let new = record.as_deref().map(Record::parse).transpose()?;
        let is_same =
            matches!((&old, &new), (Some(old), Some(new)) if old.content() == new.content());
        let old_bytes = old.map(|record| record.item_bytes() as usize);
        let new_bytes = new.map(|record| record.item_bytes() as usize);
        let saved =
            |item: Option<&Item>| item.map_or(0, |item| index::vector_savings(&stored.table, item));
        let saved = match stored.table.schema.indexes_of(IndexKind::Vector).next() {
            None => (0, 0),
            Some(_) => (saved(stored.item()?), saved(new_item)),
        };
        let table_units = write_units(
            (old_bytes.unwrap_or(0).saturating_sub(saved.0))
                .max(new_bytes.unwrap_or(0).saturating_sub(saved.1)),
        );
        let consumed_capacity = ConsumedCapacity::of_table(table_units);
        // An unchanged item keeps its version, so that conditions on it still hold.
        let version = if is_same {
            old.map_or(0, |record| record.version())
        } else {
            next
        };
        Ok(Self {
            record,
            old_bytes,
            new_bytes,
            is_same,
            modified_ms,
            applied: AppliedWrite {
                version,
                consumed_capacity,
            },
        })
    }

    /// True if the change writes the same item again or deletes a missing one.
    fn is_noop(&self) -> bool {
        self.is_same || (self.record.is_none() && self.old_bytes.is_none())
    }

    fn write_base(
        &mut self,
        transaction: &mut Transaction<'_>,
        stored: &StoredItem,
    ) -> Result<(), StoreError> {
        let (table, key) = (&*stored.table, &stored.key);
        let store_key = stored.address.encode();
        if table.control.keeps_history() {
            let past = HistoryRecord {
                time_ms: self.modified_ms,
                place: &stored.address.place(),
                old: stored.bytes(),
            };
            // A delete has no record that carries its version: its history entry does.
            history::append(transaction, table, self.applied.version, past)?;
            transaction.shared.batch.take_version(self.applied.version);
        }
        match &self.record {
            Some(record) => {
                transaction.batch.put(&store_key, record)?;
                transaction.shared.batch.take_version(self.applied.version);
            }
            None => {
                transaction.batch.delete(&store_key)?;
            }
        }
        let change = size_change(self.old_bytes, self.new_bytes);
        let partition_keys = if table.has_collections() {
            let partition = [(table.schema.key.partition.name.as_str(), &key.partition)];
            grow_collection(
                transaction,
                table.source,
                stored.address.digest,
                &partition,
                change,
                self.modified_ms,
            )?
        } else {
            // Without a sort key each item has a partition key value of its own.
            change.entries
        };
        transaction.shared.batch.add_counters(
            table.source,
            CounterDelta {
                partition_keys,
                ..change
            },
        );
        Ok(())
    }

    /// Writes the stream record and the expiry entry of a change.
    fn write_derived(
        &self,
        transaction: &mut Transaction<'_>,
        stored: &StoredItem,
    ) -> Result<(), StoreError> {
        let (table, key) = (&*stored.table, &stored.key);
        let (old, new) = (stored.bytes(), self.record.as_deref());
        let (version, modified_ms) = (self.applied.version, self.modified_ms);
        capture(
            transaction,
            table,
            &CapturedChange {
                key,
                old,
                new,
                version,
                modified_ms,
            },
        )?;
        time_to_live::update_list(transaction, table, &stored.address, old, new)
    }

    /// Adds the write units of an index, or the `VectorWriteRequestBytes` of one of vectors, to the
    /// consumed capacity; returns them.
    fn charge(&mut self, view: &IndexView<'_>, transition: &Transition<'_>) -> f64 {
        if transition.is_noop() {
            return 0.0;
        }
        let consumed = &mut self.applied.consumed_capacity;
        let (indexes, measure): (_, fn(usize) -> f64) = match view.index.kind {
            IndexKind::Global => (&mut consumed.global_indexes, write_units),
            IndexKind::Local => (&mut consumed.local_indexes, write_units),
            IndexKind::Vector => (&mut consumed.vector_indexes, vector_write_bytes),
        };
        let written = transition.written_bytes();
        let sum = written.map(|(_, bytes)| measure(bytes)).sum();
        indexes.insert(view.index.name.as_str().to_owned(), sum);
        sum
    }
}

/// Returns the billed bytes of an item collection in the table and its local indexes.
fn collection_bytes(
    read: &dyn Read,
    table: &TableEntry,
    digest: &Digest,
) -> Result<u64, StoreError> {
    content::collection_bytes(
        read,
        std::iter::once(table.source).chain(table.sources_of(IndexKind::Local)),
        digest,
    )
}

/// Returns `ItemCollectionMetrics` after a write; `None` for a table without local indexes.
pub fn collection_metrics(
    read: &dyn Read,
    table: &TableEntry,
    key: &Key,
) -> Result<Option<ItemCollectionMetrics>, StoreError> {
    if !table.has_local_index() {
        return Ok(None);
    }
    let digest = EntryAddress::of_item(table.source, key).digest;
    let gigabytes =
        u32::try_from(collection_bytes(read, table, &digest)? / GIGABYTE).unwrap_or(u32::MAX);
    let mut partition = Item::default();
    partition.0.insert(
        table.schema.key.partition.name.clone(),
        key.partition.clone(),
    );
    // The estimate of the service is a range of one gigabyte.
    let lower = f64::from(gigabytes);
    Ok(Some(ItemCollectionMetrics {
        key: partition,
        size_estimate_range_gb: [lower, lower + 1.0],
    }))
}

/// Returns `ItemCollectionMetrics` if the request asks for it.
pub fn collection_metrics_if(
    is_requested: bool,
    transaction: &Transaction<'_>,
    stored: &StoredItem,
) -> Result<Option<ItemCollectionMetrics>, StoreError> {
    if is_requested {
        collection_metrics(transaction.read(), &stored.table, &stored.key)
    } else {
        Ok(None)
    }
}
