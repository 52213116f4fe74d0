//! One step of an index backfill: a resumable scan over the items of the table that writes the
//! index entries of some of them and stores its cursor with them. Where throttling is simulated, a
//! step writes as many entries as the index has write units for. The states around it are in
//! `index_life`.

use super::violations;
use crate::engine::{
    base::{
        stored_form::{decode_parts, encode_parts},
        write_units,
    },
    catalog::entry::{BuildPhase, BuildingIndex},
    index::{IndexEntry, IndexView, Transition},
    index_lag::NextStep,
    index_write::WriteStamp,
    meter::SourceMeter,
    runtime::{batch::source_counters, prelude::*},
};
use crate::model::api::IndexProgress;

/// Bytes of records read in one step, so that other writers do not wait.
const BYTES_PER_STEP: usize = 512 * 1024;

/// Ends the allocation of resources and begins the backfill.
pub fn begin(transaction: &mut Transaction<'_>, name: &TableName) -> Result<(), StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(());
    };
    let mut new = (*table).clone();
    let Some(building) = new
        .index_life
        .building
        .as_mut()
        // Another process may have begun the backfill already.
        .filter(|it| matches!(it.phase, BuildPhase::Allocation { .. }))
    else {
        return Ok(());
    };
    building.phase = BuildPhase::Backfill;
    let Some((_, source)) = table.index(&building.index) else {
        return Err(corrupt());
    };
    let mut progress = BackfillState::default();
    // An estimate: items may be written and deleted during the backfill.
    progress.counts.total = source_counters(transaction.read(), table.source)?.entries;
    progress.write(transaction.batch, source)?;
    transaction.replace_table(&new)
}

/// The result of a step.
#[derive(Debug)]
pub struct BackfillStep {
    pub next: NextStep,
    /// The meter of the index.
    pub meter: Arc<SourceMeter>,
    /// Write units of the entries that the step wrote.
    pub units: f64,
    /// Progress of the backfill in percent: 100 when the index is active.
    pub percent: u64,
}

impl BackfillStep {
    /// Counts the step in the meter, after its commit.
    pub fn count(&self, now_ms: u64) {
        self.meter.count_backfill(
            now_ms,
            self.units,
            matches!(self.next, NextStep::Later(_)),
            self.percent,
        );
    }
}

/// Writes the entries of some items; returns `None` if there is no backfill. The step after the
/// last item makes the index active.
pub fn step(
    transaction: &mut Transaction<'_>,
    name: &TableName,
) -> Result<Option<BackfillStep>, StoreError> {
    let Some(table) = transaction.table(name)? else {
        return Ok(None);
    };
    let Some(index) = in_backfill(&table) else {
        return Ok(None);
    };
    let Some((schema, source)) = table.index(index) else {
        return Err(corrupt());
    };
    let Some(violations) = table
        .index_life
        .made
        .get(index.as_str())
        .map(|made| made.violations)
    else {
        return Err(corrupt());
    };
    let read = transaction.read();
    let meter = transaction.shared.meter.source(read, &table, source)?;
    let mut progress = BackfillState::read(read, source)?.ok_or_else(corrupt)?;
    let items_max = transaction.shared.options.index_step_items;
    let batch = BackfillBatch::read(read, table.source, &progress.place, items_max)?;
    let (before, done) = (progress.counts.write_units, progress.counts.done);
    let target = BackfillTarget {
        table: &table,
        view: IndexView {
            table: &table.schema.key,
            index: schema,
            source,
        },
        violations,
    };
    let mut next = if batch.last.is_some() {
        NextStep::Again
    } else {
        NextStep::Nothing
    };
    // The items are read in the transaction that writes their entries, so no entry is older than
    // its item.
    for found in &batch.items {
        if let Some(wait_ms) = target.add(transaction, found, &mut progress)? {
            next = NextStep::Later(wait_ms);
            break;
        }
        // After each item, so that a throttled step is resumed behind the last entry written.
        progress.counts.done = done + found.number;
        progress.place.clone_from(&found.place);
    }
    let units = to_units(progress.counts.write_units - before);
    // Only a step that read to the end of the table, and was not throttled on the way, completes
    // the index.
    let is_last = matches!(
        (&next, &batch.last),
        (NextStep::Again | NextStep::Nothing, None)
    );
    match (next, batch.last) {
        // Throttled before the first item: the stored progress is still right, and nothing is
        // written.
        (NextStep::Later(_), _) if progress.counts.done == done => {}
        (NextStep::Later(_), _) => progress.write(transaction.batch, source)?,
        (_, Some(place)) => {
            // Damaged items at the end of the batch are passed too.
            progress.counts.done = done + batch.looked_at;
            progress.place = place;
            progress.write(transaction.batch, source)?;
        }
        (_, None) => finish(transaction, &table, source)?,
    }
    let percent = if is_last {
        100
    } else {
        progress.counts.percent()
    };
    Ok(Some(BackfillStep {
        next,
        meter,
        units,
        percent,
    }))
}

fn corrupt() -> StoreError {
    StoreError::Corrupt("an index under construction")
}

/// Returns the index that is in its backfill.
fn in_backfill(table: &TableEntry) -> Option<&IndexName> {
    match &table.index_life.building {
        Some(BuildingIndex {
            index,
            phase: BuildPhase::Backfill,
            ..
        }) if table.status == TableStatus::Active => Some(index),
        _ => None,
    }
}

/// An item of the table to be indexed.
struct BackfillItem {
    /// Number of items read in this step, including this one.
    number: u64,
    place: Vec<u8>,
    item: Item,
    stamp: WriteStamp<'static>,
}

/// The items of one step.
#[derive(Default)]
struct BackfillBatch {
    items: Vec<BackfillItem>,
    looked_at: u64,
    /// Place of the last item read, if there may be more.
    last: Option<Vec<u8>>,
}

impl BackfillBatch {
    fn read(
        read: &dyn Read,
        source: SourceId,
        after: &[u8],
        items_max: usize,
    ) -> Result<Self, StoreError> {
        // An empty place is the beginning: no item has been read.
        let after = Some(after)
            .filter(|after| !after.is_empty())
            .map(|after| Space::Entry.key(source, after));
        let mut batch = Self::default();
        let range = Space::Entry.range(source).after(after);
        let last = walks::batch(read, &range, items_max, BYTES_PER_STEP, |key, value| {
            let place = keys::place_in_source(key).to_vec();
            batch.looked_at += 1;
            match parse(value) {
                Ok((item, stamp)) => batch.items.push(BackfillItem {
                    number: batch.looked_at,
                    place,
                    item,
                    stamp,
                }),
                // A damaged item gets no entry; `check` reports it.
                Err(error) if error.is_corrupt() => {
                    log::error!("an item gets no index entry: {}", locate(read, key, error));
                }
                Err(error) => return Err(error),
            }
            Ok(value.len())
        })?;
        batch.last = last.map(|key| keys::place_in_source(&key).to_vec());
        Ok(batch)
    }
}

fn parse(bytes: &[u8]) -> Result<(Item, WriteStamp<'static>), StoreError> {
    let record = Record::parse(bytes)?;
    Ok((
        record.to_item()?,
        WriteStamp {
            version: record.version(),
            modified_ms: record.modified_ms(),
            record: None,
        },
    ))
}

/// The index that the entries are written to.
struct BackfillTarget<'t> {
    table: &'t TableEntry,
    view: IndexView<'t>,
    /// The list of violations.
    violations: SourceId,
}

impl BackfillTarget<'_> {
    /// Writes the entry of an item unless a write did so before, or adds the item to the list of
    /// violations. Returns the milliseconds to wait if the index has no write units left.
    fn add(
        &self,
        transaction: &mut Transaction<'_>,
        found: &BackfillItem,
        progress: &mut BackfillState,
    ) -> Result<Option<u64>, StoreError> {
        let Some(entry) = self.view.entry(&found.item) else {
            if violations::violates(self.view.index, &found.item) {
                violations::add(transaction, self.violations, &found.place)?;
            }
            return Ok(None);
        };
        // Written by a change that came first: its version may differ, and it is the right one.
        if transaction.batch.get(&entry.address.encode())?.is_some() {
            return Ok(None);
        }
        // After the lookup: an entry that exists consumes nothing.
        let wait_ms = self.reserve_units(transaction, &entry)?;
        if wait_ms.is_some() {
            return Ok(wait_ms);
        }
        progress.counts.written += 1;
        progress.counts.write_units += to_whole(write_units(entry.bytes));
        found.stamp.apply(
            transaction,
            &self.view,
            &Transition {
                old: None,
                new: Some(entry),
            },
            Some(&found.item),
        )?;
        Ok(None)
    }

    /// Reserves write units for a backfilled entry; returns the delay in milliseconds if the index
    /// has none left.
    fn reserve_units(
        &self,
        transaction: &Transaction<'_>,
        entry: &IndexEntry<'_>,
    ) -> Result<Option<u64>, StoreError> {
        if self.view.index.kind == IndexKind::Vector {
            return Ok(None);
        }
        let (read, place) = (transaction.read(), entry.address.place());
        transaction.shared.reserve_backfill(
            read,
            self.table,
            self.view.source,
            &place,
            write_units(entry.bytes),
        )
    }
}

/// Converts write units, which are whole numbers.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn to_whole(units: f64) -> u64 {
    units as u64
}

fn to_units(units: u64) -> f64 {
    units as f64
}

fn finish(
    transaction: &mut Transaction<'_>,
    table: &Arc<TableEntry>,
    source: SourceId,
) -> Result<(), StoreError> {
    // Until now every write changed this index at once, even while other indexes lag. Pending
    // writes of before must not be applied to it again.
    let since: Version = transaction.next_version()? - 1;
    transaction
        .batch
        .delete(&StoreKey::Backfill(source).encode())?;
    let finish = |new: &mut TableEntry| {
        if let Some(building) = new.index_life.building.take()
            && let Some(made) = new.index_life.made.get_mut(building.index.as_str())
        {
            made.since = since;
        }
    };
    transaction.change_table(table, finish).map(drop)
}

// The progress of a backfill, as stored beside the index:
// ```text
// done u64 · total u64 · written u64 · write units u64 · place of the last item read, empty before the first
// ```

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackfillState {
    pub counts: IndexProgress,
    /// See `keys::place_in_source`.
    pub place: Vec<u8>,
}

impl BackfillState {
    /// Reads the progress of an index; `None` unless it is in its backfill.
    pub fn read(read: &dyn Read, index: SourceId) -> Result<Option<Self>, StoreError> {
        read.get(&StoreKey::Backfill(index).encode())?
            .map(Self::decode)
            .transpose()
    }

    /// Stores the progress.
    pub fn write(&self, batch: &mut dyn Write, index: SourceId) -> Result<(), StoreError> {
        batch.put(&StoreKey::Backfill(index).encode(), &self.encode())
    }

    /// True if the backfill has passed the item at `place`.
    #[must_use]
    pub fn has_passed(&self, place: &[u8]) -> bool {
        place <= self.place.as_slice()
    }

    fn encode(&self) -> Vec<u8> {
        let IndexProgress {
            done,
            total,
            written,
            write_units,
        } = self.counts;
        encode_parts(&(done, total, written, write_units, self.place.as_slice()))
    }

    fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (done, total, written, write_units, place): (_, _, _, _, &[u8]) =
            decode_parts(bytes, "the progress of a backfill")?;
        Ok(Self {
            counts: IndexProgress {
                done,
                total,
                written,
                write_units,
            },
            place: place.to_vec(),
        })
    }
}

#[cfg(test)]
mod progress_tests {
    use super::*;

    #[test]
    fn table_of_exact_bytes() {
        let counts = IndexProgress {
            done: 1,
            total: 2,
            written: 3,
            write_units: 258,
        };
        let progress = BackfillState {
            counts,
            place: vec![7, 8],
        };
        let mut bytes = vec![0; 34];
        (
            bytes[7], bytes[15], bytes[23], bytes[30], bytes[31], bytes[32], bytes[33],
        ) = (1, 2, 3, 1, 2, 7, 8);
        assert_eq!(progress.encode(), bytes);
        assert_eq!(BackfillState::decode(&bytes), Ok(progress));
        assert!(BackfillState::decode(&bytes[..31]).is_err());
        assert!(!BackfillState::default().has_passed(&[0]));
    }

    #[test]
    fn percentages() {
        let check = |done, total, expected| {
            assert_eq!(
                IndexProgress {
                    done,
                    total,
                    ..IndexProgress::default()
                }
                .percent(),
                expected
            )
        };
        check(0, 0, 0);
        check(0, 3, 0);
        check(2, 3, 66);
        check(5, 3, 100);
    }
}
