//! Error context for corruption: adds the table, index and key of a damaged record to its error.

use super::{all_tables, read_table};
use crate::codec::digest::hex;
use crate::engine::{base::keys, prelude::*};

/// Adds table, index and key of a record to the error of its damage; returns other errors
/// unchanged. `key` is the stored key of the record, of a space of keys that begin with a source.
pub fn locate(read: &dyn Read, key: &[u8], error: StoreError) -> StoreError {
    let StoreError::Corrupt(what) = error else {
        return error;
    };
    let owner = keys::parse_source(key).and_then(|source| owner_of(read, source));
    in_record(what, owner.as_deref(), key)
}

/// Returns the error of a damaged record; `owner` is its table or index, if that is known.
pub fn in_record(fault: &str, owner: Option<&str>, key: &[u8]) -> StoreError {
    let of = if owner.is_some() { " of " } else { "" };
    let (owner, key) = (owner.unwrap_or_default(), hex(key));
    StoreError::CorruptRecord(format!(
        "{fault}, in the record{of}{owner} with the key {key}"
    ))
}

/// Returns the table or index that has a source, as text. A catalog that cannot be read names none:
/// its own damage is another error.
pub fn owner_of(read: &dyn Read, source: SourceId) -> Option<String> {
    let tables = all_tables(read).ok()?;
    let mut entries = tables
        .iter()
        .filter_map(|name| read_table(read, name).ok().flatten());
    entries.find_map(|table| {
        let name = &table.schema.name;
        if table.source == source {
            return Some(format!("table {name}"));
        }
        let index = table.index_of(source)?;
        Some(format!("index {} of table {name}", index.name))
    })
}
