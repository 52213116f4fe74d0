//! A result row: its keys and its text, without building the item.

use super::source::Context;

use crate::codec::{key, row::Row};
use crate::fs::prelude::*;
use crate::model::error::StoreError;

/// Which entry of the source the row is. The row is a whole entry, not a projection.
///
/// # Errors
/// [`StoreError::Corrupt`] for an entry without one of its keys.
pub(super) fn entry_key(row: &Row<'_>, context: Context<'_>) -> Result<EntryKey, FsError> {
    let keys = context.keys();
    let index = match context.index {
        None => None,
        Some(_) => Some((attributes(row, keys.partition)?, attributes(row, keys.sort)?)),
    };
    let partition = attribute(row, &context.schema.key.partition)?;
    let sort = context.schema.key.sort.as_ref().map(|sort| attribute(row, sort)).transpose()?;
    Ok(EntryKey { index, base: Key { partition, sort } })
}

fn attributes(row: &Row<'_>, wanted: &[KeyAttribute]) -> Result<Vec<AttributeValue>, FsError> {
    wanted.iter().map(|wanted| attribute(row, wanted)).collect()
}

fn attribute(row: &Row<'_>, wanted: &KeyAttribute) -> Result<AttributeValue, FsError> {
    let found = match row {
        Row::Record(record) => record.attribute(&wanted.name).map_err(Error::from)?,
        Row::Item(item) => item.get(&wanted.name).cloned(),
    };
    found.ok_or_else(|| FsError::Database(StoreError::Corrupt("an entry lacks a key attribute").into()))
}

/// The encoding of the source's sort key, by which results are in order. A projection must have it.
pub(super) fn sort_order(row: &Row<'_>, context: Context<'_>) -> Result<Vec<u8>, FsError> {
    let mut order = Vec::new();
    for value in attributes(row, context.keys().sort)? {
        key::encode(&value, &mut order);
    }
    Ok(order)
}

/// Appends one item, no newline.
pub(super) fn write_item(row: &Row<'_>, context: Context<'_>, typed: bool, out: &mut Vec<u8>) -> Result<(), FsError> {
    if typed {
        return Ok(row.write_dynamodb_json(out).map_err(Error::from)?);
    }
    match row {
        // A record has its order in itself.
        Row::Record(record) => record.write_plain_json(out),
        Row::Item(_) => {
            let cursor = context.cursor_attributes();
            let first: Vec<&str> = cursor.iter().map(|attribute| attribute.name.as_str()).collect();
            row.write_plain_json(&first, out)
        }
    }
    .map_err(Error::from)?;
    if out.last() == Some(&b'\n') {
        out.pop();
    }
    Ok(())
}
