//! `stats.json`: the counters of a table or an index. Its times never change, and who has it open sees the size of the text that it has,
//! so that a backup of a table in use finds nothing wrong.

use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;
use crate::model::Word;
use crate::model::api::{IndexDescription, TableDescription};
use crate::model::limits::ENTRY_OVERHEAD_BYTES;

pub fn attr(mount: &Mount, source: &Source) -> Result<Attr, FsError> {
    let modified_ms = mount.source_time(source)?;
    Ok(Attr::read_only(text(mount, source)?.len() as u64, modified_ms))
}

pub fn text(mount: &Mount, source: &Source) -> Result<Vec<u8>, FsError> {
    // First: a service elsewhere is asked for it anew after own writes.
    let stats = mount.db.stats(source)?;
    let table = mount.db.describe(&source.table)?.ok_or(FsError::NotFound)?;
    let mut json = match &source.index {
        None => table_json(&table, stats.bytes, stats.partition_keys),
        Some(name) => {
            let place = table.schema.indexes.iter().position(|index| index.name == *name).ok_or(FsError::NotFound)?;
            let description = table.indexes.get(place).ok_or(FsError::NotFound)?;
            index_json(&table, place, description, stats.bytes)
        }
    };
    if let Some(lacking) = mount.db.unfinished(&source.table)? {
        json["unfinished"] = lacking.into();
    }
    Ok(pretty(&json))
}

fn table_json(table: &TableDescription, bytes: u64, partition_keys: u64) -> Value {
    json!({
        "name": table.schema.name.as_str(),
        "status": table.status.word(),
        "items": table.item_count,
        "bytes": bytes,
        "billed_bytes": table.table_size_bytes,
        "item_overhead_bytes": ENTRY_OVERHEAD_BYTES,
        "average_item_bytes": average(bytes, table.item_count),
        "partition_keys": counted(partition_keys, table.item_count),
        "gsi": table.schema.indexes_of(IndexKind::Global).count(),
        "lsi": table.schema.indexes_of(IndexKind::Local).count(),
    })
}

fn index_json(table: &TableDescription, place: usize, index: &IndexDescription, bytes: u64) -> Value {
    let schema = &table.schema.indexes[place];
    let progress = index.progress.map(|progress| json!({ "done": progress.done, "total": progress.total, "percent": progress.percent(), "write_units": progress.write_units }));
    let lag = table
        .index_lag
        .filter(|_| schema.kind == IndexKind::Global)
        .map(|lag| json!({ "ms": lag.lag_ms, "pending": lag.pending, "paused": lag.is_paused }));
    let sparsity = if table.item_count == 0 { 0.0 } else { 1.0 - index.item_count as f64 / table.item_count as f64 };
    json!({
        "name": schema.name.as_str(),
        "kind": kind_name(schema.kind),
        "status": index.status.word(),
        "backfilling": index.backfilling,
        "progress": progress,
        "lag": lag,
        "violations": index.violations,
        "entries": index.item_count,
        "table_items": table.item_count,
        "sparsity": (sparsity.max(0.0) * 1e6).round() / 1e6,
        "bytes": bytes,
        "billed_bytes": index.index_size_bytes,
        "entry_overhead_bytes": ENTRY_OVERHEAD_BYTES,
        "average_entry_bytes": average(bytes, index.item_count),
        "partition_keys": counted(index.partition_keys, index.item_count),
    })
}

/// Distinct values; `None` where nobody counts them.
fn counted(partition_keys: u64, items: u64) -> Option<u64> {
    Some(partition_keys).filter(|_| partition_keys > 0 || items == 0)
}

fn average(bytes: u64, items: u64) -> u64 {
    bytes.checked_div(items).unwrap_or(0)
}
