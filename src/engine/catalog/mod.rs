//! The catalog: every table's definition and state as plain data, the stored form, and a cache.

pub mod cache;
mod earlier_forms;
pub mod entry;

use super::{
    base::{keys::Meta, stored},
    prelude::*,
};

pub use entry::{ExpiryList, IndexLife, TableEntry, TableStream, TimeToLive};

// Tables as they lie in the store: entries by name, the generation, source ids.

/// The generation in a view.
///
/// # Errors
/// Those of the store.
pub fn generation(read: &dyn Read) -> Result<u64, StoreError> {
    Ok(StoreKey::Meta(Meta::CatalogGeneration)
        .read(read, "catalog generation")?
        .unwrap_or(0))
}

/// Raises the generation.
///
/// # Errors
/// Those of the store.
pub fn raise_generation(batch: &mut dyn Write) -> Result<(), StoreError> {
    let next = generation(batch.as_read())? + 1;
    batch.put(
        &StoreKey::Meta(Meta::CatalogGeneration).encode(),
        &next.to_be_bytes(),
    )
}

/// Reads a table's entry from a view, past any cache.
///
/// # Errors
/// Those of the store.
pub fn read_table(
    read: &dyn Read,
    name: &TableName,
) -> Result<Option<Arc<TableEntry>>, StoreError> {
    match read.get(&StoreKey::Table(name.as_str()).encode())? {
        Some(bytes) => Ok(Some(Arc::new(stored::decode(bytes)?))),
        None => Ok(None),
    }
}

/// Writes a table's entry; the caller raises the generation.
///
/// # Errors
/// Those of the store.
pub fn write_table(batch: &mut dyn Write, entry: &TableEntry) -> Result<(), StoreError> {
    batch.put(
        &StoreKey::Table(entry.schema.name.as_str()).encode(),
        &stored::encode(entry)?,
    )
}

/// Takes a new source id.
///
/// # Errors
/// Those of the store.
pub fn take_source(batch: &mut dyn Write) -> Result<SourceId, StoreError> {
    take_sources(batch, 1)?
        .pop()
        .ok_or(StoreError::Corrupt("source ids are used up"))
}

/// The source id to give next; those below were given.
///
/// # Errors
/// Those of the store.
pub fn next_source(read: &dyn Read) -> Result<SourceId, StoreError> {
    Ok(StoreKey::Meta(Meta::NextSource)
        .read(read, "next source id")?
        .unwrap_or(SourceId(1)))
}

/// Takes `count` new source ids.
///
/// # Errors
/// Those of the store.
pub fn take_sources(batch: &mut dyn Write, count: usize) -> Result<Vec<SourceId>, StoreError> {
    // Never given twice, even when what had it is gone: its entries may still be on their way out (`purge`).
    let SourceId(first) = next_source(batch.as_read())?;
    let exhausted = || StoreError::Corrupt("source ids are used up");
    let next = u32::try_from(count)
        .ok()
        .and_then(|count| first.checked_add(count))
        .ok_or_else(exhausted)?;
    batch.put(
        &StoreKey::Meta(Meta::NextSource).encode(),
        &next.to_be_bytes(),
    )?;
    Ok((first..next).map(SourceId).collect())
}

/// The names of all tables, in byte order.
///
/// # Errors
/// Those of the store.
pub fn all_tables(read: &dyn Read) -> Result<Vec<TableName>, StoreError> {
    let mut names = Vec::new();
    walks::each(read, &keys::tables_after(None), |key, _| {
        names.extend(keys::table_of(key).and_then(|name| TableName::new(name).ok()));
        Ok(())
    })?;
    Ok(names)
}

/// The table for an operation on tables, whatever its status.
///
/// # Errors
/// `TableNotFound`.
pub fn known(entry: Option<Arc<TableEntry>>, name: &TableName) -> Result<Arc<TableEntry>, Error> {
    entry.ok_or_else(|| Error::TableNotFound(name.as_str().to_owned()))
}

/// The table for a data operation.
///
/// # Errors
/// `ResourceNotFound` when it is not there or not active.
pub fn active(entry: Option<Arc<TableEntry>>) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if matches!(entry.status, TableStatus::Active | TableStatus::Updating) => {
            Ok(entry)
        }
        _ => Err(Error::ResourceNotFound),
    }
}
