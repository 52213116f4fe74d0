//! `schema.json`: a table's definition as CreateTable takes it, a draft's template, an index's
//! definition as a member of CreateTable's. A draft is a table that mkdir made and CreateTable has
//! not; it has its `schema.json` and the folders made in it.
//!
//! `stats.json`: the counters of a table or an index. Its times never change, and an open file
//! keeps its size and text, so that a backup of a table in use finds no inconsistency.

use super::scratch;
use crate::codec::{definitions::TIME_TO_LIVE, wire};
use crate::fs::{mount::text_cache::pretty_json, open::prelude::*};
use crate::model::{
    ApiEnum, IndexName,
    api::{DescribeTimeToLiveRequest, IndexDescription, TableDescription, TimeToLiveStatus},
    limits::ENTRY_OVERHEAD_BYTES,
};

pub fn attr(mount: &Mount, source: &SourceName) -> Result<Attr> {
    if mount.is_draft(&source.table)? {
        // Size and time under one lock: between two locks the draft may become a table.
        let drafts = mount.drafts.lock();
        let size = drafts.schema_text(&source.table)?.len() as u64;
        let created_ms = drafts
            .get(&source.table)
            .map_or(mount.started_ms, |draft| draft.created_ms);
        return Ok(Attr::file(size, created_ms));
    }
    let size = text(mount, source)?.len() as u64;
    let modified_ms = mount.definition_changed_ms(&source.table)?;
    Ok(match source.index {
        Some(_) => Attr::read_only(size, modified_ms),
        None => Attr::file(size, modified_ms),
    })
}

pub fn text(mount: &Mount, source: &SourceName) -> Result<Vec<u8>> {
    if mount.is_draft(&source.table)? {
        return mount.drafts.lock().schema_text(&source.table);
    }
    let schema = mount.source_schema(source)?;
    let json = definition(mount, &source.table)?.ok_or(FsError::NotFound)?;
    match &source.index {
        None => Ok(pretty_json(&json)),
        Some(index) => Ok(pretty_json(
            index_json(&json, &schema, index).ok_or(FsError::NotFound)?,
        )),
    }
}

/// Returns a table's definition as CreateTable takes it, with its time to live while that is
/// enabled; `None` when there is no table.
pub fn definition(mount: &Mount, table: &TableName) -> Result<Option<Value>, FsError> {
    let Some(schema) = mount.db.schema(table)? else {
        return Ok(None);
    };
    let mut json = wire::tables::definition_to_json(&schema);
    let described = mount.db.describe_time_to_live(DescribeTimeToLiveRequest {
        table_name: table.clone(),
    })?;
    let is_on = matches!(
        described.status,
        TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling
    );
    if let (true, Some(attribute), Some(members)) =
        (is_on, described.attribute_name, json.as_object_mut())
    {
        members.insert(
            TIME_TO_LIVE.to_owned(),
            json!({ "Enabled": true, "AttributeName": attribute }),
        );
    }
    Ok(Some(json))
}

/// Returns the index's element in a CreateTable request.
fn index_json<'a>(table: &'a Value, schema: &TableSchema, index: &IndexName) -> Option<&'a Value> {
    let member = match schema.index(index.as_str())?.kind {
        IndexKind::Global => "GlobalSecondaryIndexes",
        IndexKind::Local => "LocalSecondaryIndexes",
        IndexKind::Vector => "VectorIndexes",
    };
    let indexes = table.get(member)?.as_array()?;
    indexes
        .iter()
        .find(|element| element.get("IndexName").and_then(Value::as_str) == Some(index.as_str()))
}

/// Resolves a name in a draft. `folder` is relative to the draft, empty for the draft itself.
pub fn resolve_in_draft(
    mount: &Mount,
    table: &TableName,
    folder: &str,
    name: &str,
) -> Result<Node> {
    let path = if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    };
    if mount
        .drafts
        .lock()
        .get(table)
        .is_some_and(|draft| draft.has_folder(&path))
    {
        return Ok(Node::DraftFolder(table.clone(), path));
    }
    if folder.is_empty() {
        scratch::resolve_beside_schema(mount, table, name)
    } else {
        Err(FsError::NotFound)
    }
}

pub fn draft_attr(mount: &Mount, table: &TableName, folder: &str) -> Result<Attr> {
    let drafts = mount.drafts.lock();
    let draft = drafts.get(table).ok_or(FsError::NotFound)?;
    let is_there = folder.is_empty() || draft.has_folder(folder);
    if is_there {
        Ok(Attr::directory(draft.created_ms))
    } else {
        Err(FsError::NotFound)
    }
}

/// Returns the attributes of a table's or draft's directory.
pub fn table_attr(mount: &Mount, table: &TableName) -> Result<Attr, FsError> {
    if mount.is_draft(table)? {
        return draft_attr(mount, table, "");
    }
    Ok(Attr::directory(mount.table_created_ms(table)?))
}

pub fn list_draft(mount: &Mount, table: &TableName, folder: &str) -> Result<Vec<OwnedDirent>> {
    let drafts = mount.drafts.lock();
    let draft = drafts.get(table).ok_or(FsError::NotFound)?;
    let mut names = Vec::new();
    if folder.is_empty() && drafts.schema_text(table).is_ok() {
        names.push(to_dirent(
            &Node::Schema(SourceName::from(table)),
            SCHEMA_NAME,
        ));
    }
    for child in draft.children(folder) {
        let path = if folder.is_empty() {
            child.to_owned()
        } else {
            format!("{folder}/{child}")
        };
        names.push(to_dirent(&Node::DraftFolder(table.clone(), path), child));
    }
    Ok(names)
}

pub fn stats_text(mount: &Mount, source: &SourceName) -> Result<Vec<u8>, FsError> {
    // Read first: after own writes this refreshes the counters of a remote service.
    let stats = mount.db.stats(source)?;
    let table = mount.db.describe(&source.table)?.ok_or(FsError::NotFound)?;
    let mut json = match &source.index {
        None => table_stats(&table, stats.bytes, stats.partition_keys),
        Some(name) => {
            let place = table
                .schema
                .indexes
                .iter()
                .position(|index| index.name == *name)
                .ok_or(FsError::NotFound)?;
            let description = table.indexes.get(place).ok_or(FsError::NotFound)?;
            index_stats(&table, place, description, stats.bytes)
        }
    };
    if let Some(lacking) = mount.db.incomplete_pull(&source.table)? {
        json["unfinished"] = lacking.into();
    }
    Ok(pretty_json(&json))
}

fn table_stats(table: &TableDescription, bytes: u64, partition_keys: u64) -> Value {
    json!({
        "name": table.schema.name.as_str(),
        "status": table.status.as_str(),
        "items": table.item_count,
        "bytes": bytes,
        "billed_bytes": table.table_size_bytes,
        "item_overhead_bytes": ENTRY_OVERHEAD_BYTES,
        "average_item_bytes": average(bytes, table.item_count),
        "partition_keys": known_count(partition_keys, table.item_count),
        "gsi": table.schema.indexes_of(IndexKind::Global).count(),
        "lsi": table.schema.indexes_of(IndexKind::Local).count(),
    })
}

fn index_stats(
    table: &TableDescription,
    place: usize,
    index: &IndexDescription,
    bytes: u64,
) -> Value {
    let schema = &table.schema.indexes[place];
    let progress = index.progress.map(|progress| json!({ "done": progress.done, "total": progress.total, "percent": progress.percent(), "write_units": progress.write_units }));
    let lag = table
        .index_lag
        .filter(|_| schema.kind == IndexKind::Global)
        .map(|lag| json!({ "ms": lag.lag_ms, "pending": lag.pending, "paused": lag.is_paused }));
    let sparsity = if table.item_count == 0 {
        0.0
    } else {
        1.0 - index.item_count as f64 / table.item_count as f64
    };
    json!({
        "name": schema.name.as_str(),
        "kind": schema.kind.name(),
        "status": index.status.as_str(),
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
        "partition_keys": known_count(index.partition_keys, index.item_count),
    })
}

/// Returns the number of distinct keys; `None` where the database does not count them.
fn known_count(partition_keys: u64, items: u64) -> Option<u64> {
    Some(partition_keys).filter(|_| partition_keys > 0 || items == 0)
}

fn average(bytes: u64, items: u64) -> u64 {
    bytes.checked_div(items).unwrap_or(0)
}
