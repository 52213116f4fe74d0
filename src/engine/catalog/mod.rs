//! The catalog (data dictionary): the definition and state of every table as plain data, its stored
//! form, and a cache of it.

pub mod cache;
pub mod damage;
pub mod entry;
mod migrations;

use super::{
    base::{keys::Meta, stored_form},
    prelude::*,
};

pub use entry::{ExpiryList, IndexLife, TableEntry, TableStream, TimeToLive};

// The catalog in the store: entries by name, the generation, source ids.

/// Returns the generation of the catalog in a view.
pub fn generation(read: &dyn Read) -> Result<u64, StoreError> {
    Ok(StoreKey::Meta(Meta::CatalogGeneration)
        .read(read, "catalog generation")?
        .unwrap_or(0))
}

/// Increments the generation.
pub fn raise_generation(batch: &mut dyn Write) -> Result<(), StoreError> {
    let next = generation(batch.as_read())? + 1;
    batch.put(
        &StoreKey::Meta(Meta::CatalogGeneration).encode(),
        &next.to_be_bytes(),
    )
}

/// Reads a table's entry from a view, bypassing the cache.
pub fn read_table(
    read: &dyn Read,
    name: &TableName,
) -> Result<Option<Arc<TableEntry>>, StoreError> {
    match read.get(&StoreKey::Table(name.as_str()).encode())? {
        Some(bytes) => Ok(Some(Arc::new(stored_form::decode(bytes)?))),
        None => Ok(None),
    }
}

/// Writes a table's entry; the caller raises the generation.
pub fn write_table(batch: &mut dyn Write, entry: &TableEntry) -> Result<(), StoreError> {
    batch.put(
        &StoreKey::Table(entry.schema.name.as_str()).encode(),
        &stored_form::encode(entry)?,
    )
}

/// Allocates a source id.
pub fn allocate_source(batch: &mut dyn Write) -> Result<SourceId, StoreError> {
    allocate_sources(batch, 1)?
        .pop()
        .ok_or(StoreError::Corrupt("source ids are used up"))
}

/// Returns the next source id; lower ids are allocated.
pub fn next_source(read: &dyn Read) -> Result<SourceId, StoreError> {
    match StoreKey::Meta(Meta::NextSource).read(read, "next source id")? {
        Some(next) => Ok(next),
        // An id that was allocated must not be allocated again.
        None if walks::has_any(read, &Space::Table.all())? => {
            Err(StoreError::Corrupt("tables without the next source id"))
        }
        None => Ok(SourceId(1)),
    }
}

/// Allocates `count` source ids.
pub fn allocate_sources(batch: &mut dyn Write, count: usize) -> Result<Vec<SourceId>, StoreError> {
    // An id is never used again, even after its source is dropped: entries of the source may still
    // be in the store (`purge`).
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

/// Returns the names of all tables, in byte order.
pub fn all_tables(read: &dyn Read) -> Result<Vec<TableName>, StoreError> {
    let mut names = Vec::new();
    walks::each(read, &keys::tables_after(None), |key, _| {
        let name = keys::parse_table(key).and_then(|name| TableName::new(name).ok());
        names.push(name.ok_or(StoreError::Corrupt("the name of a catalog entry"))?);
        Ok(())
    })?;
    Ok(names)
}

/// Returns the table for an operation on tables, whatever its status.
///
/// # Errors
/// Fails with `TableNotFound` if there is none.
pub fn require_table(
    entry: Option<Arc<TableEntry>>,
    name: &TableName,
) -> Result<Arc<TableEntry>, Error> {
    entry.ok_or_else(|| Error::TableNotFound(name.as_str().to_owned()))
}

/// Returns the table for a data operation.
///
/// # Errors
/// Fails with `ResourceNotFound` if it does not exist or is not active.
pub fn require_active(entry: Option<Arc<TableEntry>>) -> Result<Arc<TableEntry>, Error> {
    match entry {
        Some(entry) if matches!(entry.status, TableStatus::Active | TableStatus::Updating) => {
            Ok(entry)
        }
        _ => Err(Error::ResourceNotFound),
    }
}
