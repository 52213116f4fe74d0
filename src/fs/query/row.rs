//! The keys of a result row, without building the item.

use super::clause::Context;
use super::source::SourceKeys;
use crate::codec::key;
use crate::codec::row::Row;
use crate::database::EntryKey;
use crate::fs::FsError;
use crate::model::error::StoreError;
use crate::model::schema::KeyAttribute;
use crate::model::{AttributeValue, Key};

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
    let table = SourceKeys::of(context.schema, None);
    let partition = attribute(row, &context.schema.key.partition)?;
    let sort = table.sort.first().map(|sort| attribute(row, sort)).transpose()?;
    Ok(EntryKey { index, base: Key { partition, sort } })
}

fn attributes(row: &Row<'_>, wanted: &[KeyAttribute]) -> Result<Vec<AttributeValue>, FsError> {
    wanted.iter().map(|wanted| attribute(row, wanted)).collect()
}

fn attribute(row: &Row<'_>, wanted: &KeyAttribute) -> Result<AttributeValue, FsError> {
    let found = match row {
        Row::Record(record) => record.attribute(&wanted.name).map_err(crate::model::Error::from)?,
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
