//! The record of a change, written by the change itself.

use super::record::StoredRecord;
use crate::codec::record;
use crate::engine::base::keys::StoreKey;
use crate::engine::catalog::TableEntry;
use crate::engine::runtime::Transaction;
use crate::model::Key;
use crate::model::api::{StreamEvent, Version};
use crate::model::error::StoreError;

/// An item that changed: its records before and after, one of them at least.
#[derive(Debug, Clone, Copy)]
pub struct CapturedChange<'c> {
    pub key: &'c Key,
    pub old: Option<&'c [u8]>,
    pub new: Option<&'c [u8]>,
    /// The version that the change took.
    pub version: Version,
    /// Milliseconds since the epoch.
    pub modified_ms: u64,
}

/// Writes the record of a change, if the table's stream is enabled.
///
/// # Errors
/// Those of the store.
pub fn capture(transaction: &mut Transaction<'_>, table: &TableEntry, changed: &CapturedChange<'_>) -> Result<(), StoreError> {
    let Some(stream) = table.enabled_stream() else { return Ok(()) };
    let event = match (changed.old, changed.new) {
        (None, Some(_)) => StreamEvent::Insert,
        (Some(_), Some(_)) => StreamEvent::Modify,
        (Some(_), None) => StreamEvent::Remove,
        (None, None) => return Ok(()),
    };
    // A delete takes its version only for its record.
    transaction.shared.batch.take_version(changed.version);
    let schema = &table.schema.key;
    let first: Vec<&str> = schema.attributes().map(|attribute| attribute.name.as_str()).collect();
    let keys = record::encode(&changed.key.to_item(schema), &first, changed.version, changed.modified_ms);
    let stored = StoredRecord {
        event,
        origin: transaction.origin,
        created_ms: changed.modified_ms,
        keys: &keys,
        new_image: changed.new.filter(|_| stream.view_type.has_new_image()),
        old_image: changed.old.filter(|_| stream.view_type.has_old_image()),
    };
    transaction.batch.put(&StoreKey::StreamRecord(stream.id, changed.version).encode(), &stored.encode())
}
