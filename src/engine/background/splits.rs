//! The background round that splits partitions that are too few, too full or too hot (the model is
//! in `engine::partitions`). A partition is a range of keys in a map, so no request waits for a
//! split and no item moves.
//!
//! Each decision is a function of the catalog, the stored items and the load, so the same history
//! gives the same partitions. A round writes all changed maps in one transaction, and nothing if
//! nothing changed.

use std::collections::HashSet;

use crate::engine::{
    base::stored_form,
    partitions::{
        self, Partition, PartitionMap,
        hot::{self, HotPartition},
        required_count,
    },
    runtime::prelude::*,
};
use crate::model::metrics::PartitionOrigin;

/// The greatest number of splits of one table or index in one round.
const SPLITS_MAX: usize = 64;

/// A map to be stored.
struct ChangedMap {
    table: TableName,
    source: SourceId,
    /// The stored bytes that the map was derived from.
    before: Option<Vec<u8>>,
    map: Arc<PartitionMap>,
}

/// Checks every table and index.
///
/// # Errors
/// Fails with errors of the store; with `Closed` if the engine ends meanwhile.
pub fn round(shared: &Arc<EngineShared>) -> Result<(), Error> {
    let commit = shared.store.commit_id();
    let is_new = shared.split_rounds.replace_commit(commit);
    if !is_new && !shared.meter.is_active(shared.now_ms()) {
        return Ok(());
    }
    let mut changed = Vec::new();
    // Only entries are kept for the round, no view: the round may take long and reads with short
    // views.
    let (tables, next) = {
        let view = shared.view()?;
        (view.tables()?, catalog::next_source(view.read())?)
    };
    for table in &tables {
        for source in partitions::sources(table) {
            changed.extend(plan_splits(shared, table, source)?);
        }
    }
    let live: HashSet<SourceId> = tables
        .iter()
        .flat_map(|table| table.all_sources())
        .collect();
    // Sources from `next` on may have been made after the tables were read.
    let is_live = |source: SourceId| source >= next || live.contains(&source);
    shared.meter.retain(is_live);
    shared.split_rounds.retain(is_live);
    if changed.is_empty() {
        return Ok(());
    }
    store(shared, changed)
}

/// Returns the changed map of a table's base or global index, if it changes.
fn plan_splits(
    shared: &EngineShared,
    table: &TableEntry,
    source: SourceId,
) -> Result<Option<ChangedMap>, Error> {
    let (before, mut map, bytes) = {
        let view = shared.view()?;
        let before = view
            .read()
            .get(&StoreKey::Partitions(source).encode())?
            .map(<[u8]>::to_vec);
        let map = PartitionMap::clone(&*partitions::load(view.read(), table, source)?);
        (before, map, billed_bytes(&view, table, source)?)
    };
    let now_ms = shared.now_ms();
    let mut splits = 0;
    map.grow_to(required_count(table.throughput_of(source)), now_ms);
    split_full(shared, table, source, &mut map, bytes, &mut splits)?;
    split_hot(shared, table, source, &mut map, &mut splits)?;
    let is_stored = before.as_deref() == Some(&stored_form::encode(&map)?);
    let map = Arc::new(map);
    if is_stored {
        // Another process may have split it.
        if let Some(meter) = shared
            .meter
            .known_source(source)
            .filter(|meter| *meter.map() != *map)
        {
            meter.set_map(Arc::clone(&map));
        }
        return Ok(None);
    }
    Ok(Some(ChangedMap {
        table: table.schema.name.clone(),
        source,
        before,
        map,
    }))
}

/// Returns the bytes with overhead; for a base table with its local indexes.
fn billed_bytes(view: &ReadView<'_>, table: &TableEntry, source: SourceId) -> Result<u64, Error> {
    let local = table
        .sources_of(IndexKind::Local)
        .filter(|_| source == table.source);
    std::iter::once(source)
        .chain(local)
        .map(|source| Ok(view.counters(source)?.size_with_overhead()))
        .sum()
}

/// Splits partitions over their size limit. They are measured only after the table has grown by a
/// twentieth of a partition.
fn split_full(
    shared: &EngineShared,
    table: &TableEntry,
    source: SourceId,
    map: &mut PartitionMap,
    bytes: u64,
    splits: &mut usize,
) -> Result<(), Error> {
    let bytes_max = shared.options.partition_limits.bytes_max;
    let measured = shared.split_rounds.measured(source);
    if bytes <= bytes_max || (measured > 0 && bytes <= measured.saturating_add(bytes_max / 20)) {
        return Ok(());
    }
    let content = shared.content(table, source);
    let mut position = 0;
    while position < map.partitions().len() && *splits < SPLITS_MAX {
        let range = map.range(position);
        if content.count(&range)?.billed_bytes > bytes_max
            && let Some(place) = content.midpoint(&range)?
            && map.split(place, shared.now_ms(), PartitionOrigin::Size)
        {
            *splits += 1;
        } else {
            position += 1;
        }
    }
    if *splits < SPLITS_MAX {
        shared.split_rounds.set_measured(source, bytes);
    }
    Ok(())
}

/// Splits partitions above their throughput limits over the last minute.
fn split_hot(
    shared: &EngineShared,
    table: &TableEntry,
    source: SourceId,
    map: &mut PartitionMap,
    splits: &mut usize,
) -> Result<(), Error> {
    let Some(meter) = shared.meter.known_source(source) else {
        return Ok(());
    };
    let now_ms = shared.now_ms();
    let is_hot = |partition: &&Partition| {
        let load = meter.last_minute(partition.id, now_ms);
        let has_rested = now_ms.saturating_sub(partition.since_ms) >= hot::SPLIT_COOLDOWN_MS;
        has_rested && hot::share(&load, &shared.options.partition_limits) >= hot::HEAT_SPLIT_SHARE
    };
    for id in map
        .partitions()
        .iter()
        .filter(is_hot)
        .map(|partition| partition.id)
        .collect::<Vec<_>>()
    {
        if *splits >= SPLITS_MAX {
            break;
        }
        let Some(position) = map.position_of_id(id) else {
            continue;
        };
        if !shared
            .split_rounds
            .is_due(source, id, now_ms, hot::SPLIT_COOLDOWN_MS)
        {
            continue;
        }
        let range = &map.range(position);
        let cuts = HotPartition {
            content: shared.content(table, source),
            map,
            range,
        }
        .split_points(&meter.samples(id, now_ms))?;
        log::debug!("a hot partition of {}: {cuts:?}", table.schema.name);
        for place in cuts.unwrap_or_default() {
            *splits += usize::from(map.split(place, now_ms, PartitionOrigin::Heat));
        }
    }
    Ok(())
}

/// Writes the maps unless another process was first; then updates the meters.
fn store(shared: &Arc<EngineShared>, changed: Vec<ChangedMap>) -> Result<(), Error> {
    // All maps in one transaction: one sync.
    let written = shared.submit_in_background(move |transaction| {
        let mut written = Vec::new();
        for change in &changed {
            let key = StoreKey::Partitions(change.source).encode();
            let is_as_before = transaction.batch.get(&key)? == change.before.as_deref();
            // A table that was dropped meanwhile must leave nothing behind.
            let table = transaction.table(&change.table)?;
            if is_as_before
                && table
                    .is_some_and(|table| table.all_sources().any(|source| source == change.source))
            {
                transaction
                    .batch
                    .put(&key, &stored_form::encode(&*change.map)?)?;
                written.push((change.source, Arc::clone(&change.map)));
            }
        }
        Ok(written)
    })?;
    for (source, map) in written {
        if let Some(meter) = shared.meter.known_source(source) {
            meter.set_map(map);
        }
    }
    // The commit was our own.
    shared.split_rounds.skip(shared.store.commit_id());
    Ok(())
}
