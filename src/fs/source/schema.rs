//! `schema.json`: a table's definition as CreateTable takes it, a draft's template, an index's definition as a member of CreateTable's.

use crate::codec::wire;
use crate::fs::mount::text::pretty;
use crate::fs::open::prelude::*;
use crate::fs::write::schema_change::TIME_TO_LIVE;
use crate::model::api::TimeToLiveStatus;
use crate::model::{IndexName, api::DescribeTimeToLiveRequest};

pub fn attr(mount: &Mount, source: &Source) -> Result<Attr, FsError> {
    if mount.is_draft(&source.table)? {
        // Both from one look: the draft may become a table between two.
        let drafts = mount.drafts.lock();
        let size = drafts.schema_text(&source.table)?.len() as u64;
        let created_ms = drafts.get(&source.table).map_or(mount.started_ms, |draft| draft.created_ms);
        return Ok(Attr::file(size, created_ms));
    }
    let size = text(mount, source)?.len() as u64;
    let modified_ms = mount.definition_time(&source.table)?;
    Ok(match source.index {
        Some(_) => Attr::read_only(size, modified_ms),
        None => Attr::file(size, modified_ms),
    })
}

pub fn text(mount: &Mount, source: &Source) -> Result<Vec<u8>, FsError> {
    if mount.is_draft(&source.table)? {
        return mount.drafts.lock().schema_text(&source.table);
    }
    let schema = mount.source_schema(source)?;
    let json = definition(mount, &source.table)?.ok_or(FsError::NotFound)?;
    match &source.index {
        None => Ok(pretty(&json)),
        Some(index) => Ok(pretty(index_json(&json, &schema, index).ok_or(FsError::NotFound)?)),
    }
}

/// A table's definition as CreateTable takes it, and its time to live while that is enabled; `None` when there is no table.
pub fn definition(mount: &Mount, table: &TableName) -> Result<Option<Value>, FsError> {
    let Some(schema) = mount.db.schema(table)? else { return Ok(None) };
    let mut json = wire::create_table::to_json(&schema);
    let described = mount.db.describe_time_to_live(DescribeTimeToLiveRequest { table_name: table.clone() })?;
    let is_on = matches!(described.status, TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling);
    if let (true, Some(attribute), Some(members)) = (is_on, described.attribute_name, json.as_object_mut()) {
        members.insert(TIME_TO_LIVE.to_owned(), json!({ "Enabled": true, "AttributeName": attribute }));
    }
    Ok(Some(json))
}

/// The index's element in a CreateTable request.
fn index_json<'a>(table: &'a Value, schema: &TableSchema, index: &IndexName) -> Option<&'a Value> {
    let member = match schema.index(index.as_str())?.kind {
        IndexKind::Global => "GlobalSecondaryIndexes",
        IndexKind::Local => "LocalSecondaryIndexes",
    };
    let indexes = table.get(member)?.as_array()?;
    indexes.iter().find(|element| element.get("IndexName").and_then(Value::as_str) == Some(index.as_str()))
}
