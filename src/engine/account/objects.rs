//! The records of the account as they lie in the store: a JSON object each, under its kind and name.

use std::ops::{Bound, ControlFlow};

use serde_json::Value;

use crate::engine::base::keys::{RecordKind, StoreKey};
use crate::model::error::StoreError;
use crate::store::{Direction, KeyRange, Read, Write, try_walk};

/// A record, if it is there.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn get(read: &dyn Read, kind: RecordKind, name: &str) -> Result<Option<Value>, StoreError> {
    read.get(&StoreKey::Account(kind, name).encode())?.map(parse).transpose()
}

fn parse(bytes: &[u8]) -> Result<Value, StoreError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::Corrupt("a record of the account"))
}

/// Writes a record.
///
/// # Errors
/// Those of the store.
pub fn put(batch: &mut dyn Write, kind: RecordKind, name: &str, value: &Value) -> Result<(), StoreError> {
    batch.put(&StoreKey::Account(kind, name).encode(), value.to_string().as_bytes())
}

/// Removes a record.
///
/// # Errors
/// Those of the store.
pub fn delete(batch: &mut dyn Write, kind: RecordKind, name: &str) -> Result<(), StoreError> {
    batch.delete(&StoreKey::Account(kind, name).encode()).map(|_| ())
}

/// Records of a kind after a name, in order of their names, as long as `visit` says to go on.
///
/// # Errors
/// `Corrupt`; those of the store.
pub fn walk(
    read: &dyn Read,
    kind: RecordKind,
    after: Option<&str>,
    visit: &mut dyn FnMut(Value) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut range = KeyRange::prefix(&StoreKey::Account(kind, "").encode());
    if let Some(after) = after {
        range.lower = Bound::Excluded(StoreKey::Account(kind, after).encode());
    }
    try_walk(read, &range, Direction::Forward, |_, bytes| Ok(visit(parse(bytes)?)))
}
